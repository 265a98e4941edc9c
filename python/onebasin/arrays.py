"""Trees of arrays of NumPy, PyTorch, JAX and others as named arrays that share their memory, and the other way round."""

import os
import sys
from collections.abc import Mapping

import numpy as np

from .errors import InputError


class Tree:
    """A tree of arrays as the library reads it, and how to make another one like it.

    `tensors` are tuples (name, type, shape, bytes), see `crates/onebasin-py/src/tensors.rs`.
    """

    def __init__(self, tree, name):
        self.name = name
        self.numbers = {}
        self.tensors = []
        self._leaves = {}
        self._tree = module_state(tree)
        separator = "." if _has_torch(self._tree) else "/"
        self._visit(self._tree, (), separator)
        if not self.tensors:
            raise InputError(f"{name} has no arrays: give a dict of arrays by their names, such as `model.state_dict()`")

    def _visit(self, node, path, separator):
        children = _children(node)
        if children is not None:
            for key, child in children:
                self._visit(child, (*path, key), separator)
            return
        leaf = _leaf(node)
        name = separator.join(map(str, path))
        if leaf is not None:
            self._leaves[path] = len(self.tensors)
            self.tensors.append((name, *leaf))
        elif isinstance(node, (int, float)) and not isinstance(node, bool):
            self.numbers[name] = float(node)

    @property
    def shapes(self):
        """The shape of each array, by its name."""
        return {name: shape for name, _, shape, _ in self.tensors}

    def named(self):
        """What the library reads."""
        return (self.name, self.tensors, self.numbers)

    def rebuild(self, changed):
        """The same tree with the bytes of some arrays replaced; all others are the same objects as before."""
        return self._rebuild(self._tree, (), changed, _of_bytes)

    def with_values(self, values):
        """The same tree with other values of the arrays that are named, which are of float32; all others are the same objects."""
        changed = [values.get(name) for name, *_ in self.tensors]
        return self._rebuild(self._tree, (), changed, _of_values)

    def _rebuild(self, node, path, changed, make):
        children = _children(node)
        if children is not None:
            return _like(node, [(key, self._rebuild(child, (*path, key), changed, make)) for key, child in children])
        index = self._leaves.get(path)
        return node if index is None or changed[index] is None else make(node, changed[index])


def module_state(tree):
    """The tensors of a module of PyTorch or of Flax NNX; any other tree as it is."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tree, torch.nn.Module):
        return tree.state_dict()
    nnx = sys.modules.get("flax.nnx")
    if nnx is not None and isinstance(tree, nnx.Module):
        return nnx.state(tree)
    if isinstance(tree, (str, os.PathLike)):
        raise InputError(f"{os.fspath(tree)!r} is a path: read the file first, by `onebasin.load`")
    return tree


def to_numpy(leaf):
    """An array of any library as one of NumPy, in its memory where that is possible; bfloat16 becomes float32."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(leaf, torch.Tensor):
        leaf = leaf.detach().cpu()
        return (leaf.float() if leaf.dtype == torch.bfloat16 else leaf).numpy()
    return np.asarray(leaf)


def _children(node):
    if isinstance(node, Mapping):
        return list(node.items())
    if isinstance(node, (list, tuple)):
        return list(enumerate(node))
    return None


def _like(node, children):
    """A container of the kind of `node` with other children."""
    if isinstance(node, Mapping):
        made = dict(children)
        if type(node) is dict:
            return made
        try:
            made = type(node)(made)
        except TypeError:
            return made
        # A state dict of PyTorch carries the versions of its modules.
        if hasattr(node, "_metadata"):
            made._metadata = node._metadata
        return made
    values = [child for _, child in children]
    return type(node)(*values) if hasattr(node, "_fields") else type(node)(values)


def _has_torch(node):
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    children = _children(node)
    return isinstance(node, torch.Tensor) if children is None else any(_has_torch(child) for _, child in children)


def _leaf(node):
    """Type, shape and bytes of an array; none of anything else."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(node, torch.Tensor):
        values = node.detach().cpu().contiguous()
        return str(values.dtype).removeprefix("torch."), list(values.shape), values.reshape(-1).view(torch.uint8).numpy()
    if not hasattr(node, "__array__") or np.isscalar(node) or not isinstance(getattr(node, "dtype", None), np.dtype):
        return None
    values = np.asarray(node)
    if values.dtype.hasobject or values.dtype.kind in "USMm":
        return None
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return values.dtype.name, list(values.shape), np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def _of_bytes(node, values):
    """An array of the kind, type and shape of `node` with other bytes."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(node, torch.Tensor):
        return _as_tensor(node, torch.from_numpy(values).view(node.dtype).reshape(node.shape))
    return _as_array(node, values.view(node.dtype.newbyteorder("=")).reshape(node.shape))


def _of_values(node, values):
    """An array of the kind and type of `node` with the values of an array of float32."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(node, torch.Tensor):
        return _as_tensor(node, torch.from_numpy(values))
    return _as_array(node, values)


def _as_tensor(node, values):
    """A tensor on the device of `node`, of its type, and a parameter or with a gradient where it is."""
    torch = sys.modules["torch"]
    values = values.to(device=node.device, dtype=node.dtype)
    if isinstance(node, torch.nn.Parameter):
        return torch.nn.Parameter(values, node.requires_grad)
    return values.requires_grad_(node.requires_grad)


def _as_array(node, values):
    """An array of the type of `node`: one of JAX on its devices, a variable of Flax NNX, or one of NumPy."""
    values = values.astype(node.dtype, copy=False)
    nnx = sys.modules.get("flax.nnx")
    if nnx is not None and isinstance(node, nnx.Variable):
        return node.replace(_as_array(node.get_value(), values))
    jax = sys.modules.get("jax")
    return jax.device_put(values, node.sharding) if jax is not None and isinstance(node, jax.Array) else values
