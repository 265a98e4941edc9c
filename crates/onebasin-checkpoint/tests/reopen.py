"""Opens files that onebasin-checkpoint wrote, in torch, NumPy and safetensors, and prints what they hold.

    python reopen.py FILE...

For each file, one line of JSON: the names of its tensors with the SHA-256 of their row-major, little-endian bytes.
"""

import hashlib
import json
import pathlib
import sys
import zipfile

import numpy
import torch
from safetensors import safe_open


def digest(tensor):
    if isinstance(tensor, numpy.ndarray):
        return hashlib.sha256(tensor.astype(tensor.dtype.newbyteorder("<")).tobytes(order="C")).hexdigest()
    tensor = tensor.detach().clone().contiguous()
    raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return hashlib.sha256(raw).hexdigest()


def flat(value, name=""):
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, torch.Tensor):
        return {name or "tensor": value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    found = {}
    for key, inner in items:
        found.update(flat(inner, f"{name}.{key}" if name else str(key)))
    return found


def read_safetensors(path):
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def read(path):
    if path.name == "array.npy":
        return {"array": numpy.load(path)}
    if path.suffix == ".npz":
        with numpy.load(path) as arrays:
            return {name: arrays[name] for name in arrays.files if name != "objects"}
    if path.suffix == ".safetensors":
        return read_safetensors(path)
    if path.suffix == ".json":
        index = json.loads(path.read_text())["weight_map"]
        files = {file: read_safetensors(path.parent / file) for file in set(index.values())}
        return {name: files[file][name] for name, file in index.items()}
    if zipfile.is_zipfile(path):
        # torch reads entries without a look at their checksums.
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            if damaged and path.name != "no_checksums.pt":
                raise SystemExit(f"{path}: {damaged} has a wrong checksum")
    # A module needs its class, and the loader of weights alone does not know protocols 4 and 5.
    weights_only = path.name not in ["module.pt", "protocol4.pt", "protocol5.pt"]
    return flat(torch.load(path, weights_only=weights_only))


for argument in sys.argv[1:]:
    print(json.dumps({name: digest(tensor) for name, tensor in read(pathlib.Path(argument)).items()}))
