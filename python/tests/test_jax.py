"""JAX: trees of parameters of Flax in, trees of the same kind out, with symmetries that are written down."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
flax = pytest.importorskip("flax")

import jax.numpy as jnp  # noqa: E402
import onebasin as ob  # noqa: E402
import optax  # noqa: E402
from flax import linen, nnx  # noqa: E402


class Mlp(linen.Module):
    """4-8-6-3."""

    @linen.compact
    def __call__(self, x):
        x = linen.relu(linen.Dense(8)(x))
        x = linen.relu(linen.Dense(6)(x))
        return linen.Dense(3)(x)


MLP = {
    "Dense_0/kernel": (None, "first"),
    "Dense_0/bias": ("first",),
    "Dense_1/kernel": ("first", "second"),
    "Dense_1/bias": ("second",),
    "Dense_2/kernel": ("second", None),
    "Dense_2/bias": (None,),
}


def trained(seed, steps=50):
    """Parameters after a few steps on random labels, with inputs."""
    model = Mlp()
    x = jax.random.normal(jax.random.PRNGKey(0), (32, 4))
    y = jnp.arange(32) % 3
    params = model.init(jax.random.PRNGKey(seed), x)["params"]
    optimizer = optax.adam(0.02)
    loss = lambda params: optax.softmax_cross_entropy_with_integer_labels(model.apply({"params": params}, x), y).mean()

    @jax.jit
    def step(params, state):
        updates, state = optimizer.update(jax.grad(loss)(params), state)
        return optax.apply_updates(params, updates), state

    state = optimizer.init(params)
    for _ in range(steps):
        params, state = step(params, state)
    return model, params, x


@pytest.mark.parametrize("frozen", [False, True])
def test_a_planted_permutation_of_a_tree_of_flax_is_found(frozen):
    model, params, x = trained(1)
    params = flax.core.freeze(params) if frozen else params
    sym = ob.symmetry.from_dict(MLP, like=params)
    predict = lambda params: model.apply({"params": params}, x)
    assert ob.symmetry.check_function(sym, params, predict) < 2e-6
    planted = sym.random_permutations(1)
    found = ob.align(params, ob.permute(params, planted, sym), sym)
    assert found.w2_after == 0 < found.w2_before
    assert type(found.aligned) is type(params)
    same = jax.tree.map(lambda a, b: isinstance(b, jax.Array) and a.dtype == b.dtype and bool((a == b).all()), params, found.aligned)
    assert all(jax.tree.leaves(same)) and jax.tree.structure(same) == jax.tree.structure(params)


def test_two_trained_networks_come_closer_and_keep_their_function():
    model, a, x = trained(1)
    _, b, _ = trained(2)
    found = ob.align(a, b, ob.symmetry.from_dict(MLP))
    assert found.w2_after < found.w2_before
    np.testing.assert_allclose(model.apply({"params": b}, x), model.apply({"params": found.aligned}, x), atol=1e-5)
    assert found.aligned["Dense_2"]["bias"] is b["Dense_2"]["bias"]


def test_names_may_have_the_collection_before_them():
    _, params, _ = trained(1, steps=0)
    sym = ob.symmetry.from_dict(MLP, like=params)
    permuted = ob.permute({"params": params}, sym.random_permutations(1), sym)
    assert permuted["params"]["Dense_0"]["kernel"].shape == (4, 8)


def test_bfloat16_is_permuted_without_rounding():
    values = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], jnp.bfloat16)
    permuted = ob.permute({"w": values}, {"hidden": [2, 0, 1]}, ob.symmetry.from_dict({"w": ("hidden", None)}))["w"]
    assert permuted.dtype == jnp.bfloat16 and bool((permuted == values[jnp.array([2, 0, 1])]).all())


class Normed(nnx.Module):
    """A layer with batch normalisation and dropout, which has a random state."""

    def __init__(self, rngs):
        self.first, self.norm = nnx.Linear(4, 8, rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
        self.dropout, self.last = nnx.Dropout(0.5, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))


def test_a_module_of_nnx_gives_a_state_that_updates_it():
    model = Normed(nnx.Rngs(0))
    x = jax.random.normal(jax.random.PRNGKey(1), (16, 4))
    model(x)  # sets the running statistics
    model.eval()
    before = model(x)
    axes = {"first/kernel": (None, "h"), "first/bias": ("h",), "last/kernel": ("h", None), "last/bias": (None,)}
    axes |= {f"norm/{name}": ("h",) for name in ("scale", "bias", "mean", "var")}
    sym = ob.symmetry.from_dict(axes)
    permuted = ob.permute(model, {"h": [3, 1, 0, 2, 7, 6, 5, 4]}, sym, keep="dropout")
    assert type(permuted) is type(nnx.state(model)) and isinstance(permuted["norm"]["mean"], nnx.BatchStat)
    nnx.update(model, permuted)
    np.testing.assert_allclose(before, model(x), atol=1e-6)
    assert not np.array_equal(permuted["first"]["bias"].get_value(), before)
    found = ob.align(nnx.state(Normed(nnx.Rngs(0))), permuted, sym, keep="dropout")
    assert found.w2_after < found.w2_before
