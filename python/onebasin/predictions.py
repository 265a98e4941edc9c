"""The user's own forward pass as the library calls it: parameters in, logits out."""

import inspect
import sys

import numpy as np

from .arrays import to_numpy
from .errors import InputError

# A row of probabilities adds up to one within this.
_ROUNDING = 1e-3
# Logarithms of probabilities that are zero.
_LEAST = 1e-38


class Labels:
    """What `crates/onebasin-py/src/network.rs` reads: a forward pass, and what it should predict."""

    def __init__(self, predict, flat, *, labels=None, targets=None, inputs=None, outputs="auto"):
        if labels is not None and targets is not None:
            raise InputError("give `labels` of a classification or `targets` of a regression, not both")
        if outputs not in ("auto", "logits", "probabilities"):
            raise InputError(f"`outputs` is {outputs!r}; it must be 'auto', 'logits' or 'probabilities'")
        self._function, self._flat, self._inputs = predict, flat, inputs
        self._kind = "numbers" if targets is not None else outputs
        if inputs is None and _required(predict) > 1:
            raise InputError("`predict` takes more than the parameters: give the `inputs` that it also takes, one row for each example")
        first = self._call(flat.mean, 0, None)
        if self._kind == "auto":
            self._kind = "probabilities" if _are_probabilities(first) else "logits"
        self.examples, self.outputs = first.shape
        self.classes = self.numbers = None
        self.first = first
        if targets is not None:
            self.numbers = self._checked(to_numpy(targets), "targets").astype(np.float32).reshape(-1).tolist()
        elif labels is not None:
            self.classes = self._classes(to_numpy(labels))

    def predict(self, values, first, count):
        """The outputs of some examples at a point, flat."""
        outputs = self._call(values, first, count)
        if outputs.shape != (count, self.outputs):
            raise InputError(f"`predict` returned {outputs.shape}, and {(count, self.outputs)} is expected")
        if self._kind == "probabilities":
            outputs = np.log(np.maximum(outputs, _LEAST))
        return np.ascontiguousarray(outputs, np.float32).reshape(-1)

    def _call(self, values, first, count):
        point = self._flat.point(values)
        rows = slice(first, None if count is None else first + count)
        with _no_gradients():
            given = () if self._inputs is None else (self._inputs[rows],)
            outputs = to_numpy(self._function(point, *given))
        if outputs.ndim == 1:
            outputs = outputs[:, None]
        if outputs.ndim != 2 or outputs.dtype.kind != "f":
            shape = f"an array of {outputs.dtype} of shape {outputs.shape}"
            raise InputError(f"`predict` returned {shape}; it must return floating-point numbers of shape (examples, outputs)")
        return outputs if given else outputs[rows]

    def _classes(self, labels):
        labels = self._checked(labels, "labels")
        if labels.ndim != 1 or labels.dtype.kind not in "iub":
            raise InputError(f"`labels` has type {labels.dtype} and shape {labels.shape}; it must hold one whole number for each example")
        if labels.size and (labels.min() < 0 or labels.max() >= self.outputs):
            wrong = labels[(labels < 0) | (labels >= self.outputs)][0]
            raise InputError(f"`labels` holds the class {wrong}; `predict` returns {self.outputs} classes, counted from 0")
        return labels.tolist()

    def _checked(self, values, name):
        if len(values) != self.examples:
            raise InputError(f"`{name}` has {len(values)} rows, and `predict` returned {self.examples}")
        return values


def _are_probabilities(outputs):
    return bool((outputs >= 0).all() and (abs(outputs.sum(axis=1) - 1) < _ROUNDING).all() and outputs.shape[1] > 1)


def _required(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(own.kind in positional and own.default is inspect.Parameter.empty for own in parameters)


class _no_gradients:
    """PyTorch keeps no graph of the forward passes."""

    def __enter__(self):
        torch = sys.modules.get("torch")
        self._guard = torch.no_grad() if torch is not None else None
        if self._guard:
            self._guard.__enter__()

    def __exit__(self, *error):
        if self._guard:
            self._guard.__exit__(*error)
