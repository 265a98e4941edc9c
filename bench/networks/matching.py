"""Weight matching as Git Re-Basin does it, in NumPy and SciPy, for the groups of any symmetry file.

As a program, `matching.py FOLDER` aligns FOLDER/b.pt with FOLDER/a.pt and prints one line of JSON.
"""

import json
import pathlib
import sys
import time

import numpy as np
from scipy.optimize import linear_sum_assignment

from symmetry import Symmetry

# As in Git Re-Basin.
LEAST_GAIN = 1e-12
MOST_SWEEPS = 100


class Matching:
    """Two networks, and for each group where its units are."""

    def __init__(self, symmetry, fixed, moved):
        self.symmetry, self.fixed, self.moved = symmetry, fixed, moved
        self.orders = {name: np.arange(units) for name, units in symmetry.units.items()}
        self.places = {name: [] for name in symmetry.units}
        for name, (shape, axes) in symmetry.tensors.items():
            for axis, (text, size) in enumerate(zip(axes, shape)):
                start = 0
                for group, blocks, units, repeat in symmetry.segments(text, size):
                    if group is not None:
                        self.places[group].append((name, axis, start, blocks, units, repeat))
                    start += blocks * units * repeat
        self.children = {name: [] for name, outer in symmetry.within.items() if outer is None}
        for name, outer in symmetry.within.items():
            if outer is not None:
                self.children[outer].append(name)
        self.assignments = 0

    def costs(self, group):
        """What unit i of the first network gains from unit j of the second, all other groups being as they are."""
        total = np.zeros((self.symmetry.units[group],) * 2, np.float32)
        for name, axis, start, blocks, units, repeat in self.places[group]:
            shape, axes = self.symmetry.tensors[name]
            here = slice(start, start + blocks * units * repeat)

            def rows(tensor, order):
                part = np.moveaxis(tensor.reshape(shape), axis, 0)[here]
                for other, (text, size) in enumerate(zip(axes, shape)):
                    if other != axis and text != "-" and order:
                        # Behind the axis that came to the front.
                        part = part.take(self.symmetry.indices(text, size, self.orders), other + (other < axis))
                part = part.reshape(blocks, units, -1)
                return np.ascontiguousarray(part.swapaxes(0, 1)).reshape(units, -1)

            total += rows(self.fixed[name], False) @ rows(self.moved[name], True).T
        return total

    def assign(self, costs):
        self.assignments += 1
        return linear_sum_assignment(costs, maximize=True)[1]

    def step(self, outer):
        """The best permutation of a group, with those of the groups within it; whether it gains."""
        units, rows = self.symmetry.units[outer], np.arange(self.symmetry.units[outer])
        costs = self.costs(outer) if self.places[outer] else np.zeros((units, units), np.float32)
        old = costs[rows, self.orders[outer]].sum(dtype=np.float64)
        inner = {}
        for child in self.children[outer]:
            each = self.symmetry.units[child] // units
            within = self.costs(child)
            old += within[np.arange(len(within)), self.orders[child]].sum(dtype=np.float64)
            blocks = within.reshape(units, each, units, each).swapaxes(1, 2)
            best = np.empty((units, units, each), np.int64)
            for i in range(units):
                for j in range(units):
                    best[i, j] = self.assign(blocks[i, j])
            costs = costs + np.take_along_axis(blocks, best[..., None], 3).sum((2, 3))
            inner[child] = best
        columns = self.assign(costs)
        gain = costs[rows, columns].sum(dtype=np.float64) - old
        if gain <= LEAST_GAIN:
            return False
        self.orders[outer] = columns
        for child, best in inner.items():
            each = best.shape[2]
            self.orders[child] = np.concatenate([j * each + best[i, j] for i, j in zip(rows, columns)])
        return True

    def run(self, seed=0):
        random = np.random.default_rng(seed)
        for sweep in range(1, MOST_SWEEPS + 1):
            # All of them, not only until one gains.
            if not any([self.step(outer) for outer in random.permutation(list(self.children))]):
                return sweep
        return MOST_SWEEPS


def objective(symmetry, fixed, moved, orders):
    """The sum of products over all tensors of the network, in float64."""
    total = 0.0
    for name, (shape, axes) in symmetry.tensors.items():
        part = moved[name].reshape(shape)
        for axis, (text, size) in enumerate(zip(axes, shape)):
            if orders is not None and text != "-":
                part = part.take(symmetry.indices(text, size, orders), axis)
        total += np.dot(np.float64(fixed[name]).ravel(), np.float64(part).ravel())
    return total


def read(path, symmetry):
    import torch

    state = torch.load(path, weights_only=True)
    return {name: state[name].numpy() for name in symmetry.tensors}


def main():
    folder = pathlib.Path(sys.argv[1])
    symmetry = Symmetry((folder / "net.toml").read_text())
    fixed, moved = (read(folder / file, symmetry) for file in ("a.pt", "b.pt"))
    matching = Matching(symmetry, fixed, moved)
    start = time.monotonic()
    sweeps = matching.run()
    seconds = time.monotonic() - start
    # Measured before the objective, which needs memory of its own.
    import resource

    answer = {"inner_seconds": seconds, "inner_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    answer |= {"sweeps": sweeps, "assignments": matching.assignments}
    print(json.dumps(answer | {"objective": objective(symmetry, fixed, moved, matching.orders)}))


if __name__ == "__main__":
    main()
