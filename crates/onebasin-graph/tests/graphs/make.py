"""Exports the networks of the tests with both exporters of PyTorch, and strips their weights.

Needs torch, torchvision, onnx and onnxscript. Writes NAME-dynamo.onnx, NAME-plain.onnx (the same exporter with optimize=False, which
leaves parameters as they are) and NAME-script.onnx next to this file (or into the folder that is given), and expected.json with the
shapes of the outputs and the parameters of each network as PyTorch has them.
Float initializers of more than 16 entries that are not equal keep their name, type and shape, and lose their entries. In large files, values between nodes
get short names and no shapes.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import onnx
import torch
import torchvision
from onnx import numpy_helper
from torch import nn

warnings.filterwarnings("ignore")
FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE}


class Block(nn.Module):
    """A residual block with batch normalisation."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + x)


class Recurrent(nn.Module):
    """A classifier of sequences: an embedding, recurrent layers, the last state."""

    def __init__(self, layer, **options):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.layer = layer(8, 12, batch_first=True, **options)
        self.head = nn.Linear(12 * (2 if options.get("bidirectional") else 1), 5)

    def forward(self, tokens):
        states, _ = self.layer(self.embed(tokens))
        return self.head(states[:, -1])


class Gpt(nn.Module):
    """A causal transformer whose embedding is also its head."""

    def __init__(self, width=24, heads=3, layers=2, vocabulary=40, context=16):
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": nn.LayerNorm(width),
                    "qkv": nn.Linear(width, 3 * width),
                    "out": nn.Linear(width, width),
                    "norm2": nn.LayerNorm(width),
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                }
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        batch, length = tokens.shape
        x = self.embed(tokens) + self.position(torch.arange(length))
        for block in self.blocks:
            q, k, v = block["qkv"](block["norm1"](x)).chunk(3, dim=-1)
            split = lambda part: part.view(batch, length, self.heads, -1).transpose(1, 2)
            y = nn.functional.scaled_dot_product_attention(split(q), split(k), split(v), is_causal=True)
            x = x + block["out"](y.transpose(1, 2).reshape(batch, length, -1))
            x = x + block["down"](nn.functional.gelu(block["up"](block["norm2"](x))))
        return self.head(self.norm(x))


class Unet(nn.Module):
    """Two scales, joined by a skip connection."""

    def __init__(self):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(8, 12, 3, padding=1), nn.GroupNorm(3, 12), nn.SiLU())
        self.up = nn.ConvTranspose2d(12, 6, 2, stride=2)
        self.join = nn.Conv2d(14, 10, 3, padding=1)
        self.smooth = nn.Upsample(scale_factor=2, mode="bilinear")
        self.out = nn.Conv2d(22, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        c = torch.relu(self.join(torch.cat([a, self.up(b)], 1)))
        return self.out(torch.cat([c, self.smooth(b)], 1))


def networks():
    """Name, network and example input of every network."""
    image = torch.randn(1, 3, 32, 32)
    tokens = torch.randint(0, 20, (1, 7))
    models = torchvision.models
    yield "mlp", nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 3)), torch.randn(1, 10)
    blocks = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), Block(8), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
    )
    yield "blocks", blocks, image
    fresh = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
    yield "fresh", fresh, image
    yield "resnet18", models.resnet18(), torch.randn(1, 3, 64, 64)
    yield "mobilenet_v3_small", models.mobilenet_v3_small(), torch.randn(1, 3, 64, 64)
    yield "densenet121", models.densenet121(), torch.randn(1, 3, 64, 64)
    yield "shufflenet_v2_x0_5", models.shufflenet_v2_x0_5(), torch.randn(1, 3, 64, 64)
    vit = models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=3, hidden_dim=24, mlp_dim=48, num_classes=10
    )
    yield "vit", vit, image
    swin = models.SwinTransformer(
        patch_size=[2, 2], embed_dim=12, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=10
    )
    yield "swin", swin, image
    yield "lstm", Recurrent(nn.LSTM, num_layers=2), tokens
    yield "gru", Recurrent(nn.GRU), tokens
    yield "rnn", Recurrent(nn.RNN), tokens
    yield "bilstm", Recurrent(nn.LSTM, num_layers=2, bidirectional=True), tokens
    yield "gpt", Gpt(), tokens
    yield "unet", Unet(), image
    transposed = nn.Sequential(
        nn.Linear(6, 32), nn.ReLU(), nn.Unflatten(1, (8, 2, 2)), nn.ConvTranspose2d(8, 6, 4, 2, 1), nn.BatchNorm2d(6),
        nn.ReLU(), nn.ConvTranspose2d(6, 4, 3, 2, 1, output_padding=1, groups=2), nn.LeakyReLU(), nn.ConvTranspose2d(4, 1, 3, 1, 1),
    )
    yield "transposed", transposed, torch.randn(1, 6)


def scatter(network):
    """Gives all parameters and statistics values of their own, since exporters merge equal tensors."""
    torch.manual_seed(0)
    for parameter in network.parameters():
        nn.init.normal_(parameter, 0.5, 0.1)
    for name, buffer in network.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            nn.init.uniform_(buffer, 0.5, 1.5)


def strip(graph):
    """Removes the entries of large float tensors, and what only people read."""
    for tensor in graph.initializer:
        entries = 1
        for size in tensor.dims:
            entries *= size
        if tensor.data_type in FLOATS and entries > 16 and (entries > 1024 or numpy_helper.to_array(tensor).std() > 0):
            for field in ("raw_data", "float_data", "int32_data", "double_data", "external_data", "data_location"):
                tensor.ClearField(field)
    for node in graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                strip(attribute.g)
    for value in [*graph.value_info, *graph.input, *graph.output]:
        del value.metadata_props[:]
    del graph.metadata_props[:]


def shorten(graph):
    """Gives nodes and the values between them short names, and forgets their shapes."""
    kept = {value.name for value in [*graph.input, *graph.output, *graph.initializer]}
    short = {}
    for at, node in enumerate(graph.node):
        node.name = f"n{at}"
        for names in (node.input, node.output):
            for place, name in enumerate(names):
                if name and name not in kept:
                    names[place] = short.setdefault(name, f"v{len(short)}")
    del graph.value_info[:]


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    only = sys.argv[2:]
    expected_file = folder / "expected.json"
    expected = json.loads(expected_file.read_text()) if only and expected_file.exists() else {}
    for name, network, example in networks():
        if only and name not in only:
            continue
        network.eval()
        output = network(example)
        kinds = [("script", False)] if name == "fresh" else [("dynamo", True), ("plain", True), ("script", False)]
        if name != "fresh":
            scatter(network)
        for kind, dynamo in kinds:
            with tempfile.TemporaryDirectory() as temporary:
                path = Path(temporary) / "network.onnx"
                options = {"optimize": kind == "dynamo"}
                if not dynamo:
                    options = {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
                torch.onnx.export(
                    network, (example,), str(path), dynamo=dynamo, verbose=False, opset_version=18 if dynamo else 17,
                    external_data=False, **options,
                )
                model = onnx.load(path)
            strip(model.graph)
            del model.metadata_props[:]
            for function in model.functions:
                del function.metadata_props[:]
                for node in function.node:
                    del node.metadata_props[:]
            if model.ByteSize() > 60_000:
                shorten(model.graph)
            onnx.save(model, folder / f"{name}-{kind}.onnx")
            print(name, kind, (folder / f"{name}-{kind}.onnx").stat().st_size, sorted({node.op_type for node in model.graph.node}))
        expected[name] = {
            "kinds": [kind for kind, _ in kinds],
            "output": list(output.shape),
            "parameters": {key: list(value.shape) for key, value in network.named_parameters()},
        }
    lines = [f"{json.dumps(name)}: {json.dumps(expected[name])}" for name in sorted(expected)]
    expected_file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
