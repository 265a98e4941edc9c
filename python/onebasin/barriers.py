"""Loss barriers: by how much the loss rises on the path between two networks or posteriors, before and after alignment."""

import dataclasses
import json

import numpy as np

from . import _lib
from ._calls import Options
from .alignment import align
from .errors import InputError
from .points import Flat, same_shapes
from .predictions import Labels

UNALIGNED = "no alignment"


@dataclasses.dataclass(frozen=True)
class Curve:
    """Loss and error along a path.

    `loss` is the negative log-likelihood of the predictive distribution in nats, of a regression its squared error; `error` is the share of
    wrong classes. `barrier` is the largest rise of the loss above the straight line between its ends, over the points between them; clipped
    at zero it is the usual barrier. Each has a Monte Carlo standard error, `NaN` where nothing is drawn. `mixture` is the loss of the
    mixture of both ends. `temperatures` are the softmax temperatures of a calibrated curve.
    """

    name: str
    tau: np.ndarray
    loss: np.ndarray
    loss_se: np.ndarray
    error: np.ndarray
    error_se: np.ndarray
    barrier: float
    barrier_se: float
    error_barrier: float
    error_barrier_se: float
    midpoint: float
    mixture: np.ndarray
    temperatures: "np.ndarray | None"
    w2: float
    samples: int
    examples: int

    def __repr__(self):
        error = "" if np.isnan(self.barrier_se) else f" ± {self.barrier_se:.4f}"
        return f"<Curve {self.name}: barrier {self.barrier:.4f}{error} nats>"


@dataclasses.dataclass(frozen=True)
class Barrier:
    """What `barrier` measured: curves by their names, such as `barrier["w2"]`."""

    curves: dict
    alignments: dict

    def __getitem__(self, name):
        if name not in self.curves:
            raise KeyError(f"there is no curve {name!r}; there are: {', '.join(self.curves)}")
        return self.curves[name]

    def __iter__(self):
        return iter(self.curves.values())

    def __repr__(self):
        lines = [f"{'curve':28} {'L(0)':>9} {'L(1/2)':>9} {'L(1)':>9} {'loss barrier':>20} {'error barrier, %':>18}"]
        for own in self.curves.values():
            middle = own.loss[len(own.loss) // 2]
            ends = f"{own.loss[0]:9.4f} {middle:9.4f} {own.loss[-1]:9.4f}"
            losses = _with_error(own.barrier, own.barrier_se, 4)
            lines.append(f"{own.name:28} {ends} {losses:>20} {_with_error(100 * own.error_barrier, 100 * own.error_barrier_se, 2):>18}")
        return "\n".join(lines)

    def plot(self, what="loss", ax=None):
        """Draws the curves with bands of two standard errors (matplotlib); returns the axes. `what` is "loss" or "error"."""
        if what not in ("loss", "error"):
            raise InputError(f"`what` is {what!r}; it must be 'loss' or 'error'")
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
        for own in self.curves.values():
            values, errors = getattr(own, what), getattr(own, f"{what}_se")
            (line,) = ax.plot(own.tau, values, label=own.name, linewidth=1.8)
            if not np.isnan(errors).any():
                ax.fill_between(own.tau, values - 2 * errors, values + 2 * errors, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set_xlabel("τ")
        ax.set_ylabel("loss" if what == "loss" else "error rate")
        ax.set_xlim(0, 1)
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return ax


def barrier(
    a,
    b,
    predict,
    labels=None,
    *,
    targets=None,
    inputs=None,
    outputs="auto",
    symmetry=None,
    criteria=("w2",),
    solver="best",
    path="geodesic",
    points=25,
    samples=128,
    replicates=200,
    calibrate=False,
    format=None,
    keep=(),
    seed=0,
    progress=None,
    threads=None,
):
    """Measures loss and error along the path from `a` to `b`, as they are and, with a `symmetry`, aligned by each of the `criteria`.

    `a` and `b` are checkpoints or posteriors, see `align`. `predict(parameters)` runs your own network on your own examples, on whatever
    device: it takes what `a` is, with other values, and returns logits or probabilities (`outputs`; found out if it is "auto") of shape
    (examples, classes). `labels` are the classes. With `targets` in place of `labels`, numbers are predicted, and the loss is the squared
    error. With `inputs`, `predict(parameters, inputs[i:j])` is called for some examples at a time; give them where there are very many
    classes or examples.

    Of posteriors, `samples` networks are drawn at each of the `points`, with the same noise, and their predictions averaged. Gradients are
    off. Ctrl-C stops at the next call of `predict`.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(64, 3))
    >>> def predict(p):
    ...     return np.maximum(x @ p["w1"].T, 0) @ p["w2"].T
    >>> a = {"w1": rng.normal(size=(16, 3)), "w2": rng.normal(size=(2, 16))}
    >>> order = rng.permutation(16)
    >>> b = {"w1": a["w1"][order], "w2": a["w2"][:, order]}
    >>> from onebasin import symmetry
    >>> sym = symmetry.from_dict({"w1": ("hidden", None), "w2": (None, "hidden")})
    >>> found = barrier(a, b, predict, predict(a).argmax(axis=1), symmetry=sym)
    >>> found["no alignment"].barrier > 0.1, abs(found["w2"].barrier) < 1e-6
    (True, True)
    """
    start = Flat(a, "the first end", symmetry, format)
    asked = Labels(predict, start, labels=labels, targets=targets, inputs=inputs, outputs=outputs)
    if labels is None and targets is None:
        raise InputError("give `labels`, the class of each example, or `targets`, the numbers to be predicted")
    paths = [path] if isinstance(path, str) else list(path)
    how = Measured(points, samples, replicates, seed, calibrate)
    criteria = [criteria] if isinstance(criteria, str) else list(criteria)
    options = {"solver": solver, "format": format, "keep": keep, "seed": seed, "progress": progress, "threads": threads}
    # All alignments come first: whatever is wrong with the symmetry shows before anything is measured.
    used = criteria if symmetry is not None else ()
    alignments = {name: align(a, b, symmetry, criterion=name, **options) for name in used}
    curves = {}
    for name, end in [(UNALIGNED, b), *((name, own.aligned) for name, own in alignments.items())]:
        flat = Flat(end, "the second end", symmetry, format)
        same_shapes(start, flat)
        w2 = float(np.sqrt(sum(((own.astype(float) - other) ** 2).sum() for own, other in zip(start.values, flat.values))))
        for kind in paths[:1] if name == UNALIGNED else paths:
            title = name if kind == "geodesic" else f"{name}, {kind}"
            with Options(progress, threads) as running:
                found = _lib.barrier(start.shapes, start.values, flat.values, asked, how.along(kind), running)
            for curve in _curves(title, json.loads(found), w2):
                curves[curve.name] = curve
    return Barrier(curves, alignments)


class Measured:
    """How a barrier is measured; what `crates/onebasin-py/src/measure.rs` reads."""

    def __init__(self, points, samples, replicates, seed, calibrate):
        self.points, self.samples, self.replicates = points, samples, replicates
        self.seed, self.calibrate = seed, calibrate
        self.path = None

    def along(self, path):
        """The same along a path of this kind."""
        self.path = path
        return self


def _curves(name, found, w2):
    yield _curve(name, found["path"], found, w2, None)
    if found["calibrated"]:
        yield _curve(f"{name}, calibrated", found["calibrated"]["path"], found, w2, found["calibrated"]["temperatures"])


def _curve(name, path, found, w2, temperatures):
    points = path["points"]
    number = lambda value: np.nan if value is None else value
    values = lambda what, part: np.array([number(point[what][part]) for point in points])
    loss, error = path["loss"]["barrier"], path["error"]["barrier"]
    return Curve(
        name=name,
        tau=np.array([point["tau"] for point in points]),
        loss=values("loss", "value"),
        loss_se=values("loss", "standard_error"),
        error=values("error", "value"),
        error_se=values("error", "standard_error"),
        barrier=number(loss["value"]),
        barrier_se=number(loss["standard_error"]),
        error_barrier=number(error["value"]),
        error_barrier_se=number(error["standard_error"]),
        midpoint=number(path["loss"]["midpoint"]["value"]),
        mixture=np.array([number(point["loss"]["value"]) for point in found["mixture"]["points"]]),
        temperatures=None if temperatures is None else np.array(temperatures),
        w2=w2,
        samples=found["samples"],
        examples=found["examples"],
    )


def _with_error(value, error, digits):
    return f"{value:.{digits}f}" if np.isnan(error) else f"{value:.{digits}f} ± {error:.{digits}f}"
