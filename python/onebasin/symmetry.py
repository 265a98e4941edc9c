"""Which units of a network can be permuted without a change of its function.

Found from a model of PyTorch (`from_torch`), from a file (`from_file`: ONNX, `.pt2`, `.toml`), or written down by hand (`from_dict`).
"""

import contextlib
import copy
import io
import os
import re
import tempfile
import warnings

import numpy as np

from . import _lib
from ._calls import How, Options, settings
from .arrays import Tree, to_numpy
from .errors import InputError

_PLAIN = re.compile(r"[^\s+*']+")
# A group of the text of a symmetry whose units stay within the blocks of another.
_WITHIN = re.compile(r'\{ name = "([^"]+)", units = \d+, within = "([^"]+)" \}')


class Symmetry:
    """The groups of units of a network that can be permuted, and the tensors that they permute.

    >>> import numpy as np
    >>> like = {"w1": np.ones((4, 2)), "w2": np.ones((1, 4))}
    >>> from_dict({"w1": ("hidden", None), "w2": (None, "hidden")}, like=like)
    <Symmetry: 4 units in 1 group, 2 tensors>
    """

    def __init__(self, found=None, axes=None):
        self._found = found
        self._axes = axes

    def resolved(self, tree=None):
        """What the library reads; a symmetry that was written by hand takes its shapes from a `Tree`."""
        if self._found is not None:
            return self._found
        if tree is None:
            raise InputError("the shapes of the tensors are not known yet: give `like`, a checkpoint, to `from_dict`")
        return _lib.Symmetry.from_toml(_toml(self._axes, tree), "the symmetry")

    @property
    def groups(self):
        """Number of units of each group.

        >>> import numpy as np
        >>> from_dict({"w": ("hidden",)}, like={"w": np.ones(4)}).groups
        {'hidden': 4}
        """
        return dict(self.resolved().groups())

    @property
    def tensors(self):
        """Shape of each tensor."""
        return {name: tuple(shape) for name, shape, _ in self.resolved().tensors()}

    @property
    def fixed(self):
        """What stays fixed, and why: dicts with `tensor`, `axis`, `units` and `reason`."""
        return [dict(zip(("tensor", "axis", "units", "reason"), row)) for row in self.resolved().fixed()]

    @property
    def share(self):
        """Share of the rows of tensors with two or more axes that can be permuted."""
        return self.resolved().share()

    def to_toml(self):
        """The text of a file that can be edited and read again by `from_file`; every axis has its group."""
        return self.resolved().to_toml()

    def save(self, path):
        """Writes `to_toml` to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_toml())

    def check(self, checkpoint, *, format=None, keep=(), seed=0, threads=None):
        """The largest change of an output when all groups are permuted at random, relative to the largest output.

        Only a network of an ONNX file can be run; of any other, an `InputError` says so. See also `check_function`.
        """
        tree = Tree(checkpoint, "the checkpoint")
        change, about = self.resolved(tree).check(tree.named(), How(format, keep), seed, Options(False, threads))
        if change is None:
            raise InputError(f"the network was not run: {about}; use `check_function`, which runs your own")
        return change

    def random_permutations(self, seed=0, *, like=None):
        """A permutation of each group at random: `new[i] = old[p[i]]`.

        Units of a group within another, such as those of the heads of an attention, move with their block and within it. `like` is a
        checkpoint, for a symmetry that was written by hand without one.

        >>> import numpy as np
        >>> from_dict({"w": ("hidden",)}).random_permutations(0, like={"w": np.ones(4)})
        {'hidden': array([2, 0, 1, 3])}
        """
        found = self.resolved(None if like is None else Tree(like, "`like`"))
        rng = np.random.default_rng(seed)
        permutations = {}
        outer = dict(_WITHIN.findall(found.to_toml()))
        for name, units in sorted(found.groups(), key=lambda group: group[0] in outer):
            if name not in outer:
                permutations[name] = rng.permutation(units)
                continue
            blocks = permutations[outer[name]]
            size = units // len(blocks)
            permutations[name] = np.concatenate([block * size + rng.permutation(size) for block in blocks])
        return {name: permutations[name] for name, _ in found.groups()}

    def __repr__(self):
        if self._found is None:
            return f"<Symmetry written by hand: {len(self._axes)} tensors>"
        groups = self.groups
        count = f"{len(groups)} group{'' if len(groups) == 1 else 's'}"
        return f"<Symmetry: {sum(groups.values())} units in {count}, {len(self.tensors)} tensors>"


def from_file(path, *, dims=None, threads=None):
    """Reads an ONNX file, an exported program of PyTorch (`.pt2`), or a file of a symmetry (`.toml`).

    `dims` gives sizes to axes that the network gives a name in place of a size: `dims={"batch": 2}`.
    """
    return Symmetry(_lib.Symmetry.open(os.fspath(path), dict(dims or {}), Options(False, threads)))


from_onnx = from_file


def from_toml(text):
    """Reads the text that `Symmetry.to_toml` writes."""
    return Symmetry(_lib.Symmetry.from_toml(text, "the symmetry"))


def from_dict(axes, like=None):
    """A symmetry that is written down: for each tensor the group of each of its axes, or `None` where units stay fixed.

    An axis whose index `u * 49 + i` belongs to unit `u` is `"group * 49"`, and one of two groups behind each other is `"first + second"`.
    Shapes are those of `like`, a checkpoint; without it, those of the checkpoints that are aligned.

    >>> sym = from_dict({"w1": ("hidden", None), "b1": ("hidden",), "w2": (None, "hidden")})
    """
    axes = {name: (own,) if isinstance(own, str) or own is None else tuple(own) for name, own in axes.items()}
    lazy = Symmetry(axes=axes)
    return lazy if like is None else Symmetry(lazy.resolved(Tree(like, "`like`")), axes)


def from_torch(model, example_input, *, dynamic_shapes=None, strict=False):
    """Finds the symmetry of a model of PyTorch from its graph (`torch.export`); weights are neither copied nor written.

    `example_input` is a tensor, or a tuple of the arguments of `model`.
    """
    import torch

    if not isinstance(model, torch.nn.Module):
        raise InputError(f"`model` is a {type(model).__name__}; it must be a torch.nn.Module")
    inputs = example_input if isinstance(example_input, tuple) else (example_input,)
    # The export reads shapes only, so one number stands for all entries of a tensor.
    memo = {}
    for tensor in (*model.parameters(), *model.buffers()):
        hollow = torch.zeros((), dtype=tensor.dtype).expand(tensor.shape)
        memo[id(tensor)] = torch.nn.Parameter(hollow, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else hollow
    shadow = copy.deepcopy(model, memo).eval()
    inputs = torch.utils._pytree.tree_map(lambda value: value.cpu() if isinstance(value, torch.Tensor) else value, inputs)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        path = os.path.join(folder, "network.pt2")
        try:
            program = torch.export.export(shadow, inputs, dynamic_shapes=dynamic_shapes, strict=strict)
        except Exception as error:
            # What follows the first line is advice on PyTorch itself; whoever wants it finds it in the cause.
            why = str(error).strip().partition("\n")[0].rstrip(".")
            advice = "export it to ONNX and use `from_onnx`, or write the symmetry down by `from_dict`"
            raise InputError(f"torch.export cannot read {type(model).__name__}: {why}; {advice}") from error
        torch.export.save(program, path)
        return from_file(path)


def check_function(symmetry, checkpoint, predict, *, seed=0):
    """The largest change of what `predict(checkpoint)` returns when all groups are permuted at random, relative to the largest value.

    A right symmetry gives no more than rounding, about 1e-6 in float32.
    """
    from .alignment import permute

    permutations = symmetry.random_permutations(seed, like=checkpoint)
    before = to_numpy(predict(checkpoint))
    after = to_numpy(predict(permute(checkpoint, permutations, symmetry)))
    return float(np.abs(after - before).max() / np.abs(before).max())


def _toml(axes, tree):
    """A symmetry that was written by hand as the text of a file."""
    shapes = tree.shapes
    units = {}
    lines = []
    for name, own in axes.items():
        if name not in shapes:
            known = ", ".join(list(shapes)[:20])
            raise InputError(f"the symmetry has a tensor `{name}`, which is not in {tree.name}; there are: {known}")
        shape = shapes[name]
        if len(own) != len(shape):
            raise InputError(f"`{name}` has the shape {tuple(shape)}, and the symmetry gives it {len(own)} axes")
        for group, size in zip(own, shape):
            if group is not None and not isinstance(group, str):
                raise InputError(f"an axis of `{name}` is {group!r}; it must be the name of a group, or None")
            if group and _PLAIN.fullmatch(group) and not group.startswith("-") and units.setdefault(group, size) != size:
                raise InputError(f"group `{group}` has {units[group]} units, and `{name}` of shape {tuple(shape)} has {size}")
        texts = ["-" if group is None else group for group in own]
        lines.append("{ " + ", ".join(settings(name=name, shape=list(shape), axes=texts).split("\n")) + " }")
    groups = ["{ " + ", ".join(settings(name=name, units=size).split("\n")) + " }" for name, size in units.items()]
    return f"groups = [{', '.join(groups)}]\ntensors = [{', '.join(lines)}]\n"
