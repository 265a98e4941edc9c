"""Objects of other libraries that are more than a tree of arrays: Bayesian layers, and samples of ArviZ. None of them is imported."""

from . import arviz
from .layers import store

__all__ = ["arviz", "store"]
