"""Barriers and paths between networks that NumPy evaluates."""

import numpy as np
import onebasin as ob
import pytest
from test_alignment import SYMMETRY, checkpoint, planted

X = np.random.default_rng(9).normal(size=(300, 5)).astype(np.float32)


def forward(p, x=X):
    hidden = np.maximum(x @ p["fc1.weight"].T + p["fc1.bias"], 0)
    hidden = np.maximum(hidden @ p["fc2.weight"].T + p["fc2.bias"], 0)
    return hidden @ p["fc3.weight"].T / 16


LABELS = forward(checkpoint(0)).argmax(axis=1)


def softmax(logits):
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


def test_points_have_the_loss_that_numpy_computes():
    a, b = checkpoint(0), checkpoint(1)
    found = ob.barrier(a, b, forward, LABELS, points=5)["no alignment"]
    for tau, point in ob.geodesic(a, b, points=5):
        own = -np.log(softmax(forward(point).astype(float))[np.arange(len(LABELS)), LABELS]).mean()
        assert found.loss[int(4 * tau)] == pytest.approx(own, rel=1e-5)
    assert found.samples == 1 and np.isnan(found.barrier_se)
    chord = (1 - found.tau) * found.loss[0] + found.tau * found.loss[-1]
    assert found.barrier == pytest.approx((found.loss - chord)[1:-1].max(), rel=1e-9)


def test_a_planted_permutation_leaves_no_barrier():
    a = checkpoint(0)
    b, _ = planted(a, 1)
    found = ob.barrier(a, b, forward, LABELS, symmetry=SYMMETRY, points=5)
    assert found["no alignment"].barrier > 0.1
    assert abs(found["w2"].barrier) < 1e-6
    assert found.alignments["w2"].w2_after == 0


def gaussians():
    std = {name: np.full_like(value, 0.05) for name, value in checkpoint(0).items()}
    return ob.Gaussian(checkpoint(0), std), ob.Gaussian(checkpoint(1), std)


def test_logits_and_probabilities_inputs_and_threads_give_the_same_curve():
    a, b = gaussians()
    how = {"points": 5, "samples": 16}
    base = ob.barrier(a, b, forward, LABELS, threads=1, **how)["no alignment"]
    for other in (
        ob.barrier(a, b, lambda p: softmax(forward(p)), LABELS, **how),
        ob.barrier(a, b, forward, LABELS, inputs=X, **how),
        ob.barrier(a, b, forward, LABELS, threads=3, **how),
    ):
        np.testing.assert_allclose(other["no alignment"].loss, base.loss, rtol=1e-5)
    again = ob.barrier(a, b, forward, LABELS, threads=2, **how)["no alignment"]
    np.testing.assert_array_equal(again.loss, base.loss)
    assert base.barrier_se > 0 and base.samples == 16


def test_natural_paths_and_calibration():
    a, b = gaussians()
    found = ob.barrier(
        a, b, forward, LABELS, symmetry=SYMMETRY, criteria=["w2", "kl"], path=["geodesic", "natural"], points=3, samples=4, calibrate=True
    )
    assert set(found.curves) == {
        f"{name}{calibrated}"
        for name in ("no alignment", "w2", "w2, natural", "kl", "kl, natural")
        for calibrated in ("", ", calibrated")
    }
    assert found["w2, calibrated"].temperatures.shape == (3,)


def test_a_regression_is_scored_by_squares():
    a, b = checkpoint(0), checkpoint(1)
    targets = forward(a)
    found = ob.barrier(a, b, forward, targets=targets, points=3)["no alignment"]
    assert found.loss[0] == pytest.approx(0, abs=1e-9)
    assert found.loss[-1] == pytest.approx(((forward(b) - targets) ** 2).mean(), rel=1e-4)


def test_a_path_keeps_types_and_what_is_no_parameter():
    a = {**checkpoint(0, np.float64), "steps": np.int64(7)}
    b = {**checkpoint(1, np.float64), "steps": np.int64(9)}
    points = list(ob.geodesic(a, b, points=3))
    assert [tau for tau, _ in points] == [0, 0.5, 1]
    middle = points[1][1]
    assert middle["steps"] == 7 and middle["fc1.bias"].dtype == np.float64
    np.testing.assert_allclose(middle["fc1.bias"], (a["fc1.bias"] + b["fc1.bias"]) / 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": None}, "give `labels`"),
        ({"labels": LABELS[:-1]}, "299 rows"),
        ({"labels": LABELS + 5}, "counted from 0"),
        ({"labels": LABELS.astype(float)}, "whole number"),
        ({"predict": lambda p: "nothing"}, "returned"),
        ({"predict": lambda p, x: forward(p)}, "`inputs`"),
        ({"points": 4}, "odd"),
        ({"samples": 0}, "samples"),
        ({"path": "scenic"}, "geodesic"),
        ({"outputs": "odds"}, "'odds'"),
        ({"b": {"w": np.zeros(3)}}, "not of one network"),
    ],
)
def test_mistakes(change, message):
    arguments = {"a": checkpoint(0), "b": checkpoint(1), "predict": forward, "labels": LABELS, **change}
    with pytest.raises(ob.InputError, match=message):
        ob.barrier(**arguments)


def test_what_predict_raises_comes_back():
    calls = []

    def fails(p):
        calls.append(p)
        if len(calls) > 3:
            raise ZeroDivisionError("on purpose")
        return forward(p)

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        ob.barrier(checkpoint(0), checkpoint(1), fails, LABELS)


def test_a_gaussian_stands_for_its_samples():
    rng = np.random.default_rng(2)
    noisy = lambda tree: {name: value + 0.02 * rng.normal(size=value.shape).astype(np.float32) for name, value in tree.items()}
    samples = [noisy(planted(checkpoint(0), seed)[0]) for seed in range(6)]
    found = ob.compact(samples, forward, LABELS, symmetry=SYMMETRY, ranks=[0, 3], draws=20)
    rows = {(row["name"], row["rank"]): row for row in found.rows}
    assert rows["relabel", 0]["agreement"] > 0.95 > rows["none", 0]["agreement"]
    assert rows["samples", None]["error"] < 0.1
    assert set(found.gaussians) >= {"none", "mean", "relabel", "relabel-rank3"}
    draw = found.gaussians["relabel-rank3"].sample(0)
    assert (forward(draw).argmax(axis=1) == LABELS).mean() > 0.9
    without = ob.compact(samples, forward, symmetry=SYMMETRY, ranks=[0], draws=5)
    assert "nll" not in without.rows[0] and without.rows[0]["agreement"] == 1
