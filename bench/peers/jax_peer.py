"""The JAX peer: the timed networks and their inference, compiled."""

import sys

import jax
import jax.numpy as jnp

import inference
import jax_align
import jax_hmc
import jax_vi
import networks
import serve
from jax_networks import log_likelihood, logits, on_device

LOGITS_BATCH = {"mlp": 500, "resnet": 100}  # as fast as any size tried, within noise


def gradient_of(preset):
    return jax.jit(jax.grad(lambda parameters, images, labels: log_likelihood(preset, parameters, images, labels)))


def logits_of(preset):
    return jax.jit(lambda parameters, images: logits(preset, parameters, images))


def gradient_case(network):
    preset = networks.PRESETS[network]
    batch = networks.data(networks.image_shape(preset), networks.GRADIENT_BATCH[preset["preset"]])
    arguments = on_device((networks.initial_parameters(preset), *batch))
    gradient = gradient_of(preset)
    return lambda: jax.block_until_ready(gradient(*arguments))


def logits_case(network):
    preset = networks.PRESETS[network]
    images, _ = networks.data(networks.image_shape(preset), networks.LOGITS_IMAGES)
    size = LOGITS_BATCH[preset["preset"]]
    parameters = on_device(networks.initial_parameters(preset))
    batches = [jnp.asarray(images[start : start + size]) for start in range(0, len(images), size)]
    forward = logits_of(preset)
    return lambda: jax.block_until_ready([forward(parameters, batch) for batch in batches])


def product_case(kind):
    a, b = on_device(networks.factors(kind))
    multiply = jax.jit(jnp.matmul)
    return lambda: multiply(a, b).block_until_ready()


def normals_case():
    key = jax.random.key(0)
    draw = jax.jit(lambda key: jax.random.normal(key, (networks.NORMALS,)))
    return lambda: draw(key).block_until_ready()


def build(case):
    """`normals`, `hmc`, product/kind or network/work."""
    match case.split("/"):
        case ["normals"]:
            return normals_case()
        case ["product", kind]:
            return product_case(kind)
        case [network, "gradient"]:
            return gradient_case(network)
        case [network, "logits"]:
            return logits_case(network)
        case [network, "vi"]:
            return jax_vi.step_case(network)
        case [network, "vi-two-at-once"]:
            return jax_vi.two_at_once_case(network)
        case [network, "predictive"]:
            return jax_vi.predictive_case(network, inference.SAMPLES)
        case [network, "predictive-half"]:
            return jax_vi.predictive_case(network, inference.SAMPLES // 2)
        case ["hmc"]:
            return jax_hmc.case()
        case ["align", network]:
            return jax_align.case(network)
    raise ValueError(f"jax has no case {case}")


def evaluate(preset, values, images, labels):
    """Logits and gradient as numpy arrays, for the comparison with golden values."""
    parameters = on_device(values)
    gradient = gradient_of(preset)(parameters, images, labels)
    outputs = logits_of(preset)(parameters, images)
    # jax sorts the keys of a dictionary
    return jax.device_get(outputs), {name: jax.device_get(gradient[name]) for name in values}


def differences(case):
    """Every function that is timed, against a golden file."""
    yield "jit", case.difference(*evaluate(case.preset, case.parameters, case.images, case.labels))
    yield "VI", jax_vi.check(case)
    if case.preset["preset"] == "mlp":
        yield "predictive", jax_vi.check_predictive(case)
        yield "HMC", jax_hmc.check(case)


def main():
    arguments = serve.arguments("JAX")
    if arguments.check:
        sys.exit(not serve.check(arguments.check, differences))
    serve.serve(build)


if __name__ == "__main__":
    main()
