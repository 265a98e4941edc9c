"""Reads golden files, so that a peer can prove that it computes the same function as `onebasin`."""

import dataclasses
import importlib.util
import json
import pathlib
import struct

import numpy as np

DIRECTORY = pathlib.Path(__file__).parents[2] / "crates/onebasin/tests/golden"
TOLERANCE = 1e-4  # relative to the largest value of the tensor; everything is computed in float32
DTYPES = {"F32": np.float32, "U32": np.uint32}


@dataclasses.dataclass
class Case:
    """One golden file: a network, its parameters and data, and what it computes from them."""

    name: str
    preset: dict
    parameters: dict
    images: np.ndarray
    labels: np.ndarray
    logits: np.ndarray
    gradient: dict

    def difference(self, logits, gradient):
        """The largest difference over all tensors, relative to the largest value of each."""
        if list(gradient) != list(self.gradient):
            raise ValueError(f"{self.name}: the tensors are {list(gradient)}, expected {list(self.gradient)}")
        pairs = [(logits, self.logits)] + [(gradient[name], self.gradient[name]) for name in gradient]
        return max(np.abs(got - expected).max() / np.abs(expected).max() for got, expected in pairs)


def read(path):
    """The case in a file written by make_golden.py, which also knows the formula of the parameters."""
    blob = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", blob)
    header = json.loads(blob[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        values = np.frombuffer(blob[8 + length + start : 8 + length + end], DTYPES[entry["dtype"]]).copy()
        tensors[name] = values.reshape(entry["shape"])
    gradient = {name.removeprefix("grad."): values for name, values in tensors.items() if name.startswith("grad.")}
    formula = make_golden().parameter
    return Case(
        name=pathlib.Path(path).stem,
        preset=json.loads(metadata["arch"]),
        parameters={name: formula(index, name, g.shape) for index, (name, g) in enumerate(gradient.items())},
        images=tensors["images"],
        labels=tensors["labels"].astype(np.int64),
        logits=tensors["logits"],
        gradient=gradient,
    )


def make_golden():
    """The script beside the golden files, as a module."""
    spec = importlib.util.spec_from_file_location("make_golden", DIRECTORY / "make_golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
