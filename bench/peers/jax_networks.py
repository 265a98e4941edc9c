"""The timed networks in JAX, in the layouts that `onebasin` uses as well."""

import jax
import jax.numpy as jnp

import networks

jax.config.update("jax_platforms", "cpu")


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


def on_device(tree):
    return jax.tree.map(jnp.asarray, tree)
