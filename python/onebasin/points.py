"""Points and posteriors as the library measures them: one flat array of means and one of standard deviations."""

import sys

import numpy as np

from . import _lib
from ._calls import How, Options
from .arrays import Tree, module_state
from .errors import InputError
from .gaussian import Gaussian

_FLOATS = ("float16", "bfloat16", "float32", "float64")


class Flat:
    """A point or a posterior, flat, and how to make a point of the same kind from other values.

    `shapes` are tuples (name, shape); `mean` and `std` are arrays of float32 behind one another in that order.
    """

    def __init__(self, given, name, symmetry=None, format=None):
        self._of_gaussian = isinstance(given, Gaussian)
        if not self._of_gaussian and symmetry is not None:
            found = posterior(given, symmetry, format=format, name=name)
            if any(std.any() for std in map(_values, found.std.values())):
                given, self._of_gaussian = found, True
        source = given.mean if self._of_gaussian else given
        tree = Tree(source, name)
        floats = [(own, shape) for own, dtype, shape, _ in tree.tensors if dtype in _FLOATS]
        self.shapes = floats
        self.tree = tree
        self.mean = _flat(tree, floats)
        if self._of_gaussian:
            self.std = _flat(Tree(given.std, name), floats)
        else:
            self.std = np.zeros_like(self.mean)

    @property
    def values(self):
        """What the library reads."""
        return (self.mean, self.std)

    def point(self, flat):
        """A point with these values, of the kind that was given."""
        return self.tree.with_values(_parts(self.shapes, flat))

    def gaussian(self, mean, std):
        """A Gaussian whose arrays are of the kind that was given."""
        return Gaussian(self.point(mean), self.point(std))

    def distribution(self, mean, std):
        """What a path gives: a point of points, a Gaussian of posteriors."""
        return self.gaussian(mean, std) if self._of_gaussian else self.point(mean)


def posterior(checkpoint, symmetry, *, format=None, name="the checkpoint"):
    """The mean and the standard deviation of each parameter in a checkpoint of a library, by the names of the plain network.

    The form is recognised by the names of its tensors, or named by `format`; a point has standard deviations of zero. Arrays are tensors of
    PyTorch if those of the checkpoint are, else of NumPy.

    >>> from onebasin import symmetry
    >>> stored = {"fc.mu_weight": np.ones((2, 1)), "fc.rho_weight": np.full((2, 1), -1.0)}
    >>> q = posterior(stored, symmetry.from_dict({"fc.weight": (None, None)}, like={"fc.weight": np.ones((2, 1))}))
    >>> round(float(q.std["fc.weight"][0, 0]), 4)  # log(1 + exp(-1))
    0.3133
    """
    tree = Tree(checkpoint, name)
    layout, mean, std, _ = symmetry.resolved(tree).moments(tree.named(), How(format), Options(False))
    mean, std = _parts(layout, mean), _parts(layout, std)
    torch = sys.modules.get("torch")
    if torch is not None and any(isinstance(leaf, torch.Tensor) for leaf in _leaves(module_state(checkpoint))):
        mean, std = ({own: torch.from_numpy(value) for own, value in part.items()} for part in (mean, std))
    return Gaussian(mean, std)


def same_shapes(first, second):
    """Refuses two ends of a path that are not of one network."""
    if first.shapes != second.shapes:
        differ = [pair for pair in zip(first.shapes, second.shapes) if pair[0] != pair[1]]
        rest = differ[0] if differ else (len(first.shapes), len(second.shapes))
        raise InputError(f"the two ends are not of one network: {rest[0]} here, {rest[1]} there")


def path(a, b, *, points=25, kind="geodesic", symmetry=None, format=None):
    """The points of the path from `a` to `b`: pairs of τ, from 0 to 1, and what lies there, of the kind that was given.

    `kind` is "geodesic", the shortest path in the Wasserstein distance and a straight line between points, or "natural", where means are
    weighted by precisions. Arrays that are no floating-point numbers are those of `a`. A checkpoint in which a library stores a posterior
    needs its `symmetry`, which knows its names, and gives `Gaussian`s.

    >>> [(tau, point["w"].tolist()) for tau, point in path({"w": np.zeros(1)}, {"w": np.ones(1)}, points=3)]
    [(0.0, [0.0]), (0.5, [0.5]), (1.0, [1.0])]
    """
    ends = Flat(a, "the first end", symmetry, format), Flat(b, "the second end", symmetry, format)
    same_shapes(*ends)
    for tau in _lib.taus(points):
        ((mean, std),) = _lib.path_points(kind, ends[0].shapes, ends[0].values, ends[1].values, [tau])
        yield tau, ends[0].distribution(mean, std)


def geodesic(a, b, *, points=25, symmetry=None, format=None):
    """The points of the geodesic from `a` to `b`, see `path`.

    >>> len(list(geodesic({"w": np.zeros(1)}, {"w": np.ones(1)}, points=5)))
    5
    """
    return path(a, b, points=points, symmetry=symmetry, format=format)


def _values(array):
    return array.numpy() if hasattr(array, "numpy") else np.asarray(array)


def _leaves(node):
    if hasattr(node, "items"):
        for _, child in node.items():
            yield from _leaves(child)
    else:
        yield node


def _flat(tree, shapes):
    own = {name: (dtype, values) for name, dtype, _, values in tree.tensors}
    parts = []
    for name, _ in shapes:
        dtype, values = own[name]
        if dtype == "bfloat16":
            # The upper half of a float32.
            parts.append((values.view(np.uint16).astype(np.uint32) << 16).view(np.float32))
        else:
            parts.append(values.view(dtype).astype(np.float32, copy=False))
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _parts(shapes, flat):
    """Parts of a flat array, by their names."""
    parts, start = {}, 0
    for name, shape in shapes:
        size = int(np.prod(shape))
        parts[name] = flat[start : start + size].reshape(shape)
        start += size
    return parts
