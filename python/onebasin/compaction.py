"""Compact posteriors: one Gaussian in the place of an ensemble or of the samples of a chain."""

import dataclasses
import json

import numpy as np

from . import _lib
from ._calls import Options, settings
from .errors import InputError
from .points import Flat, same_shapes
from .predictions import Labels
from .symmetry import from_dict


@dataclasses.dataclass(frozen=True)
class LowRank:
    """A Gaussian with the covariance `std² + Σ f fᵀ` over the rows `f` of `factor`."""

    mean: object
    std: object
    factor: list

    def sample(self, rng=None):
        """One draw; `rng` is a generator or a seed of NumPy."""
        rng = np.random.default_rng(rng)
        weights = rng.standard_normal(len(self.factor))
        draw = {}
        for name, mean in self.mean.items():
            draw[name] = mean + self.std[name] * rng.standard_normal(np.shape(mean)).astype(np.float32)
            for weight, row in zip(weights, self.factor):
                draw[name] = draw[name] + float(weight) * row[name]
        return draw


@dataclasses.dataclass(frozen=True)
class Compact:
    """What `compact` found.

    `rows` are dicts: first the samples themselves, then each Gaussian, by `name` (the relabelling) and `rank`, with `agreement` and
    `total_variation` against the samples and, if there were labels, `nll`, `error` and `ece`. `gaussians` has each of them by its name,
    such as `gaussians["mean"]` or `gaussians["relabel-rank20"]`.
    """

    rows: list
    gaussians: dict
    facts: dict

    def __repr__(self):
        columns = [name for name in ("agreement", "total_variation", "nll", "error", "ece") if name in self.rows[0]]
        lines = [f"{'posterior':24}" + "".join(f"{name:>17}" for name in columns)]
        for row in self.rows:
            title = row["name"] if row["rank"] is None else f"{row['name']}, rank {row['rank']}"
            lines.append(f"{title:24}" + "".join(f"{row[name]:17.4f}" for name in columns))
        return "\n".join(lines)


def compact(
    samples,
    predict,
    labels=None,
    *,
    symmetry=None,
    inputs=None,
    outputs="auto",
    relabellings=None,
    ranks=(0, 20),
    draws=100,
    solver="best",
    seed=0,
    progress=None,
    threads=None,
):
    """Fits Gaussians to samples (an ensemble or a chain) and compares their predictions with those of the samples.

    `samples` are checkpoints of one network, see `align`; `predict` is that of `barrier`. Each Gaussian is fitted after one of the
    `relabellings` of the samples: "none", "first", "mean" or "relabel" (all of them, if there is a `symmetry`), and has one of the `ranks`, 0
    being diagonal. `draws` networks are drawn of it. Without `labels` nothing is said of loss and error.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(32, 3))
    >>> samples = [{"w": rng.normal(1.0, 0.1, size=(2, 3))} for _ in range(8)]
    >>> found = compact(samples, lambda p: x @ p["w"].T, ranks=[0])
    >>> [row["name"] for row in found.rows]
    ['samples', 'none']
    """
    samples = list(samples)
    if len(samples) < 2:
        raise InputError(f"a Gaussian needs at least 2 samples, not {len(samples)}")
    flats = [Flat(sample, f"sample {index}", None) for index, sample in enumerate(samples)]
    for flat in flats[1:]:
        same_shapes(flats[0], flat)
    asked = Labels(predict, flats[0], labels=labels, inputs=inputs, outputs=outputs)
    if labels is None:
        # Something must be scored; nothing of it is returned.
        asked.classes = asked.first.argmax(axis=1).tolist()
    if relabellings is None:
        relabellings = ("none",) if symmetry is None else ("none", "first", "mean", "relabel")
    if symmetry is None:
        if set(relabellings) != {"none"}:
            raise InputError("a relabelling needs the `symmetry` of the network")
        symmetry = from_dict({name: (None,) * len(shape) for name, shape in flats[0].shapes})
    network = symmetry.resolved(flats[0].tree)
    order = _order(network, flats[0])
    chosen = settings(relabellings=relabellings, ranks=ranks, draws=draws, solver=solver, seed=seed)
    asked_in_order = _InOrder(asked, order, flats[0].shapes)
    with Options(progress, threads) as running:
        values = [_reordered(flat.mean, flat.shapes, order) for flat in flats]
        facts, fitted = _lib.compact(network, values, asked_in_order, chosen, running)
    facts = json.loads(facts)
    hidden = set() if labels is not None else {"nll", "error", "ece", "brier", "mean", "accuracy", "bins"}
    rows = [{key: value for key, value in row.items() if key not in hidden} for row in facts["rows"]]
    made = lambda flat: flats[0].point(asked_in_order.back(flat))
    gaussians = {}
    for name, mean, std, factor in fitted:
        if factor:
            gaussians[name] = LowRank(made(mean), made(std), [made(row) for row in factor])
        else:
            gaussians[name] = flats[0].gaussian(asked_in_order.back(mean), asked_in_order.back(std))
    return Compact(rows=rows, gaussians=gaussians, facts=facts)


def _order(network, flat):
    """Names of the network's tensors in its own order; all arrays of the samples must be there."""
    names = [name for name, *_ in network.tensors()]
    own = [name for name, _ in flat.shapes]
    if sorted(names) != sorted(own):
        odd = sorted(set(names) ^ set(own))
        raise InputError(f"the samples and the symmetry do not have the same tensors; only one has: {', '.join(odd[:10])}")
    return names


def _reordered(values, shapes, names):
    """Parts of a flat array in the order of `names`."""
    parts, start = {}, 0
    for name, shape in shapes:
        size = int(np.prod(shape))
        parts[name] = values[start : start + size]
        start += size
    return np.concatenate([parts[name] for name in names])


class _InOrder:
    """A forward pass whose parameters come in the order of the symmetry."""

    def __init__(self, asked, order, shapes):
        self._asked, self._shapes = asked, shapes
        sizes = dict(shapes)
        self._order = [(name, sizes[name]) for name in order]
        self.outputs, self.classes, self.numbers = asked.outputs, asked.classes, asked.numbers

    def back(self, values):
        """The same values in the order of the samples."""
        return _reordered(values, self._order, [name for name, _ in self._shapes])

    def predict(self, values, first, count):
        return self._asked.predict(self.back(values), first, count)
