"""The package needs NumPy and nothing else."""

import os
import subprocess
import sys

import onebasin

SCRIPT = '''
import sys

class Refused:
    """An environment without any package but NumPy and this one."""

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "onebasin"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refused())
import numpy as np
import onebasin as ob

for name in ("torch", "jax", "scipy", "tqdm", "matplotlib", "arviz"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    raise SystemExit(f"{name} was found")

rng = np.random.default_rng(0)
a = {"w": rng.normal(size=(8, 3)), "b": rng.normal(size=8), "v": rng.normal(size=(2, 8))}
sym = ob.symmetry.from_dict({"w": ("hidden", None), "b": ("hidden",), "v": (None, "hidden")}, like=a)
b = ob.permute(a, sym.random_permutations(1), sym)
found = ob.align(a, b, sym, progress=True)
assert found.w2_after == 0 < found.w2_before and (found.aligned["w"] == a["w"]).all()
q = ob.Gaussian(a, {name: np.full_like(value, 0.1) for name, value in a.items()})
assert len(list(ob.geodesic(q, q, points=3))) == 3
x, labels = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
predict = lambda point: np.maximum(x @ point["w"].T + point["b"], 0) @ point["v"].T
curve = ob.barrier(a, b, predict, labels, points=3, samples=1, symmetry=sym)
print("aligned with", np.__version__)
'''


def test_everything_but_pictures_works_with_numpy_alone():
    # The package that is tested, wherever it lies.
    path = os.path.dirname(os.path.dirname(onebasin.__file__))
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("aligned with")
