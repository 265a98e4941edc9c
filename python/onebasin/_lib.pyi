"""The extension module: what the modules of the package call. Arguments are as `crates/onebasin-py` reads them."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Path = str | PathLike[str]
_Shapes = Sequence[tuple[str, Sequence[int]]]
# Name, type, shape and bytes of an array.
_Tensor = tuple[str, str, list[int], NDArray[np.uint8]]
# What is read: a name, its arrays, and numbers beside them.
_Tensors = tuple[str, list[_Tensor], dict[str, float]]
_Flat = tuple[NDArray[np.float32], NDArray[np.float32]]
_Orders = Sequence[tuple[str, NDArray[np.uint32]]]

__version__: str

class Symmetry:
    """A network whose symmetry is known."""

    @staticmethod
    def open(path: _Path, dims: dict[str, int], options: Any) -> Symmetry: ...
    @staticmethod
    def from_toml(text: str, name: str) -> Symmetry: ...
    def to_toml(self) -> str: ...
    def groups(self) -> list[tuple[str, int]]: ...
    def tensors(self) -> list[tuple[str, list[int], list[bool]]]: ...
    def fixed(self) -> list[tuple[str, int, int, str]]: ...
    def share(self) -> float: ...
    def check(self, tensors: _Tensors, how: Any, seed: int, options: Any) -> tuple[float | None, str]: ...
    def moments(
        self, tensors: _Tensors, how: Any, options: Any
    ) -> tuple[list[tuple[str, list[int]]], NDArray[np.float32], NDArray[np.float32], str]: ...

def align(
    symmetry: Symmetry, checkpoints: Sequence[_Tensors], settings: str, how: Any, options: Any
) -> tuple[
    list[tuple[str, list[NDArray[np.uint8] | None], list[tuple[str, NDArray[np.uint32]]]]],
    str | None,
    tuple[list[tuple[str, list[int]]], NDArray[np.float32], NDArray[np.float32]] | None,
]: ...
def permute(
    symmetry: Symmetry, checkpoint: _Tensors, permutations: dict[str, list[int]], how: Any, options: Any
) -> list[NDArray[np.uint8] | None]: ...
def path_points(
    kind: str, shapes: _Shapes, from_: _Flat, to: _Flat, taus: Sequence[float]
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]: ...
def taus(points: int) -> list[float]: ...
def barrier(shapes: _Shapes, from_: _Flat, to: _Flat, labels: Any, how: Any, options: Any) -> str: ...
def compact(
    symmetry: Symmetry, samples: Sequence[NDArray[np.float32]], labels: Any, settings: str, options: Any
) -> tuple[str, list[tuple[str, NDArray[np.float32], NDArray[np.float32], list[NDArray[np.float32]]]]]: ...
def assign(
    costs: NDArray[np.float32] | NDArray[np.float64],
    rows: int,
    columns: int,
    maximise: bool,
    start: NDArray[np.float64] | None,
) -> tuple[NDArray[np.intp], NDArray[np.intp], float, NDArray[np.float64], NDArray[np.float64]]: ...
def compose(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.uint32]: ...
def invert(order: NDArray[np.uint32]) -> NDArray[np.uint32]: ...
def transpositions(order: NDArray[np.uint32]) -> int: ...
def random_permutation(units: int, transpositions: int | None, seed: int, name: str) -> NDArray[np.uint32]: ...
def write_permutations(path: _Path, lines: Sequence[_Orders]) -> None: ...
def is_posterior(path: _Path) -> bool: ...
def load(
    path: _Path,
) -> tuple[
    tuple[str, list[tuple[str, list[int]]], list[NDArray[np.float32]], int] | None,
    list[tuple[str, str, list[int], NDArray[np.uint8]]],
]: ...
def write_posterior(
    path: _Path,
    kind: str,
    shapes: _Shapes,
    arrays: Sequence[NDArray[np.float32]],
    chains: int,
    like: _Path | None,
    symmetry: Symmetry | None,
) -> None: ...
def rewrite(path: _Path, like: _Path, tensors: _Tensors) -> None: ...
def train(
    name: str,
    text: str,
    overrides: Sequence[str],
    folder: _Path,
    extend: bool,
    force: bool,
    options: Any,
) -> str: ...
def run(
    name: str, text: str, overrides: Sequence[str], folder: _Path, options: Any
) -> tuple[list[str], tuple[str, Path] | None]: ...
def report(folders: Sequence[_Path], output: _Path | None, options: Any) -> Path: ...
def show(path: _Path) -> str: ...
def main(words: Sequence[str]) -> int: ...
