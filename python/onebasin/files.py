"""Reads and writes posteriors of onebasin, and checkpoints of PyTorch, safetensors and NumPy without their libraries."""

import os
from collections.abc import Mapping

from . import _lib
from .arrays import Tree, module_state
from .compaction import LowRank
from .errors import InputError
from .gaussian import Gaussian
from .points import Flat, _parts, same_shapes


class Samples(list):
    """Samples of a posterior, a dict of arrays each: those of the first of `chains` chains first, all chains of the same length.

    >>> Samples([{"w": 0}, {"w": 1}], chains=2).chains
    2
    """

    def __init__(self, points=(), chains=1):
        super().__init__(points)
        self.chains = chains


def load(path):
    """Reads a posterior of onebasin, or any checkpoint, into arrays of NumPy.

    A posterior (its file, or the folder of its training) becomes a `Gaussian`, a `LowRank`, `Samples`, which are a list of dicts, or, if it
    is a point, a dict; all arrays are float32, in the order of the file. Any other checkpoint (`.pt`, `.pth`, `.ckpt`, `.safetensors` and
    the index of several of them, `.npz`, `.npy`) becomes a dict by dotted names, each array of the type that the file has; bfloat16, which
    NumPy lacks, becomes float32, which holds the same values; a file with another type that NumPy lacks is refused. No code in a file is
    run.

    >>> import os, tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "q.safetensors")
    ...     save(path, Gaussian({"w": np.zeros(2)}, {"w": np.ones(2)}))
    ...     load(path).std["w"]
    array([1., 1.], dtype=float32)
    """
    posterior, tensors = _lib.load(os.fspath(path))
    if posterior is None:
        return {name: values.view(dtype).reshape(shape) for name, dtype, shape, values in tensors}
    kind, shapes, flat, chains = posterior
    points = [_parts(shapes, values) for values in flat]
    if kind == "gaussian":
        return Gaussian(*points)
    if kind == "low-rank":
        return LowRank(points[0], points[1], points[2:])
    return Samples(points, chains) if kind == "samples" else points[0]


def save(path, posterior, like=None, *, symmetry=None):
    """Writes a posterior as the command line reads it, or a checkpoint again with other values; the file is there whole or not at all.

    `posterior` is a `Gaussian`, a `LowRank`, a list of samples (dicts of arrays), or a point (a dict of arrays or a module). Its
    floating-point arrays are stored, as float32. If `like` is a posterior of onebasin, the new one is of the same network and data, so that
    commands such as `onebasin barrier` take it; otherwise `symmetry` tells commands which units can be permuted.

    If `like` is another checkpoint, that file is written again with those of its tensors replaced that are named here; their numbers take
    the types that they have there, and every other byte stays as it is.

    >>> save("aligned.pt", found.aligned, like="b.pt")  # doctest: +SKIP
    """
    path = os.fspath(path)
    if like is not None:
        like = os.fspath(like)
        if not _lib.is_posterior(like):
            return _rewrite(path, posterior, like, symmetry)
    kind, flats, arrays, chains = _arrays(posterior)
    for flat in flats[1:]:
        same_shapes(flats[0], flat)
    network = None if symmetry is None else symmetry.resolved(flats[0].tree)
    _lib.write_posterior(path, kind, flats[0].shapes, arrays, chains, like, network)


def _arrays(posterior):
    """Kind of a posterior, what was flattened, the flat arrays, and the number of chains."""
    if isinstance(posterior, Gaussian):
        flat = Flat(posterior, "the posterior")
        return "gaussian", [flat], [flat.mean, flat.std], 1
    if isinstance(posterior, LowRank):
        flats = [Flat(part, "the posterior") for part in (posterior.mean, posterior.std, *posterior.factor)]
        return "gaussian", flats, [flat.mean for flat in flats], 1
    if isinstance(posterior, (list, tuple)):
        if not posterior:
            raise InputError("there are no samples to save")
        flats = [Flat(sample, f"sample {index}") for index, sample in enumerate(posterior)]
        return "samples", flats, [flat.mean for flat in flats], getattr(posterior, "chains", 1)
    posterior = module_state(posterior)
    if not isinstance(posterior, Mapping):
        kind = type(posterior).__name__
        raise InputError(f"a posterior is a Gaussian, a list of samples or a dict of arrays, not a {kind}")
    flat = Flat(posterior, "the posterior")
    return "point", [flat], [flat.mean], 1


def _rewrite(path, tree, like, symmetry):
    if symmetry is not None:
        raise InputError(f"{like} is no posterior of onebasin, and has no place for a `symmetry`")
    if isinstance(tree, (Gaussian, LowRank, list, tuple)):
        raise InputError(f"{like} is no posterior of onebasin: give a dict with the names of its tensors")
    _lib.rewrite(path, like, Tree(tree, "the checkpoint").named())
