"""Alignment of arrays of NumPy: what comes back, of which kind, and what is refused."""

import numpy as np
import onebasin as ob
import pytest

AXES = {
    "fc1.weight": ("first", None),
    "fc1.bias": ("first",),
    "fc2.weight": ("second", "first"),
    "fc2.bias": ("second",),
    "fc3.weight": (None, "second"),
}
SIZES = {"first": 24, "second": 16}


def checkpoint(seed, dtype=np.float32):
    rng = np.random.default_rng(seed)
    size = lambda axis, free: SIZES.get(axis, free)
    free = {"fc1.weight": 5, "fc3.weight": 3}
    return {name: rng.normal(size=[size(axis, free.get(name)) for axis in axes]).astype(dtype) for name, axes in AXES.items()}


def planted(tree, seed):
    """The same function with its units in another order, and the orders that bring them back."""
    rng = np.random.default_rng(seed)
    orders = {name: rng.permutation(size) for name, size in SIZES.items()}
    moved = {}
    for name, values in tree.items():
        for axis, group in enumerate(AXES[name]):
            if group:
                values = np.take(values, orders[group], axis)
        moved[name] = values
    return moved, {name: np.argsort(order) for name, order in orders.items()}


SYMMETRY = ob.symmetry.from_dict(AXES)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
def test_a_planted_permutation_is_undone_to_the_last_bit(dtype):
    a = checkpoint(0, dtype)
    b, back = planted(a, 1)
    found = ob.align(a, b, SYMMETRY)
    for name, values in a.items():
        assert found.aligned[name].dtype == values.dtype
        np.testing.assert_array_equal(found.aligned[name], values)
    for group, order in back.items():
        np.testing.assert_array_equal(found.permutations[group], order)
    assert found.w2_after == 0 < found.w2_before
    assert found.objective_before < found.objective_after <= found.bound


def test_arrays_that_nothing_permutes_are_the_same_objects():
    a, extra = checkpoint(0), np.arange(3)
    b, _ = planted(a, 1)
    axes = {**AXES, "head": (None,)}
    head = np.ones(3, np.float32)
    found = ob.align({**a, "head": head}, {**b, "head": head}, ob.symmetry.from_dict(axes))
    assert found.aligned["head"] is head
    kept = ob.align({**a, "ema.x": extra}, {**b, "ema.x": extra}, SYMMETRY, keep="ema")
    assert kept.aligned["ema.x"] is extra


def test_nested_trees_keep_their_containers():
    a = checkpoint(0)
    b, _ = planted(a, 1)
    nest = lambda tree: {"net": {name.replace(".", "/"): value for name, value in tree.items()}, "epoch": 3}
    axes = {f"net/{name.replace('.', '/')}": own for name, own in AXES.items()}
    found = ob.align(nest(a), nest(b), ob.symmetry.from_dict(axes))
    assert found.aligned["epoch"] == 3
    np.testing.assert_array_equal(found.aligned["net"]["fc2/weight"], a["fc2.weight"])


def test_gaussians_come_back_as_gaussians():
    a, s = checkpoint(0), {name: np.abs(value) for name, value in checkpoint(7).items()}
    b, _ = planted(a, 1)
    t, _ = planted(s, 1)
    found = ob.align(ob.Gaussian(a, s), ob.Gaussian(b, t), SYMMETRY)
    assert isinstance(found.aligned, ob.Gaussian)
    np.testing.assert_array_equal(found.aligned.std["fc1.bias"], s["fc1.bias"])
    assert found.format == "onebasin"


@pytest.mark.parametrize("to", ["first", "mean", "universe", "relabel"])
def test_many_copies_are_brought_together(to):
    a = checkpoint(0)
    rng = np.random.default_rng(3)
    noisy = lambda tree: {name: value + 0.01 * rng.normal(size=value.shape).astype(np.float32) for name, value in tree.items()}
    found = ob.align_many([a, *(noisy(planted(a, seed)[0]) for seed in range(1, 5))], SYMMETRY, to=to)
    assert len(found.aligned) == 5 and found.aligned[0] is a
    for aligned in found.aligned[1:]:
        np.testing.assert_allclose(aligned["fc2.weight"], a["fc2.weight"], atol=0.1)
    assert (found.gaussian is not None) == (to == "relabel")
    if to == "relabel":
        np.testing.assert_allclose(found.gaussian.mean["fc1.bias"], a["fc1.bias"], atol=0.1)


def test_permute_is_undone_by_the_inverse():
    a = checkpoint(0)
    b, back = planted(a, 1)
    restored = ob.permute(b, back, SYMMETRY)
    for name in a:
        np.testing.assert_array_equal(restored[name], a[name])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads):
    a, b = checkpoint(0), checkpoint(1)
    one = ob.align(a, b, SYMMETRY, threads=1)
    many = ob.align(a, b, SYMMETRY, threads=threads)
    assert one.w2_after == many.w2_after
    for name in a:
        np.testing.assert_array_equal(one.aligned[name], many.aligned[name])


def broken(**changes):
    return {**checkpoint(0), **changes}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ob.align(checkpoint(0), {}, SYMMETRY), "has no arrays"),
        (lambda: ob.align("a.pt", checkpoint(0), SYMMETRY), "is a path: read the file first"),
        (lambda: ob.align(checkpoint(0), checkpoint(1), AXES), "`symmetry` is a dict"),
        (lambda: ob.align(checkpoint(0), checkpoint(1), SYMMETRY, criterion="w3"), "w3"),
        (lambda: ob.align(checkpoint(0), checkpoint(1), SYMMETRY, solver="magic"), "magic"),
        (lambda: ob.align(checkpoint(0), checkpoint(1), SYMMETRY, criterion="activation"), "needs no data"),
        (lambda: ob.align(checkpoint(0), broken(other=np.zeros(4, np.float32)), SYMMETRY), 'keep'),
        (lambda: ob.align(checkpoint(0), broken(**{"fc1.bias": np.full(24, np.nan, np.float32)}), SYMMETRY), "fc1.bias"),
        (lambda: ob.align_many([checkpoint(0)], SYMMETRY), "at least 2"),
        (lambda: ob.align(checkpoint(0), checkpoint(1), SYMMETRY, threads=0), "threads"),
        (lambda: ob.permute(checkpoint(0), {"third": [0]}, SYMMETRY), "third"),
        (lambda: ob.permute(checkpoint(0), {"second": [0] * 16}, SYMMETRY), "0"),
        (lambda: ob.symmetry.from_dict({"w": ("h",)}, like=checkpoint(0)), "`w`"),
        (lambda: ob.symmetry.from_dict({"fc1.bias": ("h", None)}, like=checkpoint(0)), "2 axes"),
        (lambda: ob.symmetry.from_dict({"fc1.bias": ("h",), "fc2.bias": ("h",)}, like=checkpoint(0)), "24 units"),
        (lambda: ob.symmetry.from_file("missing.onnx"), "missing.onnx"),
        (lambda: ob.symmetry.from_toml("groups = 3"), "groups"),
    ],
)
def test_mistakes_are_input_errors_that_say_what_to_do(call, message):
    with pytest.raises((ob.InputError, ob.FileError), match=message):
        call()


def test_a_symmetry_survives_its_file(tmp_path):
    known = ob.symmetry.from_dict(AXES, like=checkpoint(0))
    known.save(tmp_path / "net.symmetry.toml")
    again = ob.symmetry.from_file(tmp_path / "net.symmetry.toml")
    assert again.groups == known.groups == SIZES
    assert again.tensors == known.tensors
    assert again.share == known.share


def test_progress_reaches_a_callback_and_what_it_raises_comes_back():
    a, b = checkpoint(0), checkpoint(1)
    heard = []
    ob.align(a, b, SYMMETRY, progress=lambda task, done, total: heard.append(task))
    assert any("aligning" in task for task in heard)

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ob.align(a, b, SYMMETRY, progress=stop)
