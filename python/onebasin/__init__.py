"""Brings neural-network posteriors into one basin: alignment, paths, loss barriers and compact posteriors.

>>> import numpy as np, onebasin as ob
>>> rng = np.random.default_rng(0)
>>> a = {"fc1.weight": rng.normal(size=(8, 3)), "fc1.bias": rng.normal(size=8), "fc2.weight": rng.normal(size=(2, 8))}
>>> order = rng.permutation(8)
>>> b = {"fc1.weight": a["fc1.weight"][order], "fc1.bias": a["fc1.bias"][order], "fc2.weight": a["fc2.weight"][:, order]}
>>> sym = ob.symmetry.from_dict({"fc1.weight": ("hidden", None), "fc1.bias": ("hidden",), "fc2.weight": (None, "hidden")})
>>> found = ob.align(a, b, sym)
>>> round(found.w2_before, 2) > 0, found.w2_after
(True, 0.0)
"""

from . import adapters, assign, permutations, symmetry
from ._lib import __version__
from .alignment import Alignment, Alignments, align, align_many, permute
from .barriers import Barrier, Curve, barrier
from .compaction import Compact, LowRank, compact
from .errors import DivergedError, FileError, FunctionChangedError, InputError, OnebasinError, RoomError
from .experiments import Measures, Training, report, run, show, train
from .files import Samples, load, save
from .gaussian import Gaussian
from .points import geodesic, path, posterior
from .symmetry import Symmetry

__all__ = [
    "Alignment",
    "Alignments",
    "Barrier",
    "Compact",
    "Curve",
    "DivergedError",
    "FileError",
    "FunctionChangedError",
    "Gaussian",
    "InputError",
    "LowRank",
    "Measures",
    "OnebasinError",
    "RoomError",
    "Samples",
    "Symmetry",
    "Training",
    "__version__",
    "adapters",
    "align",
    "align_many",
    "assign",
    "barrier",
    "compact",
    "geodesic",
    "load",
    "path",
    "permutations",
    "permute",
    "posterior",
    "report",
    "run",
    "save",
    "show",
    "symmetry",
    "train",
]
