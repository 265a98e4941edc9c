"""Variational inference in JAX: one whole step, of one network or two at once, and the predictive distribution.

Each is one compiled function that overwrites its state. Noise comes from the generator `rbg`: in these programs it was
faster than `threefry`, JAX's default. One array for all parameters was slower than one for each layer.
"""

import jax
import jax.numpy as jnp

import inference
import networks
from jax_networks import log_likelihood, logits, on_device

GENERATOR = "rbg"


def loss(preset, means_and_rhos, noise, images, labels):
    """-observations / batch * log-likelihood + KL(N(mean, std^2) || N(0, prior variance))"""
    mean, rho = means_and_rhos
    std = jax.tree.map(jax.nn.softplus, rho)
    sample = jax.tree.map(lambda m, s, e: m + s * e, mean, std, noise)
    fit = log_likelihood(preset, sample, images, labels) * (inference.OBSERVATIONS / len(labels))
    return sum(jax.tree.leaves(jax.tree.map(kl, mean, std))) - fit


def kl(mean, std):
    relative = jnp.square(std) / inference.PRIOR_VARIANCE
    return 0.5 * (relative + jnp.square(mean) / inference.PRIOR_VARIANCE - 1 - jnp.log(relative)).sum()


def step(preset, state, noise, images, labels):
    """state: (mean and rho, first moments, second moments, count); the next state and the loss."""
    values, first, second, count = state
    value, gradient = jax.value_and_grad(loss, argnums=1)(preset, values, noise, images, labels)
    count = count + 1
    first = jax.tree.map(lambda m, g: inference.BETA1 * m + (1 - inference.BETA1) * g, first, gradient)
    second = jax.tree.map(lambda m, g: inference.BETA2 * m + (1 - inference.BETA2) * g * g, second, gradient)
    corrections = [1 - beta**count for beta in (inference.BETA1, inference.BETA2)]

    def adam(value, first, second):
        root = jnp.sqrt(second / corrections[1]) + inference.ADAM_EPSILON
        return value - inference.LEARNING_RATE * (first / corrections[0]) / root

    return (jax.tree.map(adam, values, first, second), first, second, count), value


def state_from(start):
    return on_device(((start.mean, start.rho), start.first, start.second, jnp.float32(start.count)))


def normals(key, like):
    """One array of noise for each parameter."""
    keys = jax.random.split(key, len(like))
    return {name: jax.random.normal(own, like[name].shape) for own, name in zip(keys, like)}


def stepping(advance, state, key, batch):
    """The call that draws noise and makes one step; `advance` takes and returns (state, key)."""
    advance = jax.jit(advance, donate_argnums=(0, 1))
    batch = on_device(batch)
    current = [state, key]

    def call():
        *current[:], value = advance(*current, *batch)
        return value.block_until_ready()

    return call


def step_case(network):
    preset = networks.PRESETS[network]

    def advance(state, key, images, labels):
        key, own = jax.random.split(key)
        state, value = step(preset, state, normals(own, state[0][0]), images, labels)
        return state, key, value

    state = state_from(inference.initial(preset))
    return stepping(advance, state, jax.random.key(0, impl=GENERATOR), batch_of(preset))


def two_at_once_case(network):
    """Two trainings, each array of the one beside that of the other."""
    preset = networks.PRESETS[network]

    def advance(state, key, images, labels):
        key, own = jax.random.split(key)
        noise = normals(own, state[0][0])
        state, value = jax.vmap(lambda *one: step(preset, *one))(state, noise, images, labels)
        return state, key, value

    values, first, second, count = state_from(inference.initial(preset).twice())
    state = values, first, second, jnp.stack([count, count])
    batch = [jnp.stack([part, part]) for part in batch_of(preset)]
    return stepping(advance, state, jax.random.key(0, impl=GENERATOR), batch)


def batch_of(preset):
    return inference.data(preset, networks.GRADIENT_BATCH[preset["preset"]])


def predictive_of(preset, samples, draw):
    """The function (mean, rho, key, images) to mean probabilities under samples of the posterior, one after the other.

    All images at once: smaller batches were not faster.
    """

    def predict(mean, rho, key, images):
        std = jax.tree.map(jax.nn.softplus, rho)

        def add(total, key):
            sample = jax.tree.map(lambda m, s, e: m + s * e, mean, std, draw(key, mean))
            return total + jax.nn.softmax(logits(preset, sample, images)), None

        zeros = jnp.zeros((len(images), preset["classes"]))
        return jax.lax.scan(add, zeros, jax.random.split(key, samples))[0] / samples

    return jax.jit(predict)


def predictive_case(network, samples):
    preset = networks.PRESETS[network]
    start = inference.initial(preset)
    images, _ = inference.data(preset, networks.LOGITS_IMAGES)
    key = jax.random.key(0, impl=GENERATOR)
    mean, rho, images = on_device((start.mean, start.rho, images))
    predict = predictive_of(preset, samples, normals)
    return lambda: predict(mean, rho, key, images).block_until_ready()


def check(case):
    """The difference between one step from a golden file and the formulas."""
    before, noise = inference.checked(case)
    advance = jax.jit(lambda *arguments: step(case.preset, *arguments))
    state, _ = advance(state_from(before), on_device(noise), case.images, case.labels)
    (mean, rho), first, second, count = jax.device_get(state)
    after = inference.Variational(mean, rho, first, second, int(count))
    return inference.step_difference(case, before, noise, after)


def check_predictive(case):
    """The difference of the probabilities under one sample."""
    before, noise = inference.checked(case)
    predict = predictive_of(case.preset, 1, lambda _key, _like: on_device(noise))
    probabilities = predict(before.mean, before.rho, jax.random.key(0), case.images)
    return inference.predictive_difference(case, jax.device_get(probabilities))
