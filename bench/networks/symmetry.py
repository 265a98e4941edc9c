"""Reads a symmetry file and applies permutations to tensors, independently of onebasin's own code."""

import re
import tomllib

import numpy as np


class Symmetry:
    """Groups of units, and of every tensor the segments of each axis."""

    def __init__(self, text):
        file = tomllib.loads(text)
        self.units = {group["name"]: group["units"] for group in file["groups"]}
        self.within = {group["name"]: group.get("within") for group in file["groups"]}
        self.tensors = {tensor["name"]: (tensor["shape"], tensor["axes"]) for tensor in file["tensors"]}

    def segments(self, axis, size):
        """Of an axis: (group or None, blocks, units, repeat) of each part."""
        if axis == "-":
            return [(None, 1, size, 1)]
        found = []
        for part in re.split(r"\s+\+\s+(?=(?:[^']*'[^']*')*[^']*$)", axis):
            if re.fullmatch(r"-\d+", part):
                found.append((None, 1, int(part[1:]), 1))
                continue
            quoted = re.fullmatch(r"(?:(\d+) \* )?(?:'(.*)'|(\S+))(?: \* (\d+))?", part)
            blocks, name, plain, repeat = quoted.groups()
            group = plain if name is None else name
            found.append((group, int(blocks or 1), self.units[group], int(repeat or 1)))
        if sum(blocks * units * repeat for _, blocks, units, repeat in found) != size:
            raise ValueError(f"`{axis}` does not have {size} indices")
        return found

    def random(self, seed):
        """Group to a random permutation."""
        random = np.random.default_rng(seed)
        chosen = {name: random.permutation(units) for name, units in self.units.items() if self.within[name] is None}
        open_groups = [name for name in self.units if self.within[name] is not None]
        while open_groups:
            name = next(name for name in open_groups if self.within[name] in chosen)
            open_groups.remove(name)
            outer = chosen[self.within[name]]
            each = self.units[name] // len(outer)
            chosen[name] = np.concatenate([block * each + random.permutation(each) for block in outer])
        return chosen

    def indices(self, axis, size, permutations):
        """Where each index of a permuted axis comes from."""
        found, start = [], 0
        for group, blocks, units, repeat in self.segments(axis, size):
            order = np.arange(units) if group is None else permutations[group]
            here = (np.arange(blocks)[:, None, None] * units + order[None, :, None]) * repeat + np.arange(repeat)
            found.append(start + here.ravel())
            start += blocks * units * repeat
        return np.concatenate(found)

    def permuted(self, name, tensor, permutations):
        """A tensor of torch with the units of all its axes permuted."""
        import torch

        shape, axes = self.tensors[name]
        result = tensor.reshape(shape)
        for axis, (text, size) in enumerate(zip(axes, shape)):
            if text != "-":
                result = result.index_select(axis, torch.from_numpy(self.indices(text, size, permutations)))
        return result.reshape(tensor.shape)
