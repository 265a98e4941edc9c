"""Exports small networks by torch.export, and strips their weights: python make.py [--only NAME] [--suffix SUFFIX].

A stripped archive has the graph, where tensors are stored and the constants, but no weights. Made with PyTorch 2.15 and
torchvision 0.29; those of the suffixes 2.6 and 2.8 with these versions of PyTorch.
"""

import argparse
import io
import json
import pathlib
import tempfile
import zipfile

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

HERE = pathlib.Path(__file__).parent


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 10))


class Residual(nn.Module):
    """Convolutions with batch normalisation, group normalisation and a squeeze-and-excitation."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(inplace=True))
        self.conv1, self.norm1 = nn.Conv2d(12, 20, 3, padding=1), nn.BatchNorm2d(20)
        self.conv2, self.norm2 = nn.Conv2d(20, 12, 3, padding=1), nn.GroupNorm(3, 12)
        self.squeeze, self.excite = nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1)
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        y = self.norm2(self.conv2(F.leaky_relu(self.norm1(self.conv1(x)), 0.1, inplace=True)))
        y = y * torch.sigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        x += y
        return self.head(F.max_pool2d(x, 2).mean((2, 3)))


class Recurrent(nn.Module):
    """A recurrent layer, and a classifier of its last output."""

    def __init__(self, layer):
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.layer = layer
        self.head = nn.Linear(layer.hidden_size * (2 if layer.bidirectional else 1), 5)

    def forward(self, tokens):
        return self.head(self.layer(self.embed(tokens))[0][:, -1])


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (t.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """A language model whose embedding is also its last layer."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(40, 16), nn.Embedding(12, 16)
        self.blocks = nn.Sequential(Block(16, 4), Block(16, 4))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 40, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1])
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.positions(positions))))


class Rotary(nn.Module):
    """Attention with shared keys and values, rotary positions, root-mean-square normalisation and a gated layer."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(40, 16), nn.RMSNorm(16)
        self.q, self.kv, self.out = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in [(16, 24), (16, 24), (24, 16)])
        angles = torch.outer(torch.arange(10.0), 1 / 100 ** (torch.arange(0, 4, 2) / 4))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos(), persistent=False)
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin(), persistent=False)

    def turn(self, x):
        first, second = x.chunk(2, dim=-1)
        return x * self.cos + torch.cat([-second, first], -1) * self.sin

    def forward(self, tokens):
        x = self.embed(tokens)
        batch, time, _ = x.shape
        y = self.norm(x)
        q = self.turn(self.q(y).view(batch, time, 4, 4).transpose(1, 2))
        k, v = self.kv(y).view(batch, time, 2, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        mask = torch.full((time, time), float("-inf")).triu(1)
        y = F.scaled_dot_product_attention(q, self.turn(k), v, attn_mask=mask[None, None], enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, time, 16))
        with torch.no_grad():
            scale = x.abs().amax()
        return x + self.down(F.silu(self.gate(x)) * self.up(x)) / scale


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1)
        self.middle, self.up2 = nn.Conv2d(12, 16, 3, padding=1), nn.ConvTranspose2d(16, 12, 2, stride=2)
        self.join2, self.join1 = nn.Conv2d(24, 10, 3, padding=1), nn.Conv2d(18, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.elu(self.down2(F.max_pool2d(a, 2)))
        c = F.silu(self.middle(F.avg_pool2d(b, 2)))
        b = F.relu(self.join2(torch.cat([b, self.up2(c)], 1)))
        a = F.relu(self.join1(torch.cat([a, F.interpolate(b, scale_factor=2.0, mode="bilinear")], 1)))
        return self.head(F.pad(a, (1, 1, 1, 1)))


def vit():
    return torchvision.models.VisionTransformer(
        image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=24, num_classes=10
    )


def swin():
    return torchvision.models.SwinTransformer(
        patch_size=[2, 2], embed_dim=8, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=10
    )


def torchvision_model(name, **settings):
    return torchvision.models.get_model(name, weights=None, num_classes=10, **settings)


IMAGE, TOKENS = (2, 3, 64, 64), "tokens"

NETWORKS = {
    "mlp": (Mlp, (4, 1, 8, 8)),
    "residual": (Residual, (2, 3, 8, 8)),
    "resnet18": (lambda: torchvision_model("resnet18"), IMAGE),
    "mobilenet_v3_small": (lambda: torchvision_model("mobilenet_v3_small"), IMAGE),
    "densenet121": (lambda: torchvision_model("densenet121"), IMAGE),
    "shufflenet_v2_x0_5": (lambda: torchvision_model("shufflenet_v2_x0_5"), IMAGE),
    "googlenet": (lambda: torchvision_model("googlenet", init_weights=False, aux_logits=False), IMAGE),
    "vit": (vit, (2, 3, 16, 16)),
    "swin": (swin, (1, 3, 32, 32)),
    "lstm": (lambda: Recurrent(nn.LSTM(8, 12, batch_first=True)), TOKENS),
    "gru": (lambda: Recurrent(nn.GRU(8, 12, num_layers=2, batch_first=True)), TOKENS),
    "bilstm": (lambda: Recurrent(nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=True)), TOKENS),
    "gpt": (Gpt, TOKENS),
    "rotary": (Rotary, TOKENS),
    "unet": (Unet, (2, 3, 16, 16)),
    "encoder": (lambda: nn.TransformerEncoderLayer(16, 4, 24, batch_first=True), (2, 6, 16)),
}

# Those that are also exported after their decomposition into core operators.
DECOMPOSED = ["residual", "rotary", "gpt", "bilstm", "encoder", "unet"]


def without_traces(graph):
    """Keeps of the metadata of nodes only the modules that they are in."""
    for node in graph["nodes"]:
        node["metadata"] = {key: value for key, value in node["metadata"].items() if key == "nn_module_stack"}
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                without_traces(argument["arg"]["as_graph"]["graph"])


def pickles_only(data):
    """The archive of a state dict without the bytes of its tensors."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in old.namelist():
            if name.endswith("data.pkl"):
                new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def strip(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in old.namelist():
            data, method = old.read(name), zipfile.ZIP_DEFLATED
            tail = name.split("/", 1)[-1]
            if name.endswith(".json") and ("models/" in name or "serialized" in name):
                program = json.loads(data)
                without_traces(program["graph_module"]["graph"])
                program["graph_module"]["module_call_graph"] = []
                data = json.dumps(program, separators=(",", ":")).encode()
            elif name.endswith("state_dict.pt") or tail == "data/weights/model.pt":
                data, method = pickles_only(data), zipfile.ZIP_STORED
            elif name.endswith("constants.pt") or tail == "data/constants/model.pt":
                method = zipfile.ZIP_STORED
            elif not name.endswith(".json") and "data/constants/" not in name and not name.endswith("byteorder"):
                continue
            new.writestr(zipfile.ZipInfo(name), data, method, 9)


def example(shape):
    return torch.zeros(2, 10, dtype=torch.int64) if shape == TOKENS else torch.zeros(shape)


def save(name, program, suffix, folder):
    source = pathlib.Path(folder) / "network.pt2"
    torch.export.save(program, str(source))
    target = HERE / f"{name}{suffix}.pt2"
    strip(source, target)
    print(target.name, target.stat().st_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--suffix", default="")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, (build, shape) in NETWORKS.items():
            if arguments.only and name not in arguments.only:
                continue
            network = build().eval()
            program = torch.export.export(network, (example(shape),))
            save(name, program, arguments.suffix, folder)
            if name in DECOMPOSED:
                save(f"{name}_core", program.run_decompositions(), arguments.suffix, folder)


if __name__ == "__main__":
    main()
