"""The posteriors whose alignment is timed, and which permutation acts on which axis of their tensors."""

import math

import numpy as np

import networks

# Of every parameter: the mean of its standard deviations, and how much they vary.
STD = 0.01
STD_SPREAD = 0.3


def preset(name):
    """`mlp`, or `resnet20-frn` and its width, such as `resnet20-frn-x4`."""
    base, _, width = name.partition("-x")
    return networks.PRESETS[base] | ({"width": int(width)} if width else {})


def noise(seed, part, start, count):
    """`count` numbers of variance one from a hash of their index: sums of four uniform ones, the same in every language."""
    with np.errstate(over="ignore"):
        hashed = np.arange(start, start + count, dtype=np.uint64)
        hashed += np.uint64((seed * 4 + part) << 40)
        hashed *= np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            hashed ^= hashed >> np.uint64(shift)
            hashed *= np.uint64(factor)
        hashed ^= hashed >> np.uint64(31)
    parts = hashed.view(np.uint16).reshape(-1, 4).sum(1, dtype=np.int64)
    return np.float32((parts - 2 * 65535) * (math.sqrt(3) / 65535))


def posterior(preset, seed):
    """Name to (mean, standard deviation): independent noise around He initialisation's."""
    posterior, start = {}, 0
    for name, shape in networks.tensor_shapes(preset).items():
        count = math.prod(shape)
        fan_in = math.prod(shape[:-1]) if name.endswith(".weight") else shape[-1]
        scale = np.float32(math.sqrt(2 / fan_in))
        mean = scale * noise(seed, 0, start, count)
        std = np.float32(STD) * (1 + np.float32(STD_SPREAD) * noise(seed, 1, start, count)).clip(np.float32(0.1))
        posterior[name] = mean.reshape(shape), std.reshape(shape)
        start += count
    return posterior


def spec(preset):
    """Name to the permutation of each axis, None where there is none."""
    axes = {}

    def units(conv, norm, inputs, outputs):
        axes[f"{conv}.weight"] = (None, None, inputs, outputs)
        for tensor in (f"{conv}.bias", *(f"{norm}.{role}" for role in ("gamma", "beta", "tau"))):
            axes[tensor] = (outputs,)

    if preset["preset"] == "mlp":
        last = None
        for index in range(len(preset["hidden"])):
            here = f"hidden{index + 1}"
            axes |= {f"{here}.weight": (last, here), f"{here}.bias": (here,)}
            last = here
    else:
        last = "stem"
        units("stem", "stem.norm", None, last)
        for name, stride, _, _ in networks.blocks(preset):
            stream = name.removesuffix(".block1") if stride > 1 else last
            if stride > 1:
                units(f"{name}.shortcut", f"{name}.shortcut.norm", last, stream)
            units(f"{name}.conv1", f"{name}.norm1", last, f"{name}.inner")
            units(f"{name}.conv2", f"{name}.norm2", f"{name}.inner", stream)
            last = stream
    axes |= {"head.weight": (last, None), "head.bias": (None,)}
    return {name: axes[name] for name in networks.tensor_shapes(preset)}
