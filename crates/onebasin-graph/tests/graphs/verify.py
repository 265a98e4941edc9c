"""Permutes the weights of ONNX files as their symmetries say, at random, and compares what the networks return.

    cargo build --example onnx
    python verify.py target/debug/examples/onnx FILE.onnx...

Needs numpy, onnx and onnxruntime. The files must have their weights (make.py strips them from those next to it). Prints the largest
difference of outputs relative to the largest output, for permuted weights and, to show that the comparison can fail, for weights of which
one tensor alone was permuted.
"""

import re
import subprocess
import sys
import tomllib

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper


def run(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def order(name, groups, orders, random):
    """Which unit comes where, for a group."""
    if name not in orders:
        units, parent = groups[name]["units"], groups[name].get("within")
        if parent is None:
            orders[name] = random.permutation(units)
        else:
            blocks = order(parent, groups, orders, random)
            each = units // len(blocks)
            orders[name] = np.concatenate([block * each + random.permutation(each) for block in blocks])
    return orders[name]


def indices(axis, size, groups, orders, random):
    """Which index comes where, for the text of an axis."""
    result, at = [], 0
    for part in re.findall(r"(?:'[^']*'|[^+'])+", axis):
        part = part.strip()
        if re.fullmatch(r"-\d*", part):
            count = int(part[1:]) if len(part) > 1 else size
            result.append(np.arange(count) + at)
        else:
            factors = [factor.strip() for factor in re.findall(r"(?:'[^']*'|[^*'])+", part)]
            [place] = [place for place, factor in enumerate(factors) if not factor.isdigit()]
            blocks = int(factors[0]) if place else 1
            repeat = int(factors[-1]) if place + 1 < len(factors) else 1
            own = order(factors[place].strip("'"), groups, orders, random)
            count = blocks * len(own) * repeat
            grid = np.arange(count).reshape(blocks, len(own), repeat)[:, own]
            result.append(grid.reshape(-1) + at)
        at += count
    assert at == size, (axis, size)
    return np.concatenate(result)


def permuted(model, symmetry, random, only=None):
    groups = {group["name"]: group for group in symmetry["groups"]}
    tensors = {tensor["name"]: tensor for tensor in symmetry["tensors"]}
    orders = {}
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for initializer in result.graph.initializer:
        tensor = tensors.get(initializer.name)
        if tensor is None or (only and initializer.name != only):
            continue
        values = numpy_helper.to_array(initializer)
        new = values.reshape(tensor["shape"])
        for place, axis in enumerate(tensor["axes"]):
            new = new.take(indices(axis, new.shape[place], groups, orders, random), axis=place)
        initializer.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(new).reshape(values.shape), initializer.name))
    return result


def main():
    program, *files = sys.argv[1:]
    random = np.random.default_rng(0)
    for file in files:
        model = onnx.load(file)
        text = subprocess.run([program, file], capture_output=True, text=True, check=True).stdout
        symmetry = tomllib.loads(text)
        inputs = {}
        tensors = {tensor.name for tensor in model.graph.initializer}
        for value in model.graph.input:
            if value.name not in tensors:
                shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
                floats = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
                inputs[value.name] = random.normal(size=shape).astype(np.float32) if floats else random.integers(0, 20, shape)
        before = run(model, inputs)
        scale = np.abs(before).max()
        difference = lambda other: np.abs(run(other, inputs) - before).max() / scale
        largest = max(difference(permuted(model, symmetry, random)) for _ in range(3))
        moved = next((tensor["name"] for tensor in symmetry["tensors"] if any(axis != "-" for axis in tensor["axes"])), None)
        control = difference(permuted(model, symmetry, random, moved)) if moved else float("nan")
        print(f"{largest:.1e} (one tensor alone: {control:.1e}), {len(symmetry['groups'])} groups: {file}", flush=True)


if __name__ == "__main__":
    main()
