"""Bayesian layers: writes means and standard deviations into the raw values from which layers compute them.

`onebasin.posterior` reads them.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from ..arrays import Tree, to_numpy
from ..errors import InputError


@dataclasses.dataclass(frozen=True)
class _Form:
    """How a library names the mean and the raw scale of a parameter, and what raw scale a standard deviation has.

    The first pair of names that is there counts; the same names as in `crates/onebasin/src/foreign/convention.rs`.
    """

    pairs: tuple
    raw: "Callable[[np.ndarray], np.ndarray]"


def _inverse_softplus(std):
    # log(exp(std) - 1), without overflow.
    return std + np.log(-np.expm1(-std))


_OF_BAYESIAN_TORCH = (("{layer}mu_{leaf}", "{layer}rho_{leaf}"), ("{layer}mu_kernel", "{layer}rho_kernel"))
_FORMS = {
    "onebasin": _Form((("mean/{layer}{leaf}", "std/{layer}{leaf}"),), lambda std: std),
    "bayesian-torch": _Form(_OF_BAYESIAN_TORCH, _inverse_softplus),
    "torch-uncertainty": _Form((("{layer}{leaf}_mu", "{layer}{leaf}_sigma"),), _inverse_softplus),
    "blitz": _Form((("{layer}{leaf}_mu", "{layer}{leaf}_rho"),), _inverse_softplus),
    "torchbnn": _Form((("{layer}{leaf}_mu", "{layer}{leaf}_log_sigma"),), np.log),
    "torch-blue": _Form((("{layer}_{leaf}_mean", "{layer}_{leaf}_log_std"),), np.log),
}


def store(gaussian, like, *, format=None):
    """A checkpoint of a library of Bayesian layers that has the means and the standard deviations of a `Gaussian`.

    `like` is a module of that library or its state dict; what is neither a mean nor a scale stays, and no array of `like` changes. A
    parameter without a scale, such as that of a normalisation, takes the mean. `format` is "bayesian-torch", "torch-uncertainty", "blitz",
    "torchbnn", "torch-blue" or "onebasin"; it is recognised by the names of the tensors if it is not given.

    >>> from onebasin import Gaussian
    >>> q = Gaussian(mean={"fc.weight": np.zeros((1, 2))}, std={"fc.weight": np.full((1, 2), 0.5)})
    >>> stored = store(q, {"fc.mu_weight": np.ones((1, 2)), "fc.rho_weight": np.ones((1, 2))})
    >>> np.log1p(np.exp(stored["fc.rho_weight"])).round(6)
    array([[0.5, 0.5]])
    """
    tree = Tree(like, "`like`")
    if format is not None and format not in _FORMS:
        raise InputError(f"`format` is {format!r}; it must be one of {', '.join(_FORMS)}")
    forms = _FORMS.items() if format is None else [(format, _FORMS[format])]
    for _, form in forms:
        places = _places(gaussian, tree.shapes, form)
        if places is not None:
            return tree.with_values(_values(gaussian, places, form, tree.shapes))
    known = f"that of {format}" if format else f"any of {', '.join(_FORMS)}"
    raise InputError(f"the names in `like` are not {known} for all of: {', '.join(list(gaussian.mean)[:20])}")


def _places(gaussian, shapes, form):
    """The names of the mean and of the raw scale of each parameter, none for the scale of one that has none."""
    for prefix in _prefixes(gaussian, shapes, form):
        places = {}
        for name in gaussian.mean:
            pairs = [(prefix + mean, prefix + raw) for mean, raw in _filled(form, name)] + [(prefix + name, None)]
            found = [pair for pair in pairs if pair[0] in shapes and (pair[1] is None or pair[1] in shapes)]
            if not found:
                break
            places[name] = found[0]
        else:
            if any(raw for _, raw in places.values()):
                return places
    return None


def _prefixes(gaussian, shapes, form):
    """What may stand before all names, such as `state_dict.`; the shortest first."""
    found = {""}
    for name in gaussian.mean:
        for mean, _ in _filled(form, name):
            found.update(own[: -len(mean)] for own in shapes if own.endswith("." + mean))
    return sorted(found, key=len)


def _filled(form, name):
    """The names that a form makes of that of a parameter; one that is made of the layer alone is that of its weight."""
    start = max(name.rfind("."), name.rfind("/")) + 1
    layer, leaf = name[:start], name[start:]
    pairs = [pair for pair in form.pairs if "{leaf}" in pair[0] or leaf == "weight"]
    return [[own.format(layer=layer, leaf=leaf) for own in pair] for pair in pairs]


def _values(gaussian, places, form, shapes):
    values = {}
    for name, (mean_name, raw_name) in places.items():
        mean, std = to_numpy(gaussian.mean[name]), np.asarray(to_numpy(gaussian.std[name]), np.float64)
        if list(mean.shape) != list(shapes[mean_name]):
            raise InputError(f"`{name}` has the shape {mean.shape}, and `{mean_name}` in `like` has {tuple(shapes[mean_name])}")
        values[mean_name] = mean
        if raw_name is None:
            if std.any():
                raise InputError(f"`{name}` has a standard deviation, and `like` has no place for one; give `like` Bayesian layers only")
        elif not (np.isfinite(std) & (std > 0)).all():
            raise InputError(f"the standard deviations of `{name}` are not all positive, and `{raw_name}` cannot express that")
        else:
            values[raw_name] = form.raw(std)
    return {name: np.ascontiguousarray(value, np.float32) for name, value in values.items()}
