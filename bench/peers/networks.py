"""The networks that are timed, as plain data: presets, tensor names and shapes, first parameters, images and labels."""

import functools
import math

import numpy as np

RESNET20 = {"preset": "resnet", "input": "32x32x3", "classes": 10, "depth": 20, "width": 1, "shortcut": "projection"}
PRESETS = {
    "mlp": {"preset": "mlp", "input": "28x28x1", "classes": 10, "hidden": [512, 512, 512], "activation": "relu"},
} | {f"resnet20-{kind}": RESNET20 | {"normalisation": kind} for kind in ("none", "frn", "layer")}

GRADIENT_BATCH = {"mlp": 500, "resnet": 128}
LOGITS_IMAGES = 10_000
# (rows, depth, columns), and which factor is stored transposed.
PRODUCTS = {
    "sgemm": (2048, 2048, 2048, None),
    "forward": (500, 784, 512, None),
    "input-gradient": (500, 512, 512, "b"),
    "weight-gradient": (784, 500, 512, "a"),
}
NORMALS = 1_000_000
EPSILON = 1e-6


def image_shape(preset):
    """(h, w, c)"""
    return tuple(map(int, preset["input"].split("x")))


def blocks(preset):
    """The residual blocks in order: (name, stride, input channels, output channels)."""
    inputs = 16 * preset["width"]
    for stage in range(3):
        channels = (16 << stage) * preset["width"]
        for block in range((preset["depth"] - 2) // 6):
            yield f"stage{stage + 1}.block{block + 1}", 2 if stage > 0 and block == 0 else 1, inputs, channels
            inputs = channels


def tensor_shapes(preset):
    """Name to shape, in the order of the layout; dense weights are (in, out), those of convolutions HWIO."""
    shapes = {}

    def dense(name, inputs, units):
        shapes.update({f"{name}.weight": (inputs, units), f"{name}.bias": (units,)})
        return units

    def conv_norm(conv, norm, kernel, inputs, channels):
        shapes[f"{conv}.weight"] = (kernel, kernel, inputs, channels)
        if preset["normalisation"] != "layer":
            shapes[f"{conv}.bias"] = (channels,)
        roles = {"none": [], "layer": ["gamma", "beta"], "frn": ["gamma", "beta", "tau"]}
        for role in roles[preset["normalisation"]]:
            shapes[f"{norm}.{role}"] = (channels,)

    if preset["preset"] == "mlp":
        width = math.prod(image_shape(preset))
        for index, units in enumerate(preset["hidden"]):
            width = dense(f"hidden{index + 1}", width, units)
    else:
        width = 16 * preset["width"]
        conv_norm("stem", "stem.norm", 3, image_shape(preset)[2], width)
        for name, stride, inputs, width in blocks(preset):
            if stride > 1 or inputs != width:
                conv_norm(f"{name}.shortcut", f"{name}.shortcut.norm", 1, inputs, width)
            conv_norm(f"{name}.conv1", f"{name}.norm1", 3, inputs, width)
            conv_norm(f"{name}.conv2", f"{name}.norm2", 3, width, width)
    dense("head", width, preset["classes"])
    return shapes


def initial_parameters(preset):
    """He initialisation: weights N(0, 2 / fan-in), scales one, the rest zero."""
    random = np.random.default_rng(0)
    parameters = {}
    for name, shape in tensor_shapes(preset).items():
        if name.endswith(".weight"):
            std = np.float32(math.sqrt(2 / math.prod(shape[:-1])))
            parameters[name] = std * random.standard_normal(shape, np.float32)
        else:
            parameters[name] = np.full(shape, name.endswith(".gamma"), np.float32)
    return parameters


def factors(kind):
    """The two factors of a product, (rows, depth) and (depth, columns)."""
    random = np.random.default_rng(2)
    rows, depth, columns, transposed = PRODUCTS[kind]

    def factor(name, height, width):
        if name == transposed:
            return random.standard_normal((width, height), np.float32).T
        return random.standard_normal((height, width), np.float32)

    return factor("a", rows, depth), factor("b", depth, columns)


@functools.cache
def data(shape, count):
    """Normal images (count, h, w, c) and labels of ten classes (count)."""
    random = np.random.default_rng(1)
    return random.standard_normal((count, *shape), np.float32), random.integers(0, 10, count)
