"""Samples of chains in an `InferenceData` of ArviZ, which numpyro, BlackJAX and PyMC give: read, relabelled, written back.

A sample is a dict of arrays, one for each variable; samples are in the order of the chains.
"""

import numpy as np

from ..alignment import align_many
from ..arrays import to_numpy
from ..errors import InputError

_AXES = ("chain", "draw")


def from_inference_data(data, *, group="posterior"):
    """All samples of a group, chain by chain, as dicts of arrays that share its memory where that is possible."""
    variables = _variables(data, group)
    chains, draws = _counts(variables, group)
    stacks = {name: variable.transpose(*_AXES, ...).values for name, variable in variables.items()}
    return [{name: stack[chain, draw] for name, stack in stacks.items()} for chain in range(chains) for draw in range(draws)]


def to_inference_data(samples, *, chains=None, like=None, group="posterior"):
    """Samples as an `InferenceData`.

    `like` is the one that they were read from: its variables are replaced, and its coordinates, attributes and other groups stay. Without
    it, `chains` is the number of chains that the samples are of, all equally long.
    """
    samples = list(samples)
    if like is not None:
        variables = _variables(like, group)
        chains, draws = _counts(variables, group)
        if chains * draws != len(samples):
            raise InputError(f"there are {len(samples)} samples, and `like` has {chains} chains of {draws}")
        stacks = _stacks(samples, chains)
        copied = like.copy()
        for name, stack in stacks.items():
            if name not in variables:
                raise InputError(f"the samples have a variable `{name}`, which is not in the {group} of `like`")
            own = variables[name].transpose(*_AXES, ...)
            copied[group][name] = own.copy(data=stack).transpose(*variables[name].dims)
        return copied
    if chains is None or chains < 1 or not samples or len(samples) % chains:
        raise InputError(f"give `like`, or by `chains` how many equally long chains the {len(samples)} samples are of, not {chains}")
    import arviz

    return arviz.from_dict(**{group: _stacks(samples, chains)})


def relabel(data, symmetry, *, group="posterior", **settings):
    """The same `InferenceData` with the units of all samples of all chains permuted so that each unit keeps its position.

    Chains visit the same posterior with its units in any order, so that their means and R-hats are of no use before. All samples are
    aligned with the Gaussian that fits them. `settings` are those of `onebasin.align_many`, such as `keep` for variables that are no
    part of the network. Only the group that is named changes.
    """
    aligned = align_many(from_inference_data(data, group=group), symmetry, to="relabel", **settings).aligned
    return to_inference_data(aligned, like=data, group=group)


def _variables(data, group):
    try:
        dataset = data[group]
    except (KeyError, TypeError) as error:
        raise InputError(f"a {type(data).__name__} has no group {group!r}; give an InferenceData of ArviZ") from error
    return {name: dataset[name] for name in dataset.data_vars}


def _counts(variables, group):
    for name, variable in variables.items():
        if not set(_AXES) <= set(variable.dims):
            raise InputError(f"the variable `{name}` of the {group} has the axes {variable.dims}; it must have `chain` and `draw`")
    if not variables:
        raise InputError(f"the {group} has no variables")
    return tuple(next(iter(variables.values())).sizes[axis] for axis in _AXES)


def _stacks(samples, chains):
    """Arrays of shape (chain, draw, ...)."""
    stacks = {name: np.stack([to_numpy(sample[name]) for sample in samples]) for name in samples[0]}
    return {name: stack.reshape(chains, len(samples) // chains, *stack.shape[1:]) for name, stack in stacks.items()}
