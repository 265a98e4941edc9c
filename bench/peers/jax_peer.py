"""The JAX peer: the timed networks, compiled, in the layouts that `onebasin` uses as well."""

import os
import sys

import networks
import serve

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # read when jax is imported

import jax
import jax.numpy as jnp

LOGITS_BATCH = {"mlp": 500, "resnet": 100}  # as fast as any size tried, within noise


def log_likelihood(preset, parameters, images, labels):
    """Sum over the batch of log softmax at the label."""
    log_probabilities = jax.nn.log_softmax(logits(preset, parameters, images))
    return jnp.take_along_axis(log_probabilities, labels[:, None], axis=1).sum()


def logits(preset, p, x):
    """x: (n, h, w, c)"""
    if preset["preset"] == "mlp":
        x = x.reshape(x.shape[0], -1)
        for index in range(len(preset["hidden"])):
            x = jax.nn.relu(x @ p[f"hidden{index + 1}.weight"] + p[f"hidden{index + 1}.bias"])
    else:
        x = jax.nn.relu(conv_norm(preset, p, "stem", "stem.norm", x, 1))
        for name, stride, inputs, channels in networks.blocks(preset):
            x = residual_block(preset, p, name, x, stride, stride > 1 or inputs != channels)
        x = x.mean((1, 2))
    return x @ p["head.weight"] + p["head.bias"]


def residual_block(preset, p, name, x, stride, projected):
    shortcut = x
    if projected:
        shortcut = conv_norm(preset, p, f"{name}.shortcut", f"{name}.shortcut.norm", x, stride)
    inner = jax.nn.relu(conv_norm(preset, p, f"{name}.conv1", f"{name}.norm1", x, stride))
    return jax.nn.relu(shortcut + conv_norm(preset, p, f"{name}.conv2", f"{name}.norm2", inner, 1))


def conv_norm(preset, p, conv, norm, x, stride):
    weight = p[f"{conv}.weight"]
    padding = [(weight.shape[0] // 2,) * 2] * 2
    x = jax.lax.conv_general_dilated(x, weight, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    if preset["normalisation"] == "layer":
        centred = x - x.mean(3, keepdims=True)
        variance = jnp.square(centred).mean(3, keepdims=True)
        return centred * jax.lax.rsqrt(variance + networks.EPSILON) * p[f"{norm}.gamma"] + p[f"{norm}.beta"]
    x = x + p[f"{conv}.bias"]
    if preset["normalisation"] == "frn":
        power = jnp.square(x).mean((1, 2), keepdims=True)
        scale = jax.lax.rsqrt(power + networks.EPSILON) * p[f"{norm}.gamma"]
        x = jnp.maximum(x * scale + p[f"{norm}.beta"], p[f"{norm}.tau"])
    return x


def gradient_of(preset):
    return jax.jit(jax.grad(lambda parameters, images, labels: log_likelihood(preset, parameters, images, labels)))


def logits_of(preset):
    return jax.jit(lambda parameters, images: logits(preset, parameters, images))


def on_device(tree):
    return jax.tree.map(jnp.asarray, tree)


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
    """`normals`, product/kind, network/gradient or network/logits."""
    match case.split("/"):
        case ["normals"]:
            return normals_case()
        case ["product", kind]:
            return product_case(kind)
        case [network, "gradient"]:
            return gradient_case(network)
        case [network, "logits"]:
            return logits_case(network)
    raise ValueError(f"jax has no case {case}")


def evaluate(preset, values, images, labels, _variant):
    """Logits and gradient as numpy arrays, for the comparison with golden values."""
    parameters = on_device(values)
    gradient = gradient_of(preset)(parameters, images, labels)
    outputs = logits_of(preset)(parameters, images)
    # jax sorts the keys of a dictionary
    return jax.device_get(outputs), {name: jax.device_get(gradient[name]) for name in values}


def main():
    arguments = serve.arguments("JAX")
    if arguments.check:
        sys.exit(not serve.check(arguments.check, evaluate, lambda preset: ["jit"]))
    serve.serve(build)


if __name__ == "__main__":
    main()
