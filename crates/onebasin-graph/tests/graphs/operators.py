"""Writes ONNX files with weights for verify.py: operators between two layers, which the exported networks do not have.

    python operators.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)


def floats(*shape, low=-1.0, high=1.0):
    return random.uniform(low, high, shape).astype(np.float32)


def integers(*entries):
    return np.array(entries, np.int64)


def write(folder, name, x, nodes, tensors, opset=18):
    """A file with input x of this shape and output y."""
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, key) for key, value in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.save(model, folder / f"{name}.onnx")


def dense(folder, name, nodes, tensors=None, x=(2, 5), hidden=12, after=None, opset=18):
    """x (2, 5), a dense layer to h (2, hidden), the nodes from h to k, a dense layer from the last axis of k."""
    after = after or hidden
    layers = {"first": floats(x[-1], hidden), "bias": floats(hidden), "second": floats(after, 3)}
    before = [helper.make_node("MatMul", ["x", "first"], ["m"]), helper.make_node("Add", ["m", "bias"], ["h"])]
    behind = [helper.make_node("MatMul", ["k", "second"], ["y"])]
    write(folder, name, x, before + nodes + behind, {**layers, **(tensors or {})}, opset)


def image(folder, name, nodes, tensors=None, channels=8, after=None, opset=18, size=6):
    """x (1, 2, size, size), a convolution to h with channels, the nodes from h to k, a convolution and the sum over positions."""
    layers = {"first": floats(channels, 2, 3, 3), "bias": floats(channels), "second": floats(3, after or channels, 1, 1)}
    before = [helper.make_node("Conv", ["x", "first", "bias"], ["h"], pads=[1] * 4)]
    behind = [helper.make_node("Conv", ["k", "second"], ["c"]), helper.make_node("Tanh", ["c"], ["y"])]
    write(folder, name, (1, 2, size, size), before + nodes + behind, {**layers, **(tensors or {})}, opset)


def node(operator, inputs, outputs=("k",), **attributes):
    return helper.make_node(operator, list(inputs), list(outputs), **attributes)


def main():
    folder = Path(sys.argv[1])
    for operator in ["Softmax", "LogSoftmax", "Hardmax", "LpNormalization"]:
        dense(folder, operator.lower(), [node(operator, ["h"])])
    dense(folder, "softmax-of-blocks", [
        node("Reshape", ["h", "shape"], ["r"]), node("Softmax", ["r"], ["s"], axis=1), node("Reshape", ["s", "back"]),
    ], {"shape": integers(2, 3, 4), "back": integers(2, 12)})
    dense(folder, "old-softmax-of-blocks", [
        node("Reshape", ["h", "shape"], ["r"]), node("Softmax", ["r"], ["s"], axis=1), node("Reshape", ["s", "back"]),
    ], {"shape": integers(2, 3, 4), "back": integers(2, 12)}, opset=11)
    dense(folder, "layernorm-of-blocks", [
        node("Reshape", ["h", "shape"], ["r"]), node("LayerNormalization", ["r", "scale"], ["s"], axis=1),
        node("Reshape", ["s", "back"]),
    ], {"shape": integers(2, 3, 4), "back": integers(2, 12), "scale": floats(4)})
    dense(folder, "layernorm", [node("LayerNormalization", ["h", "scale", "shift"])], {"scale": floats(12), "shift": floats(12)})
    dense(folder, "prelu", [node("PRelu", ["h", "slope"])], {"slope": floats(12)})
    dense(folder, "cumsum", [node("CumSum", ["h", "axis"])], {"axis": np.array(1, np.int64)})
    dense(folder, "topk", [node("TopK", ["h", "count"], ["k", "i"])], {"count": integers(5)}, after=5)
    dense(folder, "tile", [node("Tile", ["h", "repeats"])], {"repeats": integers(1, 2)}, after=24)
    dense(folder, "split", [
        node("Split", ["h"], ["a", "b", "c"], axis=1, num_outputs=3), node("Mul", ["a", "b"], ["ab"]),
        node("Concat", ["ab", "c"], axis=1),
    ], hidden=12, after=8)
    dense(folder, "pad", [node("Pad", ["h", "pads"])], {"pads": integers(0, 1, 0, 2)}, after=15)
    dense(folder, "pad-reflect", [node("Pad", ["h", "pads"], mode="reflect")], {"pads": integers(0, 1, 0, 2)}, after=15)
    dense(folder, "slice-steps", [node("Slice", ["h", "zero", "end", "one", "two"])],
          {"zero": integers(0), "end": integers(12), "one": integers(1), "two": integers(2)}, after=6)
    dense(folder, "gather", [node("Gather", ["h", "picks"], axis=1)], {"picks": integers(4, 5, 6, 0, 1, 2, 3, 4)}, after=8)
    dense(folder, "gather-elements", [node("GatherElements", ["h", "picks"], axis=0)],
          {"picks": random.integers(0, 2, (2, 12))})
    dense(folder, "gather-nd", [node("GatherND", ["h", "picks"])], {"picks": np.array([[1], [0]], np.int64)})
    dense(folder, "scatter-nd", [node("ScatterND", ["h", "picks", "news"])],
          {"picks": np.array([[1]], np.int64), "news": floats(1, 12)})
    dense(folder, "einsum", [node("Einsum", ["h", "w"], equation="bi,ij->bj")], {"w": floats(12, 7)}, after=7)
    dense(folder, "einsum-diagonal", [node("Einsum", ["h", "w"], equation="bi,ii->bi")], {"w": floats(12, 12)})
    dense(folder, "quantise", [node("QuantizeLinear", ["h", "s", "z"], ["q"], axis=1), node("DequantizeLinear", ["q", "s", "z"], axis=1)],
          {"s": floats(12, low=0.01, high=0.1), "z": np.zeros(12, np.uint8)})
    dense(folder, "dynamic-quantise", [
        node("DynamicQuantizeLinear", ["h"], ["q", "s", "z"]), node("DequantizeLinear", ["q", "s", "z"])
    ])
    image(folder, "groupnorm", [node("GroupNormalization", ["h", "s", "b"], num_groups=2)], {"s": floats(8), "b": floats(8)}, opset=21)
    image(folder, "instancenorm", [node("InstanceNormalization", ["h", "s", "b"])], {"s": floats(8), "b": floats(8)})
    image(folder, "mvn", [node("MeanVarianceNormalization", ["h"])])
    image(folder, "lrn", [node("LRN", ["h"], size=3)])
    image(folder, "depth-to-space", [node("DepthToSpace", ["h"], blocksize=2)], after=2)
    image(folder, "depth-to-space-crd", [node("DepthToSpace", ["h"], blocksize=2, mode="CRD")], after=2)
    image(folder, "space-to-depth", [node("SpaceToDepth", ["h"], blocksize=2)], after=32)
    image(folder, "resize", [node("Resize", ["h", "", "", "sizes"], mode="cubic")], {"sizes": integers(1, 8, 9, 5)})
    image(folder, "resize-channels", [node("Resize", ["h", "", "scales"])], {"scales": np.array([1, 2, 1, 1], np.float32)}, after=16)
    image(folder, "grid-sample", [node("GridSample", ["h", "grid"])], {"grid": floats(1, 4, 5, 2)})
    image(folder, "grouped", [node("Conv", ["h", "w", "b"], group=4, pads=[1] * 4)], {"w": floats(12, 2, 3, 3), "b": floats(12)}, after=12)
    image(folder, "grouped-transposed", [node("ConvTranspose", ["h", "w", "b"], group=2, strides=[2, 2])],
          {"w": floats(8, 3, 3, 3), "b": floats(6)}, after=6)
    image(folder, "pools", [
        node("MaxPool", ["h"], ["p"], kernel_shape=[2, 2], ceil_mode=1, strides=[2, 2]), node("LpPool", ["p"], kernel_shape=[2, 2]),
    ])
    width, heads = 12, 3
    parts = {f"{letter}.weight": floats(5, width) for letter in "qkv"}
    project = [node("MatMul", ["x", f"{letter}.weight"], [letter]) for letter in "qkv"]
    for name, attributes in [("attention", {}), ("attention-causal", {"is_causal": 1})]:
        write(folder, name, (2, 4, 5), [
            *project, node("Attention", ["q", "k", "v"], ["a"], q_num_heads=heads, kv_num_heads=heads, **attributes),
            node("MatMul", ["a", "out"], ["y"]),
        ], {**parts, "out": floats(width, 6)}, 23)
    write(folder, "attention-grouped", (2, 4, 5), [
        *project, node("Attention", ["q", "k", "v"], ["a"], q_num_heads=4, kv_num_heads=2), node("MatMul", ["a", "out"], ["y"]),
    ], {"q.weight": floats(5, 16), "k.weight": floats(5, 8), "v.weight": floats(5, 8), "out": floats(16, 6)}, 23)
    write(folder, "attention-rotary", (2, 4, 5), [
        *project,
        *[node("RotaryEmbedding", [letter, "cos", "sin"], [f"{letter}r"], num_heads=heads) for letter in "qk"],
        node("Attention", ["qr", "kr", "v"], ["a"], q_num_heads=heads, kv_num_heads=heads), node("MatMul", ["a", "out"], ["y"]),
    ], {**parts, "out": floats(width, 6), "cos": floats(2, 4, 2), "sin": floats(2, 4, 2)}, 23)
    for operator, gates in [("LSTM", 4), ("GRU", 3), ("RNN", 1)]:
        write(folder, f"{operator.lower()}-lengths", (6, 2, 5), [
            node(operator, ["x", "w", "r", "b", "lengths", "start"], ["s", "last"], hidden_size=7, direction="bidirectional"),
            node("Transpose", ["s"], ["t"], perm=[0, 2, 1, 3]), node("Reshape", ["t", "shape"], ["j"]), node("MatMul", ["j", "out"], ["y"]),
        ], {
            "w": floats(2, gates * 7, 5), "r": floats(2, gates * 7, 7), "b": floats(2, 2 * gates * 7), "out": floats(14, 3),
            "lengths": np.array([6, 4], np.int32), "start": floats(2, 2, 7), "shape": integers(6, 2, 14),
        })


if __name__ == "__main__":
    main()
