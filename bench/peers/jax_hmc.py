"""Hamiltonian Monte Carlo by BlackJAX: one trajectory with its decision, all data in every gradient."""

import math

import blackjax
import jax
import jax.numpy as jnp

import inference
import networks
from jax_networks import log_likelihood, on_device


def kernel(preset, images, labels, size):
    def log_density(parameters):
        prior = -0.5 * sum(jnp.square(value).sum() for value in parameters.values())
        return log_likelihood(preset, parameters, images, labels) + prior

    count = sum(math.prod(shape) for shape in networks.tensor_shapes(preset).values())
    return blackjax.hmc(log_density, size, jnp.ones(count), inference.LEAPFROG_STEPS)


def case():
    preset = inference.HMC_PRESET
    images, labels = inference.data(preset, inference.HMC_IMAGES)
    hmc = kernel(preset, jnp.asarray(images), jnp.asarray(labels), inference.LEAPFROG_SIZE)
    advance = jax.jit(hmc.step)
    current = [jax.random.key(0), hmc.init(on_device(networks.initial_parameters(preset)))]

    def call():
        key, own = jax.random.split(current[0])
        state, _ = advance(own, current[1])
        current[:] = key, jax.block_until_ready(state)

    return call


def check(case):
    """The difference between one proposal from a golden file and the formulas."""
    hmc = kernel(case.preset, case.images, case.labels, inference.CHECKED_LEAPFROG_SIZE)
    _, info = jax.device_get(jax.jit(hmc.step)(jax.random.key(0), hmc.init(on_device(case.parameters))))
    end = info.proposal
    momentum = {name: -value for name, value in end.momentum.items()}  # BlackJAX turns it round at the end
    return inference.trajectory_difference(case, info.momentum, end.position, momentum, end.logdensity)
