"""What the timed inference is, as plain data, and the same computed in NumPy and float64 to check the peers against."""

import dataclasses
import gzip
import math
import os
import pathlib

import numpy as np

import networks

# Mean-field variational inference: one sample, Adam on mean and rho, standard deviation softplus(rho).
OBSERVATIONS = 60_000
PRIOR_VARIANCE = 0.01
INITIAL_STD = 0.01
LEARNING_RATE = 1e-3
BETA1, BETA2 = 0.9, 0.999
ADAM_EPSILON = 1e-8
# The predictive distribution: the mean of softmax over samples.
SAMPLES = 128
# A part of a barrier curve: points of the path, samples at each, bootstrap replicates of the loss and the error.
BARRIER_POINTS = 3
BARRIER_SAMPLES = 16
BARRIER_REPLICATES = 200
# Hamiltonian Monte Carlo: prior N(0, 1), all images at once, unit masses.
HMC_PRESET = networks.PRESETS["mlp"] | {"hidden": [512]}
HMC_IMAGES = 10_000
LEAPFROG_STEPS = 10
LEAPFROG_SIZE = 1e-4
CHECKED_LEAPFROG_SIZE = 1e-2  # on the few images of a golden file


def data(preset, count):
    """Images (count, h, w, c) and labels (count): MNIST's test set for dense networks, noise for the others."""
    if preset["preset"] != "mlp":
        return networks.data(networks.image_shape(preset), count)
    folder = pathlib.Path(os.environ["ONEBASIN_DATA"]) / "mnist"
    images, labels = (gzip.decompress((folder / f"t10k-{kind}-ubyte.gz").read_bytes()) for kind in ("images-idx3", "labels-idx1"))
    images = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28, 1)[:count]
    return np.float32(images) / np.float32(255), np.frombuffer(labels, np.uint8, offset=8)[:count].astype(np.int64)


def inverse_softplus(std):
    return np.log(np.expm1(std))


INITIAL_RHO = float(inverse_softplus(INITIAL_STD))


@dataclasses.dataclass
class Variational:
    """Mean and rho of every tensor, Adam's moments of both, and the number of steps done; name to array each."""

    mean: dict
    rho: dict
    first: tuple[dict, dict]
    second: tuple[dict, dict]
    count: int

    def arrays(self):
        return [self.mean, self.rho, *self.first, *self.second]

    def moved(self, before):
        """What the steps since `before` have changed, in the order of `arrays`."""
        pairs = zip(self.arrays(), before.arrays())
        return [{name: np.float64(new[name]) - old[name] for name in old} for new, old in pairs]


    def twice(self):
        """Two trainings, each array with one axis more in front."""
        mean, rho, *moments = ({name: np.stack([a, a]) for name, a in arrays.items()} for arrays in self.arrays())
        return Variational(mean, rho, tuple(moments[:2]), tuple(moments[2:]), self.count)


def initial(preset):
    """Where a training begins: means as the network is initialised, equal deviations, moments zero."""
    mean = networks.initial_parameters(preset)

    def filled(with_value):
        return {name: np.full(value.shape, with_value, np.float32) for name, value in mean.items()}

    return Variational(mean, filled(INITIAL_RHO), (filled(0), filled(0)), (filled(0), filled(0)), 0)


def checked(case):
    """A training under way, and a noise such that the sample is the golden file's network.

    The moments are such that a step is long enough to be compared: float32 rounds what it is added to.
    """
    random = np.random.default_rng(3)

    def normals(scale, like=case.parameters):
        return {name: np.float32(scale) * random.standard_normal(a.shape, np.float32) for name, a in like.items()}

    noise, rho = normals(1), {name: np.float32(INITIAL_RHO + value) for name, value in normals(0.1).items()}
    mean = {n: np.float32(case.parameters[n] - np.log1p(np.exp(np.float64(rho[n]))) * noise[n]) for n in noise}
    second = tuple({name: value**2 + 1 for name, value in normals(10).items()} for _ in range(2))
    return Variational(mean, rho, (normals(100), normals(100)), second, 1000), noise


def step(case, before, noise):
    """One step of `checked(case)`, its gradient the golden one by the chain rule.

    The loss is -observations / batch * log-likelihood + KL(N(mean, std^2) || N(0, prior variance)).
    """
    after = Variational({}, {}, ({}, {}), ({}, {}), before.count + 1)
    scale = OBSERVATIONS / len(case.labels)
    for name, gradient in case.gradient.items():
        mean, rho = np.float64(before.mean[name]), np.float64(before.rho[name])
        std, slope = np.log1p(np.exp(rho)), 1 / (1 + np.exp(-rho))
        by_sample = -scale * np.float64(gradient)
        by_mean = by_sample + mean / PRIOR_VARIANCE
        by_rho = (by_sample * noise[name] + std / PRIOR_VARIANCE - 1 / std) * slope
        for index, (value, gradient, out) in enumerate(((mean, by_mean, after.mean), (rho, by_rho, after.rho))):
            first = BETA1 * before.first[index][name] + (1 - BETA1) * gradient
            second = BETA2 * before.second[index][name] + (1 - BETA2) * gradient**2
            unbiased = first / (1 - BETA1**after.count), second / (1 - BETA2**after.count)
            out[name] = value - LEARNING_RATE * unbiased[0] / (np.sqrt(unbiased[1]) + ADAM_EPSILON)
            after.first[index][name], after.second[index][name] = first, second
    return after


def step_difference(case, before, noise, after):
    """How far a peer's step is from ours, relative to the largest change of each tensor."""
    pairs = zip(after.moved(before), step(case, before, noise).moved(before))
    return max(difference(got, expected) for got, expected in pairs)


def predictive_difference(case, probabilities):
    """How far a peer's probabilities under the sample of `checked(case)` are from those of the golden file."""
    exponentials = np.exp(np.float64(case.logits))
    return np.abs(probabilities - exponentials / exponentials.sum(1, keepdims=True)).max()


def barrier_difference(case, curves):
    """How far a peer's curves, (..., loss and error, replicates), are everywhere from loss and error of the golden file."""
    logits = np.float64(case.logits)
    at_label = np.take_along_axis(logits, np.int64(case.labels)[:, None], 1)[:, 0]
    loss = (np.log(np.exp(logits).sum(1)) - at_label).mean()
    error = (logits.argmax(1) != case.labels).mean()
    return np.abs(curves - np.array([[loss], [error]])).max()


def difference(got, expected):
    """The largest over all names, relative to the largest value of each."""
    return max(np.abs(got[name] - expected[name]).max() / np.abs(expected[name]).max() for name in expected)


def trajectory(preset, position, momentum, images, labels):
    """Position, momentum and log-density after the leapfrog steps of one proposal; name to array each."""
    position, momentum = ({n: np.float64(a) for n, a in arrays.items()} for arrays in (position, momentum))
    density, gradient = log_density(preset, position, images, labels)
    for _ in range(LEAPFROG_STEPS):
        momentum = {n: momentum[n] + CHECKED_LEAPFROG_SIZE / 2 * gradient[n] for n in momentum}
        position = {n: position[n] + CHECKED_LEAPFROG_SIZE * momentum[n] for n in position}
        density, gradient = log_density(preset, position, images, labels)
        momentum = {n: momentum[n] + CHECKED_LEAPFROG_SIZE / 2 * gradient[n] for n in momentum}
    return position, momentum, density


def trajectory_difference(case, start, position, momentum, density):
    """How far a peer's proposal from a golden file's network is from ours; changes are compared, not positions."""
    expected = trajectory(case.preset, case.parameters, start, case.images, case.labels)

    def moved(position, momentum):
        position = {name: position[name] - np.float64(case.parameters[name]) for name in position}
        return position, {name: momentum[name] - np.float64(start[name]) for name in momentum}

    pairs = zip(moved(position, momentum), moved(*expected[:2]))
    return max(abs(density / expected[2] - 1), *(difference(*pair) for pair in pairs))


def log_density(preset, parameters, images, labels):
    """Log-likelihood plus log N(0, 1) without its constant, of a ReLU network, and the gradient."""
    layers = [*(f"hidden{index + 1}" for index in range(len(preset["hidden"]))), "head"]
    inputs = [np.float64(images).reshape(len(images), -1)]
    for name in layers:
        outputs = inputs[-1] @ parameters[f"{name}.weight"] + parameters[f"{name}.bias"]
        inputs.append(np.maximum(outputs, 0))
    largest = outputs.max(1, keepdims=True)
    log_probabilities = outputs - largest - np.log(np.exp(outputs - largest).sum(1, keepdims=True))
    chosen = np.eye(outputs.shape[1])[labels]
    density = (log_probabilities * chosen).sum() - sum((value**2).sum() for value in parameters.values()) / 2
    by_output, gradient = chosen - np.exp(log_probabilities), {}
    for name, x in zip(reversed(layers), reversed(inputs[:-1])):
        weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
        gradient |= {f"{name}.weight": x.T @ by_output - weight, f"{name}.bias": by_output.sum(0) - bias}
        by_output = by_output @ weight.T * (x > 0)
    return density, gradient
