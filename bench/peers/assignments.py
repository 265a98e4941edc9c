"""The matrices of the assignment rows, and the optimum that every contender must find.

As a program, `assignments.py KIND SHAPE` writes the matrices of one kind into the folder that all contenders share; a
shape is `N` or `ROWSxCOLUMNS`. Ours is asked first and adds the optimum.
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


def sizes(shape):
    """Rows and columns."""
    rows, _, columns = shape.partition("x")
    return int(rows), int(columns or rows)


def make(kind, shape):
    """Costs of one kind by name: cold, the same in double precision, and for similarities after a change of one side by 5 %."""
    rows, columns = sizes(shape)
    generator = np.random.default_rng([int(os.environ["ONEBASIN_BENCH_SEED"]), rows, columns, len(kind)])
    if kind == "uniform":
        return {"cold": generator.random((rows, columns), np.float32), "double": generator.random((rows, columns))}

    def normals(count):
        return generator.standard_normal((count, FEATURES), np.float32)

    a = normals(rows)
    b = normals(columns)
    if kind == "copy":
        b = a[generator.permutation(rows)] + np.float32(NOISE) * b
    change = np.float32(CHANGE) * normals(rows)
    return {"cold": -(a @ b.T), "warm": -((a + change) @ b.T), "double": -(a.astype(np.float64) @ b.T)}


def write(kind, shape):
    for name, matrix in make(kind, shape).items():
        matrix.tofile(folder() / f"{kind}-{shape}-{name}.f{8 * matrix.itemsize}")


def case(name, solve, dtype):
    """The call of `assign/KIND/SHAPE/WHICH`.

    `which` is cold, or warm for the costs after the change; in double precision f64, or maximise. `solve` maps a matrix of
    `dtype`, or of its own type in double precision, to the column of each row.
    """
    _, kind, shape, which = name.split("/")
    rows, columns = sizes(shape)
    double = which in ("f64", "maximise")
    file = f"{kind}-{shape}-double.f64" if double else f"{kind}-{shape}-{which}.f32"
    matrix = np.fromfile(folder() / file, np.float64 if double else np.float32).reshape(rows, columns)
    theirs = matrix if double else matrix.astype(dtype)
    call = (lambda: solve(-theirs)) if which == "maximise" else (lambda: solve(theirs))
    optimum = float((folder() / f"{kind}-{shape}-{which}.optimum").read_text())
    value = matrix[np.arange(rows), call()].sum(dtype=np.float64)
    if not abs(value - optimum) <= 1e-9 * max(1.0, abs(optimum)):
        raise ValueError(f"the optimum is {value}, but ours {optimum}")
    return call


def serve_solver(name, solve, dtype=np.float64):
    serve.arguments(name)
    serve.serve(lambda name: case(name, solve, dtype))


if __name__ == "__main__":
    write(*sys.argv[1:])
