"""Alignment: permutes the units of checkpoints or posteriors so that similar units have the same position."""

import dataclasses
import json

import numpy as np

from . import _lib
from ._calls import How, Options, settings
from .arrays import Tree
from .errors import InputError
from .gaussian import Gaussian
from .symmetry import Symmetry


@dataclasses.dataclass(frozen=True)
class Alignment:
    """What `align` found.

    `aligned` is the second checkpoint with its units permuted, of the kind that was given; arrays that no permutation touches are the
    same objects. `permutations` gives for each group the order of its units: `new[i] = old[p[i]]`. `w2_before` and `w2_after` are
    Wasserstein distances from the first checkpoint, of points the Euclidean distance. No permutations reach more than `bound`, where
    `objective_after` is what was reached. `change` is the largest change of an output on random inputs, relative to the largest one, or
    `None` if the network could not be run. The last five are `None` where several were aligned together.
    """

    aligned: object
    permutations: dict
    w2_before: float
    w2_after: float
    format: str
    change: "float | None"
    objective_before: "float | None"
    objective_after: "float | None"
    bound: "float | None"
    assignments: "int | None"
    seconds: "float | None"

    @property
    def transpositions(self):
        """The number of transpositions of each permutation.

        >>> from onebasin.permutations import transpositions
        >>> transpositions([1, 0, 2])
        1
        """
        from .permutations import transpositions

        return {name: transpositions(order) for name, order in self.permutations.items()}

    def __repr__(self):
        return f"<Alignment: W2 {self.w2_before:.6g} → {self.w2_after:.6g}, {len(self.permutations)} groups>"


@dataclasses.dataclass(frozen=True)
class Alignments:
    """What `align_many` found: an `Alignment` for each checkpoint but the first, which stays.

    `objective_before` and `objective_after` are of all together, where they were aligned so. `gaussian` fits relabelled samples.
    """

    members: list
    aligned: list
    objective_before: "float | None"
    objective_after: "float | None"
    gaussian: "Gaussian | None"


def align(
    a,
    b,
    symmetry,
    *,
    criterion="w2",
    solver="best",
    format=None,
    keep=(),
    seed=0,
    progress=None,
    threads=None,
):
    """Aligns the units of `b` to those of `a`.

    `a` and `b` are dicts of arrays of NumPy, PyTorch or JAX (nested or not), modules of PyTorch, or a `Gaussian` each. Points are compared
    by their values, posteriors by mean and standard deviation; how a library stores them is recognised by names, or named by `format`.
    `criterion` is "w2", "mean", "kl", "jeffreys", "mahalanobis" or "snr"; `solver` "best", "coordinate-descent", "greedy" or another one
    of `onebasin help keys align.solvers`. `keep` names beginnings of tensors that are no part of the network and stay as they are.

    >>> a = {"w1": np.eye(3), "w2": np.ones((1, 3))}
    >>> b = {"w1": np.eye(3)[[2, 0, 1]], "w2": np.ones((1, 3))}
    >>> sym = Symmetry(axes={"w1": ("hidden", None), "w2": (None, "hidden")})
    >>> align(a, b, sym).permutations
    {'hidden': array([1, 2, 0], dtype=uint32)}
    """
    found = align_many(
        [a, b],
        symmetry,
        criterion=criterion,
        solver=solver,
        format=format,
        keep=keep,
        seed=seed,
        progress=progress,
        threads=threads,
    )
    return found.members[0]


def align_many(
    checkpoints,
    symmetry,
    *,
    to="first",
    criterion="w2",
    solver="best",
    format=None,
    keep=(),
    seed=0,
    progress=None,
    threads=None,
):
    """Aligns several checkpoints: all with the `first`, each with the `mean` of all others in turn, all with a common order (`universe`),
    or, of samples of one posterior, each with the Gaussian that fits all (`relabel`).

    >>> points = [{"w": np.array([1.0, 2.0, 3.0])}, {"w": np.array([3.1, 1.1, 2.1])}, {"w": np.array([2.2, 3.2, 1.2])}]
    >>> found = align_many(points, Symmetry(axes={"w": ("hidden",)}), to="mean")
    >>> [aligned["w"].tolist() for aligned in found.aligned]
    [[1.0, 2.0, 3.0], [1.1, 2.1, 3.1], [1.2, 2.2, 3.2]]
    """
    checkpoints = list(checkpoints)
    trees = [_tree(checkpoint, index) for index, checkpoint in enumerate(checkpoints)]
    if len(trees) < 2:
        raise InputError(f"an alignment needs at least 2 checkpoints, not {len(trees)}")
    if not isinstance(symmetry, Symmetry):
        kind = type(symmetry).__name__
        raise InputError(f"`symmetry` is a {kind}; it must be a Symmetry, such as `onebasin.symmetry.from_torch` finds")
    if format is None and isinstance(checkpoints[0], Gaussian):
        format = "onebasin"
    chosen = settings(to=to, criteria=[criterion], solvers=[solver], seed=seed)
    with Options(progress, threads) as options:
        named = [tree.named() for tree in trees]
        rows, together, fitted = _lib.align(_names(symmetry, trees[0], checkpoints[0]), named, chosen, How(format, keep), options)
    members = []
    for checkpoint, tree, (facts, changed, permutations) in zip(checkpoints[1:], trees[1:], rows):
        aligned = tree.rebuild(changed)
        if isinstance(checkpoint, Gaussian):
            aligned = Gaussian.of_tree(aligned)
        members.append(_alignment(aligned, permutations, json.loads(facts)))
    together = json.loads(together) if together else {}
    return Alignments(
        members=members,
        aligned=[checkpoints[0], *(member.aligned for member in members)],
        objective_before=together.get("before"),
        objective_after=together.get("after"),
        gaussian=_gaussian(*fitted) if fitted else None,
    )


def permute(checkpoint, permutations, symmetry, *, format=None, keep=()):
    """A checkpoint whose units are permuted: `new[i] = old[p[i]]` for the permutation `p` of each group; other groups stay.

    >>> sym = Symmetry(axes={"w": ("hidden",)})
    >>> permute({"w": np.array([10.0, 20.0, 30.0])}, {"hidden": [2, 0, 1]}, sym)["w"]
    array([30., 10., 20.])
    """
    tree = _tree(checkpoint, 0)
    if format is None and isinstance(checkpoint, Gaussian):
        format = "onebasin"
    orders = {name: np.asarray(order).tolist() for name, order in permutations.items()}
    found = _names(symmetry, tree, checkpoint)
    changed = _lib.permute(found, tree.named(), orders, How(format, keep), Options(False))
    permuted = tree.rebuild(changed)
    return Gaussian.of_tree(permuted) if isinstance(checkpoint, Gaussian) else permuted


def _tree(checkpoint, index):
    name = f"checkpoint {'abcdefghijklmnopqrstuvwxyz'[index]}" if index < 26 else f"checkpoint {index}"
    return Tree(checkpoint.tree() if isinstance(checkpoint, Gaussian) else checkpoint, name)


def _names(symmetry, tree, checkpoint):
    """The symmetry with the shapes of a checkpoint; those of a Gaussian are those of its means."""
    if isinstance(checkpoint, Gaussian):
        tree = Tree(checkpoint.mean, tree.name)
    return symmetry.resolved(tree)


def _gaussian(layout, mean, std):
    """A Gaussian whose arrays are parts of flat ones."""
    parts, start = ({}, {}), 0
    for name, shape in layout:
        size = int(np.prod(shape))
        for part, flat in zip(parts, (mean, std)):
            part[name] = flat[start : start + size].reshape(shape)
        start += size
    return Gaussian(*parts)


def _alignment(aligned, permutations, facts):
    objective = facts["objective"] or {}
    return Alignment(
        aligned=aligned,
        permutations=dict(permutations),
        w2_before=facts["w2"]["before"],
        w2_after=facts["w2"]["after"],
        format=facts["format"],
        change=facts["checked"].get("change"),
        objective_before=objective.get("before"),
        objective_after=objective.get("after"),
        bound=objective.get("bound"),
        assignments=facts["assignments"],
        seconds=facts["seconds"],
    )
