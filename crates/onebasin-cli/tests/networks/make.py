"""Makes the files of these tests: a small network with convolutions, batch normalisation and a residual sum, as ONNX and as an exported
program, two checkpoints of it, and examples. Needs torch, onnx and onnxscript: python make.py"""

import json
import pathlib
import warnings
import zipfile

import numpy as np
import onnx
import torch
from torch import nn

HERE = pathlib.Path(__file__).parent


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 6, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(6)
        self.conv = nn.Conv2d(6, 6, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        x = torch.relu(self.norm1(self.stem(x)))
        x = x + torch.relu(self.norm2(self.conv(x)))
        return self.head(x.mean((2, 3)))


def trained(seed, x, y):
    torch.manual_seed(seed)
    net = Net()
    optimiser = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(60):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimiser.step()
    return net.eval()


def without_traces(node):
    """Takes away where in which file each node was recorded, which is of no use elsewhere."""
    if isinstance(node, dict):
        node.pop("stack_trace", None)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        without_traces(child)


def strip():
    network = onnx.load(HERE / "net.onnx")
    for node in network.graph.node:
        del node.metadata_props[:]
        node.ClearField("doc_string")
    onnx.save(network, HERE / "net.onnx")
    with zipfile.ZipFile(HERE / "net.pt2") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(HERE / "net.pt2", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            if name.endswith("model.json"):
                program = json.loads(data)
                without_traces(program)
                data = json.dumps(program).encode()
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def main():
    warnings.filterwarnings("ignore")
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    # Three classes: a bright row, a bright column, or noise alone.
    y = torch.arange(90) % 3
    x = 0.3 * torch.randn(90, 1, 6, 6)
    for index, label in enumerate(y):
        if label == 0:
            x[index, 0, torch.randint(6, ())] += 1
        if label == 1:
            x[index, 0, :, torch.randint(6, ())] += 1
    a, b = trained(1, x, y), trained(2, x, y)
    torch.save(a.state_dict(), HERE / "a.pt")
    torch.save({"epoch": 60, "state_dict": b.state_dict()}, HERE / "b.ckpt")
    np.save(HERE / "x.npy", x.numpy())
    np.save(HERE / "y.npy", y.numpy())
    batch = torch.export.Dim("batch")
    exported = torch.export.export(a, (x[:2],), dynamic_shapes=({0: batch},))
    torch.export.save(exported, HERE / "net.pt2")
    network = torch.onnx.export(a, (x[:2],), dynamo=True, optimize=False, dynamic_shapes=({0: batch},))
    network.save(HERE / "net.onnx", external_data=False)
    strip()


main()
