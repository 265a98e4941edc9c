"""The networks of the sweep: all classifiers of torchvision, and small ones of other kinds."""

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

# Of an input of tokens.
VOCABULARY, LENGTH = 61, 12
# Also exported to ONNX: one of each family.
ONNX = [
    "resnet18", "resnext50_32x4d", "densenet121", "googlenet", "mobilenet_v3_small", "shufflenet_v2_x0_5",
    "efficientnet_b0", "regnet_y_400mf", "convnext_tiny", "swin_t", "vit_b_32", "squeezenet1_1",
    "own_lstm", "own_gpt", "own_unet", "own_vit", "own_encoder", "own_gqa",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Network:
    """A network, the shape of its input, and its tensors that an evaluation does not read."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    tokens: bool = False
    keep: tuple[str, ...] = ()

    def example(self, seed=0):
        generator = torch.Generator().manual_seed(seed)
        if self.tokens:
            return torch.randint(VOCABULARY, self.shape, generator=generator)
        return torch.randn(self.shape, generator=generator)


def classifier(name):
    # Heads for the training only.
    keep = {"googlenet": ("aux1", "aux2"), "inception_v3": ("AuxLogits",)}.get(name, ())
    options = {"init_weights": False} if keep else {}
    size = 299 if name == "inception_v3" else 224
    build = lambda: torchvision.models.get_model(name, weights=None, **options)  # noqa: E731
    return Network(build, (1, 3, size, size), keep=keep)


class Recurrent(nn.Module):
    """A classifier of token sequences: two layers of `cell`."""

    def __init__(self, cell, bidirectional=False):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 20)
        self.cells = cell(20, 24, num_layers=2, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(24 * (1 + bidirectional), 10)

    def forward(self, tokens):
        return self.head(self.cells(self.embedding(tokens))[0].mean(1))


class CausalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), CausalAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """A decoder whose head has the weights of its embedding."""

    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.Sequential(*(GptBlock(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class UNet(nn.Module):
    """Two halvings, two doublings, and skip connections that are concatenated."""

    def __init__(self, width=12):
        super().__init__()
        self.down1, self.down2 = self.convolutions(3, width), self.convolutions(width, 2 * width)
        self.bottom = self.convolutions(2 * width, 4 * width)
        self.up2, self.join2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), self.convolutions(4 * width, 2 * width)
        self.up1, self.join1 = nn.ConvTranspose2d(2 * width, width, 2, 2), self.convolutions(2 * width, width)
        self.head = nn.Conv2d(width, 5, 1)

    @staticmethod
    def convolutions(inputs, outputs):
        layer = lambda inputs: (nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())  # noqa: E731
        return nn.Sequential(*layer(inputs), *layer(outputs))

    def forward(self, images):
        first = self.down1(images)
        second = self.down2(F.max_pool2d(first, 2))
        x = self.up2(self.bottom(F.max_pool2d(second, 2)))
        x = self.up1(self.join2(torch.cat([x, second], 1)))
        return self.head(self.join1(torch.cat([x, first], 1)))


class PlainAttention(nn.Module):
    """Of products and a softmax, with a matrix each for queries, keys and values."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        batch, length, width = x.shape
        split = lambda y: y.view(batch, length, self.heads, width // self.heads).permute(0, 2, 1, 3)  # noqa: E731
        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        weights = (q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5).softmax(-1)
        return self.out((weights @ v).permute(0, 2, 1, 3).reshape(batch, length, width))


class PlainViT(nn.Module):
    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token, self.positions = (nn.Parameter(torch.randn(1, n, width)) for n in (1, 17))
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": nn.LayerNorm(width),
                    "attention": PlainAttention(width, heads),
                    "norm2": nn.LayerNorm(width),
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                }
            )
            for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = x + block["attention"](block["norm1"](x))
            x = x + block["down"](F.gelu(block["up"](block["norm2"](x))))
        return self.head(self.norm(x)[:, 0])


class Encoder(nn.Module):
    """Of nn.TransformerEncoderLayer, one normalised before and one after its parts."""

    def __init__(self, width=48, heads=4):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        layer = lambda first: nn.TransformerEncoderLayer(width, heads, 100, batch_first=True, norm_first=first)  # noqa: E731
        self.layers = nn.ModuleList([layer(True), layer(False)])
        self.head = nn.Linear(width, 10)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


class GroupedQueries(nn.Module):
    """Eight heads of queries, two of keys and values, rotary positions, and a gated MLP."""

    def __init__(self, width=64, heads=8, key_heads=2, size=8):
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, size
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.out = nn.Linear(width, heads * size, bias=False), nn.Linear(heads * size, width, bias=False)
        self.k, self.v = (nn.Linear(width, key_heads * size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 150, bias=False) for _ in range(2))
        self.down = nn.Linear(150, width, bias=False)

    def rotated(self, x):
        half = x.shape[-1] // 2
        frequencies = 10000.0 ** -(torch.arange(half) / half)
        angles = torch.outer(torch.arange(x.shape[-2]), frequencies).to(x.dtype)
        cosine, sine = (torch.cat([part, part], -1) for part in (angles.cos(), angles.sin()))
        return x * cosine + torch.cat([-x[..., half:], x[..., :half]], -1) * sine

    def forward(self, x):
        batch, length, _ = x.shape
        y = self.norm1(x)
        split = lambda z, heads: z.view(batch, length, heads, self.size).transpose(1, 2)  # noqa: E731
        q = self.rotated(split(self.q(y), self.heads))
        k, v = self.rotated(split(self.k(y), self.key_heads)), split(self.v(y), self.key_heads)
        k, v = (z.repeat_interleave(self.heads // self.key_heads, 1) for z in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, -1))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Rotary(nn.Module):
    def __init__(self, width=64, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.Sequential(*(GroupedQueries(width) for _ in range(layers)))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.tokens(tokens))))


def of_tokens(build):
    return Network(build, (2, LENGTH), tokens=True)


def networks():
    """Name to network, those of torchvision first."""
    found = {name: classifier(name) for name in torchvision.models.list_models(module=torchvision.models)}
    return found | {
        "own_lstm": of_tokens(lambda: Recurrent(nn.LSTM)),
        "own_gru": of_tokens(lambda: Recurrent(nn.GRU)),
        "own_lstm_bidirectional": of_tokens(lambda: Recurrent(nn.LSTM, bidirectional=True)),
        "own_gpt": of_tokens(Gpt),
        "own_unet": Network(UNet, (1, 3, 32, 32)),
        "own_vit": Network(PlainViT, (1, 3, 32, 32)),
        "own_encoder": of_tokens(Encoder),
        "own_gqa": of_tokens(Rotary),
    }


def size(name, network):
    """About how many parameters a network has, without memory for them."""
    if name in torchvision.models.list_models(module=torchvision.models):
        return next(iter(torchvision.models.get_model_weights(name))).meta["num_params"]
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in network.build().parameters())


@torch.no_grad()
def randomise(model, seed):
    """New values for all tensors, so that none is constant and units differ wherever they can."""
    generator = torch.Generator().manual_seed(seed)
    for tensor in model.parameters():
        if is_constant(tensor):
            replace(tensor, generator)
        else:
            # Of the size that the initialisation chose.
            tensor.normal_(0, tensor.double().pow(2).mean().sqrt().item(), generator=generator)
    for tensor in model.buffers():
        if tensor.is_floating_point() and is_constant(tensor):
            replace(tensor, generator)


def is_constant(tensor):
    return bool((tensor == tensor.flatten()[0]).all())


def replace(tensor, generator):
    """Zeros become small numbers, and other constants positive ones near 1: both are what a training makes of them."""
    if tensor.flatten()[0] == 0:
        tensor.normal_(0, 0.1, generator=generator)
    else:
        tensor.uniform_(0.5, 1.5, generator=generator)
