"""Permutations of units, `new[i] = old[p[i]]`: their algebra, random ones, and their files.

All functions take a permutation as a sequence or an array, or a dict of permutations by their groups, and return the same kind.
"""

import json
import os
from collections.abc import Mapping

import numpy as np

from . import _lib
from .errors import FileError, InputError


def compose(first, second):
    """The permutation that acts like `first` and then `second`: `x[compose(first, second)]` is `x[first][second]`.

    >>> compose([1, 2, 0], [1, 0, 2])
    array([2, 1, 0], dtype=uint32)
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        if set(first) != set(second):
            odd = ", ".join(sorted(set(first) ^ set(second)))
            raise InputError(f"the two have different groups; only one has: {odd}")
        return {group: compose(order, second[group]) for group, order in first.items()}
    first, second = _array(first), _array(second)
    if len(first) != len(second):
        raise InputError(f"permutations of {len(first)} and {len(second)} units do not follow one another")
    return _lib.compose(first, second)


def invert(order):
    """The permutation that undoes this one: `x[order][invert(order)]` is `x`.

    >>> invert([1, 2, 0])
    array([2, 0, 1], dtype=uint32)
    """
    if isinstance(order, Mapping):
        return {group: invert(own) for group, own in order.items()}
    return _lib.invert(_array(order))


def transpositions(order):
    """How many swaps of two units a permutation takes at least: its units less its cycles. Of a dict, a dict.

    >>> transpositions([1, 2, 0]), transpositions({"hidden": [1, 0]})
    (2, {'hidden': 1})
    """
    if isinstance(order, Mapping):
        return {group: transpositions(own) for group, own in order.items()}
    return _lib.transpositions(_array(order))


def cycles(order):
    """The cycles, each from its smallest unit on; a unit that stays is a cycle of its own.

    >>> cycles([1, 2, 0, 3])
    [[0, 1, 2], [3]]
    """
    if isinstance(order, Mapping):
        return {group: cycles(own) for group, own in order.items()}
    check(order)
    order = _array(order).tolist()
    found, seen = [], [False] * len(order)
    for start in range(len(order)):
        cycle, place = [], start
        while not seen[place]:
            seen[place] = True
            cycle.append(place)
            place = order[place]
        if cycle:
            found.append(cycle)
    return found


def identity(units):
    """The permutation that changes nothing; of a dict of numbers of units, such as `Symmetry.groups`, one for each group.

    >>> identity(3)
    array([0, 1, 2], dtype=uint32)
    """
    if isinstance(units, Mapping):
        return {group: identity(own) for group, own in units.items()}
    return np.arange(_units(units), dtype=np.uint32)


def random(units, transpositions=None, seed=0):
    """A uniformly random permutation; with `transpositions`, of those that take so many and no fewer.

    Of a dict of numbers of units, such as `Symmetry.groups`, one for each group; `transpositions` is then a dict, too. The same seed gives
    the same permutations everywhere.

    >>> from onebasin import permutations
    >>> permutations.transpositions(random(100, transpositions=7))
    7
    """
    if isinstance(units, Mapping):
        wanted = {} if transpositions is None else transpositions
        if not isinstance(wanted, Mapping) or not set(wanted) <= set(units):
            raise InputError("`transpositions` must be a dict with the same groups as `units`")
        return {group: _random(own, wanted.get(group), seed, group) for group, own in units.items()}
    return _random(units, transpositions, seed, "")


def is_permutation(order):
    """Whether each of the numbers from 0 to n - 1 is there once; of a dict, whether that is so for all groups.

    >>> is_permutation([1, 0]), is_permutation([1, 1])
    (True, False)
    """
    try:
        check(order)
    except InputError:
        return False
    return True


def check(order):
    """Raises an `InputError` that says why this is no permutation, if it is none.

    >>> check([0, 2, 2])
    Traceback (most recent call last):
    ...
    onebasin.errors.InputError: 2 at place 2 is there twice: not a permutation of 3 units
    """
    if isinstance(order, Mapping):
        for group, own in order.items():
            try:
                check(own)
            except InputError as error:
                raise InputError(f"`{group}`: {error}") from None
    else:
        _lib.transpositions(_array(order))


def load(path):
    """Reads `permutations/NAME.json`, which an alignment writes, as a dict by groups; a `.jsonl` file as a list of them, one for each sample.

    >>> load("aligned/permutations/seed2.json")  # doctest: +SKIP
    """
    path = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    lines = text.splitlines() if path.endswith(".jsonl") else [text]
    try:
        found = [json.loads(line) for line in lines]
        if not all(isinstance(line, dict) for line in found):
            raise InputError("it must be an object with the permutation of each group")
        for line in found:
            check(line)
    except ValueError as error:
        raise InputError(f"{path}: not a file of permutations: {error}") from error
    found = [{group: _array(order) for group, order in line.items()} for line in found]
    return found if path.endswith(".jsonl") else found[0]


def save(path, orders):
    """Writes a dict of permutations as `load` and the command line read it; a list of dicts becomes a `.jsonl` file, a line for each.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "p.json")
    ...     save(path, {"hidden": [1, 0]})
    ...     load(path)
    {'hidden': array([1, 0], dtype=uint32)}
    """
    path = os.fspath(path)
    several = not isinstance(orders, Mapping)
    if several != path.endswith(".jsonl"):
        raise InputError(f"{path}: a dict of permutations is a `.json` file, a list of dicts a `.jsonl` file")
    lines = orders if several else [orders]
    _lib.write_permutations(path, [[(group, _array(order)) for group, order in line.items()] for line in lines])


def _random(units, transpositions, seed, name):
    if transpositions is not None and transpositions < 0:
        raise InputError(f"a permutation of {transpositions} transpositions: there cannot be fewer than 0")
    return _lib.random_permutation(_units(units), transpositions, seed, name)


def _units(units):
    if not 0 <= units < 2**32:
        raise InputError(f"a permutation of {units} units: it must be between 0 and 2^32 - 1")
    return units


def _array(order):
    """An array of uint32 of numbers that may be indices."""
    values = np.asarray(order)
    if values.ndim != 1:
        raise InputError(f"a permutation is a list of numbers, not an array of {values.ndim} axes")
    if not len(values):
        return np.zeros(0, np.uint32)
    if values.dtype.kind not in "iu":
        raise InputError(f"a permutation is a list of whole numbers, not of {values.dtype}")
    wrong = np.flatnonzero((values < 0) | (values >= len(values)))
    if len(wrong):
        place = wrong[0]
        fault = "is negative" if values[place] < 0 else "is too large"
        raise InputError(f"{values[place]} at place {place} {fault}: not a permutation of {len(values)} units")
    return np.ascontiguousarray(values, np.uint32)
