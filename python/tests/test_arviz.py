"""Chains of numpyro and BlackJAX in an `InferenceData` of ArviZ: samples out, relabelled samples in."""

import warnings

import numpy as np
import pytest

jax = pytest.importorskip("jax")
numpyro = pytest.importorskip("numpyro")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    arviz = pytest.importorskip("arviz")

import jax.numpy as jnp  # noqa: E402
import numpyro.distributions as D  # noqa: E402
import onebasin as ob  # noqa: E402
from onebasin.adapters.arviz import from_inference_data, relabel, to_inference_data  # noqa: E402

X = np.linspace(-2, 2, 40, dtype=np.float32)[:, None]
Y = np.tanh(2 * X[:, 0]) - 0.5 * np.tanh(X[:, 0] - 1)
AXES = {"w1": (None, "hidden"), "b1": ("hidden",), "w2": ("hidden",)}
CHAINS, DRAWS = 3, 80


def outputs(sample, x=X):
    return jnp.tanh(x @ sample["w1"] + sample["b1"]) @ sample["w2"]


def network(x, y=None):
    sample = {
        "w1": numpyro.sample("w1", D.Normal(0, 2).expand([1, 4]).to_event(2)),
        "b1": numpyro.sample("b1", D.Normal(0, 2).expand([4]).to_event(1)),
        "w2": numpyro.sample("w2", D.Normal(0, 2).expand([4]).to_event(1)),
    }
    numpyro.sample("y", D.Normal(outputs(sample, x), numpyro.sample("noise", D.HalfNormal(0.5))), obs=y)


@pytest.fixture(scope="module")
def chains():
    kernel = numpyro.infer.NUTS(network, max_tree_depth=6)
    mcmc = numpyro.infer.MCMC(
        kernel, num_warmup=80, num_samples=DRAWS, num_chains=CHAINS, chain_method="vectorized", progress_bar=False
    )
    mcmc.run(jax.random.PRNGKey(0), X, Y)
    return arviz.from_numpyro(mcmc)


def test_samples_are_read_chain_by_chain_and_written_back(chains):
    samples = from_inference_data(chains)
    assert len(samples) == CHAINS * DRAWS
    np.testing.assert_array_equal(samples[DRAWS + 3]["w1"], chains.posterior["w1"].values[1, 3])
    assert np.shares_memory(samples[0]["w1"], chains.posterior["w1"].values)
    again = to_inference_data(samples, like=chains)
    assert again.posterior.equals(chains.posterior) and again.groups() == chains.groups()
    built = to_inference_data(samples, chains=CHAINS)
    np.testing.assert_array_equal(built.posterior["w2"].values, chains.posterior["w2"].values)


def test_relabelled_chains_are_the_same_functions_of_one_basin(chains):
    sym = ob.symmetry.from_dict(AXES)
    before = chains.posterior.copy(deep=True)
    relabelled = relabel(chains, sym, keep="noise")
    assert chains.posterior.equals(before)
    assert relabelled.posterior.coords.equals(chains.posterior.coords) and relabelled.posterior.attrs == chains.posterior.attrs
    assert relabelled.sample_stats.equals(chains.sample_stats)
    assert relabelled.posterior["noise"].equals(chains.posterior["noise"])
    for old, new in zip(from_inference_data(chains), from_inference_data(relabelled)):
        np.testing.assert_allclose(outputs(old), outputs(new), atol=1e-5)
    # The units of all samples lie closer to their Gaussian.
    variance = lambda data: sum(float(data.posterior[name].values.var(axis=(0, 1)).sum()) for name in AXES)
    assert variance(relabelled) < 0.95 * variance(chains)


@pytest.mark.parametrize("together", [30, 1])
def test_chains_with_their_units_in_another_order_converge_once_relabelled(together):
    """Each chain has an order of its own, or each sample."""
    rng = np.random.default_rng(0)
    centre = {"w1": np.array([[-3.0, -1.0, 1.0, 3.0]]), "b1": np.arange(4.0), "w2": np.array([2.0, -2.0, 1.0, -1.0])}
    samples = [{name: value + 0.05 * rng.standard_normal(value.shape) for name, value in centre.items()} for _ in range(120)]
    sym = ob.symmetry.from_dict(AXES, like=centre)
    mixed = [ob.permute(sample, sym.random_permutations(index // together), sym) for index, sample in enumerate(samples)]
    data = to_inference_data(mixed, chains=4)
    tidy = relabel(data, sym)
    rhat = lambda data: max(float(arviz.rhat(data)[name].max()) for name in AXES)
    largest = lambda data: max(float(data.posterior[name].values.std(axis=(0, 1)).max()) for name in AXES)
    assert largest(data) > 1 and largest(tidy) < 0.1
    assert rhat(tidy) < 1.1 and (together == 1 or rhat(data) > 2)


def test_samples_of_blackjax(chains):
    blackjax = pytest.importorskip("blackjax")

    def density(position):
        errors = Y - outputs(position)
        return -0.5 * sum((value**2).sum() / 4 for value in position.values()) - 50 * (errors**2).sum()

    start = {name: jnp.asarray(value) for name, value in from_inference_data(chains)[0].items() if name in AXES}
    nuts = blackjax.nuts(density, step_size=0.02, inverse_mass_matrix=jnp.ones(12))
    step = jax.jit(nuts.step)
    state, samples = nuts.init(start), []
    for key in jax.random.split(jax.random.PRNGKey(1), 40):
        state, _ = step(key, state)
        samples.append(state.position)
    sym = ob.symmetry.from_dict(AXES)
    found = ob.align_many(samples, sym, to="relabel")
    assert all(isinstance(sample["w1"], jax.Array) for sample in found.aligned)
    for old, new in zip(samples, found.aligned):
        np.testing.assert_allclose(outputs(old), outputs(new), atol=1e-5)
    assert {name: mean.shape for name, mean in found.gaussian.mean.items()} == {name: value.shape for name, value in start.items()}
    data = to_inference_data(found.aligned, chains=1)
    assert data.posterior["w1"].shape == (1, 40, 1, 4)


def test_what_is_no_inference_data_is_refused(chains):
    with pytest.raises(ob.InputError, match="a dict has no group 'posterior'"):
        from_inference_data({})
    samples = from_inference_data(chains)
    with pytest.raises(ob.InputError, match="there are 5 samples, and `like` has 3 chains of 80"):
        to_inference_data(samples[:5], like=chains)
    with pytest.raises(ob.InputError, match="how many equally long chains the 5 samples are of, not 2"):
        to_inference_data(samples[:5], chains=2)
    with pytest.raises(ob.InputError, match="a variable `other`"):
        to_inference_data([sample | {"other": np.zeros(1)} for sample in samples], like=chains)
