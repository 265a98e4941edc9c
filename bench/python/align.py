"""Times `onebasin.align` on two state dicts of a network of torchvision: all of it, the Rust call in it, and the memory that it takes.

    python bench/python/align.py [--network resnet50] [--solver best] [--reps N]

Needs onebasin, torch and torchvision in the environment. Weights are random.
"""

import argparse
import resource
import statistics
import time

import onebasin
import torch
import torchvision
from onebasin import _lib


class Timed:
    """The extension module, with the seconds of its last alignment."""

    seconds = 0.0

    def align(self, *arguments):
        start = time.perf_counter()
        found = _lib.align(*arguments)
        self.seconds = time.perf_counter() - start
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="resnet50")
    parser.add_argument("--solver", default="best")
    parser.add_argument("--reps", type=int, default=5)
    args = parser.parse_args()
    models = [getattr(torchvision.models, args.network)(weights=None).eval() for _ in range(2)]
    size = 224
    start = time.perf_counter()
    symmetry = onebasin.symmetry.from_torch(models[0], torch.zeros(2, 3, size, size))
    print(f"{symmetry}, found in {time.perf_counter() - start:.1f} s")
    a, b = (model.state_dict() for model in models)
    tensors = sum(value.numel() * value.element_size() for state in (a, b) for value in state.values())
    timed = onebasin.alignment._lib = Timed()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    whole, inside = [], []
    for _ in range(args.reps):
        start = time.perf_counter()
        found = onebasin.align(a, b, symmetry, solver=args.solver)
        whole.append(time.perf_counter() - start)
        inside.append(timed.seconds)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    same = sum(found.aligned[name] is b[name] for name in b)
    print(f"{found}, {found.assignments} assignments; {same} of {len(b)} tensors are the same objects")
    print(f"onebasin.align {statistics.median(whole):.3f} s, of which matching {found.seconds:.3f} s")
    print(f"overhead over the Rust call: {statistics.median(w - i for w, i in zip(whole, inside)) / statistics.median(inside):.2%}")
    print(f"tensors of both {tensors / 1e6:.0f} MB; peak memory rises by {(after - before) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
