"""Makes what the sweep needs of one network: its graphs, and for each seed a checkpoint and a permuted copy.

Prints one line of JSON: the size, what the exporters said, and by how much the permuted copy's outputs differ in float64.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time
import warnings

import torch

import catalogue
from symmetry import Symmetry

warnings.filterwarnings("ignore")


def outputs(model, inputs):
    with torch.no_grad():
        result = model(*inputs)
    return result if torch.is_tensor(result) else result[0]


def change(before, after):
    """The largest difference relative to the largest output."""
    return float((after - before).abs().max() / before.abs().max())


def permuted(symmetry, state, permutations):
    """A state dict with permuted units; two names of one tensor stay one."""
    made, result = {}, state.copy()
    for name, tensor in state.items():
        if name in symmetry.tensors:
            made[tensor.data_ptr()] = symmetry.permuted(name, tensor, permutations)
    for name, tensor in state.items():
        result[name] = made.get(tensor.data_ptr(), tensor) if tensor.numel() else tensor
    # Some modules refuse a state dict without their versions.
    result._metadata = state._metadata
    return result


def export(model, inputs, path, kind):
    if kind == "pt2":
        torch.export.save(torch.export.export(model, inputs), path)
    elif kind == "onnx-dynamo":
        torch.onnx.export(model, inputs, str(path), dynamo=True, optimize=False, verbose=False)
    else:
        mode = torch.onnx.TrainingMode.PRESERVE
        torch.onnx.export(model, inputs, str(path), dynamo=False, training=mode, do_constant_folding=False)


def first_line(error):
    text = f"{type(error).__name__}: {error}".strip().splitlines()
    return text[0][:300]


def compare(network, model, options):
    """The change of the outputs from one checkpoint to the other."""
    dtype = torch.float32 if options.single else torch.float64
    model.to(dtype)
    example = network.example(1)
    example = (example if network.tokens else example.to(dtype),)
    found = []
    for path in options.compare:
        model.load_state_dict(torch.load(path, weights_only=True))
        found.append(outputs(model, example))
    return change(*found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--onebasin", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("--compare", nargs=2, help="only compare the outputs of two checkpoints")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    network = catalogue.networks()[options.name]
    model = network.build().eval()
    if options.compare:
        return {"change": compare(network, model, options)}
    facts = {"parameters": sum(parameter.numel() for parameter in model.parameters()), "exports": {}}
    inputs = (network.example(),)
    catalogue.randomise(model, 0)
    kinds = {"pt2": "net.pt2"} | ({"onnx-dynamo": "dynamo.onnx", "onnx-trace": "trace.onnx"} if options.onnx else {})
    for kind, file in kinds.items():
        start = time.monotonic()
        try:
            # What an exporter prints must not be on standard output.
            with open(options.folder / "exporter.log", "w") as log:
                stdout, sys.stdout = sys.stdout, log
                try:
                    export(model, inputs, options.folder / file, kind)
                finally:
                    sys.stdout = stdout
            facts["exports"][kind] = {"file": file, "seconds": time.monotonic() - start}
        except Exception as error:
            facts["exports"][kind] = {"error": first_line(error)}
    if "error" in facts["exports"]["pt2"]:
        return facts
    start = time.monotonic()
    found = subprocess.run(
        [options.onebasin, "symmetry", options.folder / "net.pt2"], capture_output=True, text=True
    )
    facts |= {"symmetry_seconds": time.monotonic() - start, "message": found.stderr.strip()}
    if found.returncode != 0:
        return facts | {"error": found.stderr.strip()}
    symmetry = Symmetry(found.stdout)
    facts |= {"groups": len(symmetry.units), "units": sum(symmetry.units.values()), "seeds": {}}
    dtype = torch.float32 if options.single else torch.float64
    for seed in options.seeds:
        model.float()
        catalogue.randomise(model, seed)
        state = copied(model)
        torch.save(state, options.folder / f"a{seed}.pt")
        other = permuted(symmetry, state, symmetry.random(seed))
        torch.save(other, options.folder / f"b{seed}.pt")
        model.to(dtype)
        example = network.example(seed)
        example = (example if network.tokens else example.to(dtype),)
        model.load_state_dict(state)
        before = outputs(model, example)
        model.load_state_dict(other)
        result = {"change": change(before, outputs(model, example)), "scale": float(before.abs().max())}
        del other
        if seed == options.seeds[0]:
            # Every tensor permuted on its own: the outputs must show it. Made last, for large networks: one copy less in memory.
            for at, name in enumerate(symmetry.tensors):
                state[name] = symmetry.permuted(name, state[name], symmetry.random(1000 * seed + at))
            model.load_state_dict(state)
            result["control"] = change(before, outputs(model, example))
        del state
        facts["seeds"][seed] = result
    return facts


def copied(model):
    """The state dict with tensors of its own; two names of one tensor stay one."""
    state, copies = model.state_dict(), {}
    for name, tensor in state.items():
        key = tensor.data_ptr() if tensor.numel() else name
        state[name] = copies.setdefault(key, tensor.clone())
    return state


if __name__ == "__main__":
    print(json.dumps(main()))
