"""The matrices of the assignment rows, and the optimum that every contender must find.

As a program, `assignments.py KIND N` writes the matrices of one kind into the folder that all contenders share. Ours is
asked first and adds the optimum.
"""

import os
import pathlib
import sys

import numpy as np

import serve

FEATURES = 784
NOISE = 8.0
CHANGE = 0.05


def folder():
    return pathlib.Path(os.environ["ONEBASIN_BENCH_ASSIGNMENTS"])


def make(kind, n):
    """Costs of one kind, and for similarities those after a change of one side by 5 %."""
    generator = np.random.default_rng([int(os.environ["ONEBASIN_BENCH_SEED"]), n, len(kind)])
    if kind == "uniform":
        return [generator.random((n, n), np.float32)]

    def normals():
        return generator.standard_normal((n, FEATURES), np.float32)

    a = normals()
    b = a[generator.permutation(n)] + np.float32(NOISE) * normals() if kind == "copy" else normals()
    return [-(each @ b.T) for each in (a, a + np.float32(CHANGE) * normals())]


def write(kind, n):
    for name, matrix in zip(("cold", "warm"), make(kind, n)):
        matrix.tofile(folder() / f"{kind}-{n}-{name}.f32")


def case(name, solve, dtype):
    """The call of `assign/KIND/N/WHICH`, where `which` is cold, or warm for the costs after the change.

    `solve` maps a matrix of `dtype` to the column of each row.
    """
    _, kind, n, which = name.split("/")
    n = int(n)
    matrix = np.fromfile(folder() / f"{kind}-{n}-{which}.f32", np.float32).reshape(n, n)
    theirs = matrix.astype(dtype)
    optimum = float((folder() / f"{kind}-{n}-{which}.optimum").read_text())
    value = matrix[np.arange(n), solve(theirs)].sum(dtype=np.float64)
    if not abs(value - optimum) <= 1e-9 * max(1.0, abs(optimum)):
        raise ValueError(f"the optimum is {value}, but ours {optimum}")
    return lambda: solve(theirs)


def serve_solver(name, solve, dtype=np.float64):
    serve.arguments(name)
    serve.serve(lambda name: case(name, solve, dtype))


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
