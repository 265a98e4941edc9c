"""Permutes the units of real networks as the reader says, and compares what they compute: python verify.py [NAME ...].

Every network of make.py, and every operator below between two layers, is exported with random weights of 64 bits. The weights
are permuted by random permutations of all groups, and the outputs must stay. Build the example first:
cargo build -p onebasin-graph --example pt2
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import torch
import torch.nn.functional as F
from torch import nn

import make

PROGRAM = pathlib.Path(__file__).parents[4] / "target/debug/examples/pt2"


def symmetry(path):
    """Groups and tensors of a file."""
    result = subprocess.run([PROGRAM, path], env={**os.environ, "VERBOSE": "1"}, capture_output=True, text=True, check=True)
    return tomllib.loads(result.stdout[result.stdout.index("# Which"):])


def segments(text, groups):
    """(group, units, repeat, blocks) of an axis such as `-8 + 4 * units * 49`; no group for indices that stay."""
    for part in text.replace("'", "").split(" + "):
        if part.startswith("-"):
            yield None, int(part[1:] or 0), 1, 1
            continue
        factors = part.split(" * ")
        at = next(at for at, factor in enumerate(factors) if factor in groups)
        blocks, repeat = (int(factors[at - 1]) if at else 1), (int(factors[at + 1]) if at + 1 < len(factors) else 1)
        yield factors[at], groups[factors[at]]["units"], repeat, blocks


def permutation(name, groups, known, random):
    """A random permutation of a group; one within another permutes blocks as that does."""
    if name not in known:
        outer = groups[name].get("within")
        if outer:
            blocks = permutation(outer, groups, known, random)
            each = groups[name]["units"] // len(blocks)
            known[name] = torch.cat([block * each + torch.randperm(each, generator=random) for block in blocks])
        else:
            known[name] = torch.randperm(groups[name]["units"], generator=random)
    return known[name]


def permute(network, found, random):
    groups, known, state = {group["name"]: group for group in found["groups"]}, {}, network.state_dict()
    for tensor in found["tensors"]:
        own = state[tensor["name"]]
        value = own.reshape(tensor["shape"]).clone()
        for axis, text in enumerate(tensor["axes"]):
            index, start = torch.arange(value.shape[axis]), 0
            for name, units, repeat, blocks in segments(text, groups):
                if name:
                    places = torch.arange(blocks * units * repeat).view(blocks, units, repeat)
                    places = places[:, permutation(name, groups, known, random)].reshape(-1)
                    index[start:start + len(places)] = start + places
                start += blocks * units * repeat
            value = value.index_select(axis, index)
        own.copy_(value.reshape(own.shape))


@torch.no_grad()
def check(name, network, example):
    random = torch.Generator().manual_seed(1)
    for key, value in network.state_dict().items():
        if value.is_floating_point():
            scale = value[0].numel() ** -0.5 if value.dim() > 1 else 0.5
            value.copy_(torch.randn(value.shape, generator=random) * scale)
            if key.endswith("running_var"):
                value.abs_().add_(0.2)
    network = network.eval().double()
    if example.is_floating_point():
        example = torch.randn(example.shape, generator=random, dtype=torch.float64)
    else:
        example = torch.randint(0, 30, example.shape, generator=random)
    with tempfile.TemporaryDirectory() as folder:
        torch.export.save(torch.export.export(network, (example,)), f"{folder}/network.pt2")
        found = symmetry(f"{folder}/network.pt2")
    before = network(example)
    permute(network, found, random)
    error = ((network(example) - before).abs().max() / before.abs().max()).item()
    print(f"{name}: {len(found['groups'])} groups, relative error {error:.1e}", "" if error < 1e-9 else "WRONG", flush=True)
    return error < 1e-9


class Between(nn.Module):
    """A layer, an operator, and a layer."""

    def __init__(self, function, inner, example):
        super().__init__()
        self.function, self.inner = function, inner
        self.first = nn.Conv2d(3, 8, 3, padding=1) if example.dim() == 4 else nn.Linear(5, 8)
        self.second = nn.Linear(self.middle(example).numel() // len(example), 4)

    def middle(self, x):
        hidden = torch.tanh(self.first(x))
        result = self.function(hidden, self.inner) if self.inner else self.function(hidden)
        return torch.view_as_real(result) if result.is_complex() else result

    def forward(self, x):
        return self.second(self.middle(x).flatten(1).to(self.second.weight.dtype))


def assigned(h):
    h = h.clone()
    h[:, :, 2:5].mul_(2.0)
    h[:, 1][:, 2] = 5.0
    return h.relu_()


def viewed(h):
    h = h.clone()
    h.view(2, -1)[:, 3].zero_()
    return h


IMAGES = {
    "max_pool2d": lambda h: F.max_pool2d(h, 2), "adaptive": lambda h: F.adaptive_avg_pool2d(h, (3, 2)),
    "response_norm": lambda h: F.local_response_norm(h, 3), "instance_norm": F.instance_norm,
    "pixel_shuffle": lambda h: F.pixel_shuffle(h, 2), "pixel_unshuffle": lambda h: F.pixel_unshuffle(h, 2),
    "channel_shuffle": lambda h: F.channel_shuffle(h, 2), "interpolate": lambda h: F.interpolate(h, size=(9, 9), mode="bicubic"),
    "pad": lambda h: F.pad(h, (1, 2, 0, 1, 1, 2)), "negative_pad": lambda h: F.pad(h, (0, 0, 0, 0, -1, -2)),
    "reflect": lambda h: F.pad(h, (1, 1, 1, 1), mode="reflect"), "unfold": lambda h: F.unfold(h, 2),
    "windows": lambda h: h.unfold(1, 2, 2), "grid": lambda h: F.grid_sample(h, h.new_zeros(2, 3, 3, 2), align_corners=False),
    "softmax": lambda h: h.softmax(1), "cumsum": lambda h: h.cumsum(1), "flip": lambda h: h.flip(1), "roll": lambda h: h.roll(3),
    "roll_axes": lambda h: h.roll((1, 2), (2, 3)), "sort": lambda h: h.sort(1)[0], "topk": lambda h: h.topk(3, dim=1)[0],
    "argmax": lambda h: h.argmax(1), "amax": lambda h: h.amax((2, 3)), "max": lambda h: h.max(1)[0], "var": lambda h: h.var((1, 2)),
    "var_mean": lambda h: torch.cat(torch.var_mean(h, 1), 1), "normalize": lambda h: F.normalize(h, dim=1),
    "logsumexp": lambda h: h.logsumexp(1), "median": lambda h: h.median(1)[0], "every_second": lambda h: h[:, 1::2],
    "every_third": lambda h: h[:, ::3], "slice": lambda h: h[:, 2:6], "select": lambda h: h[:, 3], "list": lambda h: h[:, [3, 1, 0, 7]],
    "two_lists": lambda h: h[:, [0, 1], [2, 3]], "far_lists": lambda h: h[:, [0, 1], :, [2, 3]], "glu": lambda h: F.glu(h, 1),
    "mask": lambda h: h[:, torch.tensor([True, False] * 4)], "split": lambda h: torch.cat(h.split([3, 5], 1)[::-1], 1),
    "chunks": lambda h: torch.mul(*h.chunk(2, 1)), "unbind": lambda h: sum(h.unbind(1)),
    "stack": lambda h: torch.stack([h, h * 2], 1).flatten(1, 2), "interleave": lambda h: torch.stack([h, h * 2], 2).flatten(1, 2),
    "repeat": lambda h: h.repeat(1, 2, 1, 1), "repeat_interleave": lambda h: h.repeat_interleave(2, 1), "tile": lambda h: h.tile(2, 3),
    "movedim": lambda h: h.movedim(1, -1), "heads": lambda h: h.reshape(2, 4, 12, 6).softmax(1),
    "einsum": lambda h: torch.einsum("bchw,bdhw->bcd", h, h), "ellipsis": lambda h: torch.einsum("...chw,chw->...c", h, h[0]),
    "diagonal": lambda h: torch.einsum("bii->bi", h.flatten(2) @ h.flatten(2).mT), "cdist": lambda h: torch.cdist(h.flatten(2), h.flatten(2)),
    "tensordot": lambda h: torch.tensordot(h, h[0], dims=([1, 2], [0, 1])), "tril": lambda h: (h.flatten(2) @ h.flatten(2).mT).tril(),
    "where": lambda h: torch.where(h > 0, h, h * 2), "constant": lambda h: h * torch.arange(8.0)[:, None, None],
    "columns": lambda h: h * torch.arange(6.0), "fft": lambda h: torch.fft.fft(h, dim=1),
    "gather": lambda h: h.gather(1, torch.zeros(2, 2, 6, 6, dtype=torch.int64)), "index_select": lambda h: h.index_select(1, torch.tensor([4, 2])),
    "scatter": lambda h: h.scatter(1, torch.zeros(2, 1, 6, 6, dtype=torch.int64), 1.0), "assigned": assigned, "viewed": viewed,
}

LAYERS = {
    "prelu": (nn.PReLU(8), (2, 3, 6, 6)), "group_norm": (nn.GroupNorm(4, 8), (2, 3, 6, 6)),
    "instance_affine": (nn.InstanceNorm2d(8, affine=True), (2, 3, 6, 6)), "groups": (nn.Conv2d(8, 12, 3, groups=4), (2, 3, 6, 6)),
    "depthwise": (nn.Conv2d(8, 16, 3, groups=8), (2, 3, 6, 6)), "transposed": (nn.ConvTranspose2d(8, 6, 2, groups=2), (2, 3, 6, 6)),
    "shuffled": (nn.Sequential(nn.Conv2d(8, 8, 1, groups=2), nn.ChannelShuffle(2), nn.Conv2d(8, 8, 1, groups=2)), (2, 3, 6, 6)),
    "encoder_first": (nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, norm_first=True), (2, 6, 5)),
    "layer_norm": (nn.LayerNorm([6, 8]), (2, 6, 5)), "rms_norm": (nn.RMSNorm(8), (2, 6, 5)), "batch_norm1d": (nn.BatchNorm1d(6), (2, 6, 5)),
    "weight_norm": (nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)), (2, 6, 5)),
}


def main():
    cases = {name: (build, make.example(shape)) for name, (build, shape) in make.NETWORKS.items()}
    for name, function in IMAGES.items():
        cases[name] = (lambda function=function: Between(function, None, torch.zeros(2, 3, 6, 6)), torch.zeros(2, 3, 6, 6))
    for name, (layer, shape) in LAYERS.items():
        build = lambda layer=layer, shape=shape: Between(lambda h, layer: torch.relu(layer(h)), layer, torch.zeros(shape))
        cases[name] = (build, torch.zeros(shape))
    chosen = sys.argv[1:] or cases
    wrong = [name for name in chosen if not check(name, cases[name][0](), cases[name][1])]
    sys.exit(f"wrong: {wrong}" if wrong else 0)


if __name__ == "__main__":
    main()
