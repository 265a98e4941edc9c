"""Times `onebasin.assign.solve` and other packages from Python on the same matrices, in turns, and prints a table of medians.

    python bench/python/assign.py [--lap DIR] [--reps N] [--sizes 256,512]

Needs onebasin, scipy and lapx in the environment. The packages lap and lapx share the name of their module, so lap is installed apart, by
`pip install --no-deps --target DIR lap`. A ratio is the median of another package divided by ours.
"""

import argparse
import importlib.util
import pathlib
import statistics
import sys
import time

import numpy as np
import onebasin
import scipy.optimize

FEATURES = 784
NOISE = 8.0


def costs(kind, rows, columns, dtype):
    """Uniform costs, or −A·Bᵀ where B is a permuted copy of A with eight times its size in noise."""
    rng = np.random.default_rng([rows, columns, len(kind)])
    if kind == "uniform":
        return rng.random((rows, columns), dtype)
    a, b = (rng.standard_normal((count, FEATURES)) for count in (rows, columns))
    copied = min(rows, columns)
    b[rng.permutation(columns)[:copied]] = a[:copied] + NOISE * b[:copied]
    return -(a @ b.T).astype(dtype)


def lapjv(module):
    """The columns that `lapjv` of lap finds; it minimises, and fills up rectangles."""
    return lambda own, maximize: module.lapjv(-own if maximize else own, extend_cost=own.shape[0] != own.shape[1], return_cost=False)[0]


def lapjvs(module):
    """The same by the fastest exact solver of lapx."""
    solve = lambda own, extend: module.lapjvs(own, extend_cost=extend, return_cost=False, jvx_like=False)[0]
    return lambda own, maximize: solve(-own if maximize else own, own.shape[0] != own.shape[1])


def solvers(lap):
    """Functions of costs and whether to maximise that return the column of each row."""
    found = {
        "onebasin": lambda own, maximize: onebasin.assign.solve(own, maximize)[1],
        "scipy": lambda own, maximize: scipy.optimize.linear_sum_assignment(own, maximize)[1],
    }
    if lap:
        folder = pathlib.Path(lap) / "lap"
        spec = importlib.util.spec_from_file_location("lap_apart", folder / "__init__.py", submodule_search_locations=[str(folder)])
        module = sys.modules["lap_apart"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found["lap"] = lapjv(module)
    if importlib.util.find_spec("lap"):
        import lap

        found["lapx"] = lapjvs(lap)
    return found


def measure(own, maximize, solvers, reps):
    """Median seconds of each solver; all must find the same sum."""
    rows = np.arange(own.shape[0])
    seconds = {name: [] for name in solvers}
    sums = {}
    for _ in range(reps):
        for name, solve in solvers.items():
            start = time.perf_counter()
            columns = solve(own, maximize)
            seconds[name].append(time.perf_counter() - start)
            sums[name] = own[rows, columns].sum(dtype=np.float64)
    for name, value in sums.items():
        # In f32, others round their sums of path lengths.
        if not abs(value - sums["onebasin"]) <= 1e-6 * max(1.0, abs(value)):
            print(f"{name} found {value}, and onebasin {sums['onebasin']}", file=sys.stderr)
    return {name: statistics.median(own) for name, own in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lap", help="folder into which lap is installed")
    parser.add_argument("--reps", type=int, default=5, help="calls of each; the largest matrices have a third of them")
    parser.add_argument("--sizes", default="256,512,1024,2048,4096")
    args = parser.parse_args()
    own = solvers(args.lap)
    squares = [(size, size, dtype, False) for size in map(int, args.sizes.split(",")) for dtype in (np.float32, np.float64)]
    cases = [*squares, (1024, 4096, np.float32, False), (1024, 4096, np.float64, False), (1024, 1024, np.float64, True)]
    print(f"| costs | {' | '.join(f'{name}, ms' for name in own)} | {' | '.join(f'{name} / onebasin' for name in list(own)[1:])} |")
    print("|---" * (2 * len(own)) + "|")
    for kind in ("uniform", "copy"):
        for rows, columns, dtype, maximize in cases:
            reps = args.reps if rows * columns < 2048**2 else max(1, args.reps // 3)
            found = measure(costs(kind, rows, columns, dtype), maximize, own, reps)
            title = f"{kind}, {rows}×{columns}, {np.dtype(dtype).name}{', maximize' if maximize else ''}"
            times = [f"{1e3 * value:.2f}" for value in found.values()]
            ratios = [f"{value / found['onebasin']:.1f}" for value in list(found.values())[1:]]
            print(f"| {title} | {' | '.join(times)} | {' | '.join(ratios)} |", flush=True)


if __name__ == "__main__":
    main()
