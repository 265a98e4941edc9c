"""Convergence of Markov chains: R-hat and effective sample size (Vehtari et al. 2021), as ArviZ computes them."""

from collections.abc import Mapping

import numpy as np

from . import _lib
from .arrays import to_numpy
from .errors import InputError


def rhat(chains):
    """The rank-normalised split R-hat of each parameter: near 1 if the chains agree, above 1.01 if they do not.

    `chains` is an array (chain, sample, ...), or a dict of such arrays; so is the result, without the first two axes.

    >>> rng = np.random.default_rng(0)
    >>> bool(rhat(rng.normal(size=(4, 500))) < 1.01), bool(rhat(rng.normal(size=(4, 500)) + np.arange(4)[:, None]) > 1.5)
    (True, True)
    """
    return _each(_lib.rhat, chains)


def ess(chains):
    """The effective sample size of the bulk of each parameter; arguments are those of `rhat`.

    >>> rng = np.random.default_rng(0)
    >>> bool(1500 < ess(rng.normal(size=(4, 500))) < 2500)
    True
    """
    return _each(_lib.ess, chains)


def _each(function, chains):
    if isinstance(chains, Mapping):
        return {name: _each(function, own) for name, own in chains.items()}
    values = np.asarray(to_numpy(chains), np.float64)
    if values.ndim < 2:
        raise InputError(f"the chains have the shape {values.shape}; it must be (chain, sample, ...)")
    flat = np.ascontiguousarray(np.moveaxis(values.reshape(*values.shape[:2], -1), 2, 0))
    return np.array([function(own) for own in flat]).reshape(values.shape[2:])
