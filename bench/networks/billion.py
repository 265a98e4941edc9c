"""Measures the alignment of two transformers of a billion parameters: seconds, and memory relative to the tensors' bytes.

The weights are random, in bfloat16, in sharded safetensors files. The graph is exported from a network
without values.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

import measured

# Of the bytes of both checkpoints' tensors.
TARGET = 2.5
HEAD_SIZE = 128


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads = width // HEAD_SIZE
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (part(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, layers, width, vocabulary, length=64):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make(model, folder, options):
    """The graph, and two checkpoints whose tensors are made one after the other."""
    # Its memory is never written, and so never taken.
    empty = model.to_empty(device="cpu")
    torch.export.save(torch.export.export(empty, (torch.zeros(1, 64, dtype=torch.long),)), folder / "net.pt2")
    total = 0
    for seed, name in ((1, "a"), (2, "b")):
        generator = torch.Generator().manual_seed(seed)
        (folder / name).mkdir()
        shards, shard, size = [], {}, 0
        for key, tensor in model.state_dict().items():
            scale = tensor.shape[-1] ** -0.5 if tensor.dim() > 1 else 0.1
            values = torch.randn(tensor.shape, generator=generator, dtype=torch.float32) * scale
            shard[key] = values.add_(1 if "norm" in key and key.endswith("weight") else 0).bfloat16()
            size += 2 * tensor.numel()
            if size > options.shard:
                shards.append(write(folder / name, len(shards), shard))
                total, shard, size = total + size, {}, 0
        shards.append(write(folder / name, len(shards), shard))
        total += size
        weight_map = {key: file for file, keys in shards for key in keys}
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        (folder / name / "model.safetensors.index.json").write_text(json.dumps(index))
    return total


def write(folder, number, shard):
    file = f"model-{number + 1:05}.safetensors"
    save_file(shard, folder / file)
    return file, list(shard)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onebasin", required=True, help="the program that is measured")
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--width", type=int, default=1792)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--shard", type=int, default=1 << 29, help="bytes of a shard")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--solver", default="best")
    parser.add_argument("--folder", type=pathlib.Path, help="for temporary files: 7 GB")
    options = parser.parse_args()
    with torch.device("meta"):
        model = Decoder(options.layers, options.width, options.vocabulary).bfloat16().eval()
    count = sum(parameter.numel() for parameter in model.parameters())
    folder = pathlib.Path(tempfile.mkdtemp(dir=options.folder))
    runs = []
    try:
        bytes_of_both = make(model, folder, options)
        for _ in range(options.repeats):
            load = os.getloadavg()[0]
            command = [options.onebasin, "align"]
            command += [folder / name / "model.safetensors.index.json" for name in ("a", "b")]
            command += ["--network", folder / "net.pt2", "-o", folder / "out", "--quiet", "--force"]
            result = measured.run([*command, "--threads", options.threads, "--solvers", options.solver])
            if result["code"] != 0:
                raise SystemExit(f"exit code {result['code']}: {result['text'][-2000:]}")
            member = json.loads((folder / "out/alignment.json").read_text())["members"][0]
            result["inner"], result["assignments"] = member["seconds"], member["assignments"]
            runs.append(result)
            print({key: result[key] for key in ("seconds", "inner", "assignments", "megabytes")}, f"load {load:.1f}", flush=True)
            shutil.rmtree(folder / "out")
    finally:
        shutil.rmtree(folder)
    peak = max(run["megabytes"] for run in runs) * 2**20
    print(
        f"{count / 1e6:.0f} M parameters, {bytes_of_both / 1e9:.2f} GB of tensors: "
        f"{statistics.median(run['seconds'] for run in runs):.1f} s ({statistics.median(run['inner'] for run in runs):.1f} s of them "
        f"the alignment), peak {peak / 1e9:.2f} GB, {peak / bytes_of_both:.2f} times the tensors (target {TARGET})"
    )


if __name__ == "__main__":
    main()
