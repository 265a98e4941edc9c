"""The NumPy peer: normal random numbers."""

import numpy as np

import networks
import serve


def build(case):
    if case != "normals":
        raise ValueError(f"numpy has no case {case}")
    generator = np.random.default_rng(0)
    out = np.empty(networks.NORMALS, np.float32)
    return lambda: generator.standard_normal(dtype=np.float32, out=out)


if __name__ == "__main__":
    serve.arguments("NumPy")
    serve.serve(build)
