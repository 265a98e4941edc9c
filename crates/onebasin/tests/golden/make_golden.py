#!/usr/bin/env python3
"""Computes the logits and gradients that the tests of `net` compare with, independently, in PyTorch.

Run `python make_golden.py` with torch (last run: 2.15.0) and numpy installed. It writes one `.safetensors`
file per case beside itself:

    images          f32 (n, h, w, c)
    labels          u32 (n)
    logits          f32 (n, classes)
    log_likelihood  f32 (1): the sum over the images of log softmax at the label
    grad.<tensor>   f32: the gradient of log_likelihood, one per parameter, in the order of the layout

The metadata hold `arch`, the preset as JSON, and `torch`, the version. Parameters and images are not random
but a formula (`hashed`, `parameter`), so that a reader computes them instead of loading them. All is computed
in float64 from values that float32 holds exactly, then rounded. Each case is computed in float32 as well:
if an activation lay so close to a kink that rounding decides its side, the two gradients would differ.
"""

import json
import math
import pathlib
import struct

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
BATCH = 5
IMAGE_STREAM = 1000
EPSILON = 1e-6
# Largest difference between float32 and float64 accepted, relative to the largest value of the same tensor.
FLOAT32_TOLERANCE = 2e-5

MLP = {"preset": "mlp", "input": "8x8x1", "classes": 10}
CASES = {
    "mlp-relu": MLP | {"hidden": [17, 13], "activation": "relu"},
    "mlp-tanh": MLP | {"hidden": [17, 13], "activation": "tanh"},
    "mlp-linear": MLP | {"hidden": [], "activation": "relu"},
    "cnn-max": {
        "preset": "cnn", "input": "9x7x3", "classes": 10,
        "stack": ["5", "max", "18/2", "20"], "hidden": [11], "activation": "relu",
    },
    "cnn-average": {
        "preset": "cnn", "input": "7x11x2", "classes": 6,
        "stack": ["6", "average", "19/2"], "hidden": [], "activation": "tanh",
    },
} | {
    f"resnet-{normalisation}-{shortcut}": {
        "preset": "resnet", "input": "9x8x3", "classes": 10, "depth": 8, "width": 1,
        "normalisation": normalisation, "shortcut": shortcut,
    }
    for normalisation in ("none", "layer", "frn")
    for shortcut in ("projection", "padded")
}


def hashed(stream, count):
    """`count` values in [-0.5, 0.5): murmur3's 32-bit finaliser of stream * 0x9E3779B9 + index."""
    h = (np.arange(count, dtype=np.uint64) + stream * 0x9E3779B9).astype(np.uint32)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h *= np.uint32(0xC2B2AE35)
    h ^= h >> np.uint32(16)
    return h / 2.0**32 - 0.5


def parameter(index, name, shape):
    """The float32 values of tensor number `index` of a layout; its role is the last part of its name."""
    u = hashed(index, math.prod(shape))
    role = name.rsplit(".", 1)[1]
    if role == "weight":
        values = u * math.sqrt(24 / math.prod(shape[:-1]))
    elif role == "gamma":
        values = 1 + 0.4 * u
    else:
        values = 0.2 * u
    return values.astype(np.float32).reshape(shape)


class Network:
    """A preset as a function of images (n, h, w, c); makes its parameters as the first pass asks for them."""

    def __init__(self, preset, dtype):
        self.preset = preset
        self.dtype = dtype
        self.parameters = {}

    def tensor(self, layer, role, *shape):
        name = f"{layer}.{role}"
        values = torch.from_numpy(parameter(len(self.parameters), name, shape)).to(self.dtype)
        self.parameters[name] = values.requires_grad_()
        return values

    def logits(self, images):
        return getattr(self, self.preset["preset"])(images)

    def activate(self, x):
        return {"relu": torch.relu, "tanh": torch.tanh}[self.preset["activation"]](x)

    def dense(self, layer, x, units):
        weight = self.tensor(layer, "weight", x.shape[1], units)
        return x @ weight + self.tensor(layer, "bias", units)

    def dense_layers(self, x):
        for index, units in enumerate(self.preset["hidden"]):
            x = self.activate(self.dense(f"hidden{index + 1}", x, units))
        return self.dense("head", x, self.preset["classes"])

    def conv(self, layer, x, kernel, stride, channels, with_bias=True):
        weight = self.tensor(layer, "weight", kernel, kernel, x.shape[3], channels)
        bias = self.tensor(layer, "bias", channels) if with_bias else None
        y = F.conv2d(x.permute(0, 3, 1, 2), weight.permute(3, 2, 0, 1), bias, stride, kernel // 2)
        return y.permute(0, 2, 3, 1)

    def mlp(self, x):
        return self.dense_layers(x.flatten(1))

    def cnn(self, x):
        pools = {"max": F.max_pool2d, "average": F.avg_pool2d}
        convolutions = 0
        for stage in self.preset["stack"]:
            if stage in pools:
                x = pools[stage](x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)
            else:
                convolutions += 1
                channels, _, stride = stage.partition("/")
                x = self.activate(self.conv(f"conv{convolutions}", x, 3, int(stride or 1), int(channels)))
        return self.dense_layers(x.flatten(1))

    def resnet(self, x):
        x = torch.relu(self.conv_norm("stem", "stem.norm", x, 3, 1, 16 * self.preset["width"]))
        for stage in range(3):
            channels = (16 << stage) * self.preset["width"]
            for block in range((self.preset["depth"] - 2) // 6):
                stride = 2 if stage > 0 and block == 0 else 1
                x = self.residual_block(f"stage{stage + 1}.block{block + 1}", x, stride, channels)
        return self.dense("head", x.mean((1, 2)), self.preset["classes"])

    def residual_block(self, name, x, stride, channels):
        if stride == 1 and x.shape[3] == channels:
            shortcut = x
        elif self.preset["shortcut"] == "projection":
            shortcut = self.conv_norm(f"{name}.shortcut", f"{name}.shortcut.norm", x, 1, stride, channels)
        else:
            shortcut = F.pad(x[:, ::stride, ::stride, :], (0, channels - x.shape[3]))
        inner = torch.relu(self.conv_norm(f"{name}.conv1", f"{name}.norm1", x, 3, stride, channels))
        outer = self.conv_norm(f"{name}.conv2", f"{name}.norm2", inner, 3, 1, channels)
        return torch.relu(shortcut + outer)

    def conv_norm(self, conv_name, norm_name, x, kernel, stride, channels):
        normalisation = self.preset["normalisation"]
        x = self.conv(conv_name, x, kernel, stride, channels, with_bias=normalisation != "layer")
        if normalisation == "none":
            return x
        gamma = self.tensor(norm_name, "gamma", channels)
        beta = self.tensor(norm_name, "beta", channels)
        if normalisation == "layer":
            centred = x - x.mean(3, keepdim=True)
            variance = centred.square().mean(3, keepdim=True)
            return centred / torch.sqrt(variance + EPSILON) * gamma + beta
        tau = self.tensor(norm_name, "tau", channels)
        power = x.square().mean((1, 2), keepdim=True)
        return torch.maximum(x / torch.sqrt(power + EPSILON) * gamma + beta, tau)


def compute(preset, dtype):
    """All tensors of a case as numpy arrays, computed in `dtype`."""
    shape = [BATCH, *map(int, preset["input"].split("x"))]
    images = (3 * hashed(IMAGE_STREAM, math.prod(shape))).astype(np.float32).reshape(shape)
    labels = (7 * np.arange(BATCH) + 3) % preset["classes"]
    network = Network(preset, dtype)
    logits = network.logits(torch.from_numpy(images).to(dtype))
    log_likelihood = -F.cross_entropy(logits, torch.from_numpy(labels), reduction="sum")
    gradients = torch.autograd.grad(log_likelihood, list(network.parameters.values()))
    tensors = {
        "images": images,
        "labels": labels.astype(np.uint32),
        "logits": logits.detach().numpy(),
        "log_likelihood": log_likelihood.detach().reshape(1).numpy(),
    }
    return tensors | {f"grad.{name}": g.numpy() for name, g in zip(network.parameters, gradients)}


def largest_difference(reference, other):
    """The largest difference between the computed tensors, relative to each tensor's largest value."""
    return max(
        np.abs(other[name] - values).max() / np.abs(values).max()
        for name, values in reference.items()
        if values.dtype == np.float64
    )


def write_safetensors(path, tensors, metadata):
    """The format: length of the header (u64), header (JSON), the tensors' bytes in the order of the header."""
    header, blobs, offset = {"__metadata__": metadata}, [], 0
    for name, values in tensors.items():
        values = values if values.dtype == np.uint32 else values.astype("<f4")
        blob = np.ascontiguousarray(values).tobytes()
        header[name] = {
            "dtype": "U32" if values.dtype == np.uint32 else "F32",
            "shape": list(values.shape),
            "data_offsets": [offset, offset + len(blob)],
        }
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    for case, preset in CASES.items():
        tensors = compute(preset, torch.float64)
        difference = largest_difference(tensors, compute(preset, torch.float32))
        assert difference < FLOAT32_TOLERANCE, f"{case}: float32 differs by {difference:.1e}: a value lies on a kink"
        path = HERE / f"{case}.safetensors"
        write_safetensors(path, tensors, {"arch": json.dumps(preset), "torch": torch.__version__})
        print(f"{path.name}: {path.stat().st_size:,} bytes, float32 differs by {difference:.1e}")


if __name__ == "__main__":
    main()
