"""Gaussian posteriors: a mean and a standard deviation for every parameter."""

import dataclasses

import numpy as np

from .arrays import to_numpy
from .errors import InputError


@dataclasses.dataclass(frozen=True)
class Gaussian:
    """A normal distribution with independent parameters, by the names of the tensors.

    >>> q = Gaussian(mean={"w": np.zeros(2)}, std={"w": np.ones(2)})
    >>> q.sample(np.random.default_rng(0))["w"].shape
    (2,)
    """

    mean: dict
    std: dict

    def __post_init__(self):
        if list(self.mean) != list(self.std):
            odd = set(self.mean) ^ set(self.std)
            raise InputError(f"mean and std have different names or another order of names; only one has: {sorted(odd)}")
        for name, mean in self.mean.items():
            if np.shape(mean) != np.shape(self.std[name]):
                shapes = f"{np.shape(mean)} and {np.shape(self.std[name])}"
                raise InputError(f"mean and std of `{name}` have different shapes: {shapes}")

    @classmethod
    def point(cls, tree):
        """A point: all standard deviations are zero."""
        mean = {name: to_numpy(value) for name, value in tree.items()}
        return cls(mean, {name: np.zeros_like(value) for name, value in mean.items()})

    @classmethod
    def from_samples(cls, samples):
        """The Gaussian with the mean and the unbiased standard deviation of samples.

        >>> Gaussian.from_samples([{"w": np.zeros(2)}, {"w": np.full(2, 2.0)}]).mean["w"]
        array([1., 1.])
        """
        samples = list(samples)
        if len(samples) < 2:
            raise InputError(f"a Gaussian needs at least 2 samples, not {len(samples)}")
        stacks = {name: np.stack([to_numpy(sample[name]) for sample in samples]) for name in samples[0]}
        return cls(
            {name: stack.mean(axis=0) for name, stack in stacks.items()},
            {name: stack.std(axis=0, ddof=1) for name, stack in stacks.items()},
        )

    def sample(self, rng=None):
        """One draw, as a dict of arrays; `rng` is a generator or a seed of NumPy."""
        rng = np.random.default_rng(rng)
        draw = {}
        for name, mean in self.mean.items():
            mean, std = to_numpy(mean), to_numpy(self.std[name])
            draw[name] = mean + std * rng.standard_normal(mean.shape, dtype=mean.dtype)
        return draw

    def tree(self):
        """The dict that posteriors of onebasin are stored as: `mean/NAME` and `std/NAME`."""
        return {f"{kind}/{name}": value for kind in ("mean", "std") for name, value in getattr(self, kind).items()}

    @classmethod
    def of_tree(cls, tree):
        """The other way round."""
        parts = {kind: {} for kind in ("mean", "std")}
        for name, value in tree.items():
            kind, _, name = name.partition("/")
            parts[kind][name] = value
        return cls(**parts)
