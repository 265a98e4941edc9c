"""Posteriors of libraries of PyTorch: bayesian-torch, torch-uncertainty, IVON and Laplace, as the libraries themselves compute them."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import onebasin as ob  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from networks import train  # noqa: E402
from torch import nn  # noqa: E402

X = torch.randn(40, 1, 6, 6, generator=torch.Generator().manual_seed(0))
Y = (X.mean((1, 2, 3)) > 0).long()
SCALES = ("rho_", "_sigma")


class Net(nn.Module):
    """A convolution and two linear layers."""

    def __init__(self, conv=nn.Conv2d, linear=nn.Linear):
        super().__init__()
        self.conv, self.hidden, self.head = conv(1, 4, 3), linear(64, 6), linear(6, 2)

    def forward(self, x):
        return self.head(F.relu(self.hidden(F.relu(self.conv(x)).flatten(1))))


def trained(model):
    # Scales of many sizes.
    for name, parameter in model.named_parameters():
        if any(mark in name for mark in SCALES):
            nn.init.normal_(parameter, -3.0, 0.7)
    return train(model, X, Y, F.cross_entropy, steps=10)


def of_bayesian_torch(seed):
    pytest.importorskip("bayesian_torch")
    from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn

    torch.manual_seed(seed)
    model = Net()
    settings = {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0, "posterior_rho_init": -3.0}
    dnn_to_bnn(model, settings | {"type": "Reparameterization", "moped_enable": False, "moped_delta": 0.5})
    return trained(model)


def of_torch_uncertainty(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("torch_uncertainty")
        from torch_uncertainty.layers.bayesian import BayesConv2d, BayesLinear

    torch.manual_seed(seed)
    return trained(Net(BayesConv2d, BayesLinear))


class Noise(torch.overrides.TorchFunctionMode):
    """Replaces noise by one number, and keeps the weights and biases that layers compute with: mean + noise * std."""

    def __init__(self, noise):
        super().__init__()
        self.noise, self.weights = noise, []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if name == "normal_":
            return args[0].fill_(self.noise)
        if name in ("randn", "randn_like"):
            return torch.full_like(function(*args, **kwargs), self.noise)
        if name in ("linear", "conv2d"):
            self.weights += [own.detach().clone() for own in (args[1], args[2] if len(args) > 2 else kwargs["bias"])]
        return function(*args, **kwargs)


def by_the_library(model):
    """Outputs, and mean and standard deviation of each parameter, as the layers themselves compute them."""
    with torch.no_grad(), Noise(0.0) as zeros:
        outputs = model(X)
    with torch.no_grad(), Noise(1.0) as ones:
        model(X)
    names = [name for name, _ in Net().named_parameters()]
    means = dict(zip(names, zeros.weights, strict=True))
    return outputs, means, {name: own - means[name] for name, own in zip(names, ones.weights, strict=True)}


def near(first, second):
    assert list(first) == list(second)
    for name in first:
        np.testing.assert_allclose(first[name], second[name], atol=2e-6, rtol=2e-4)


@pytest.fixture(scope="module")
def sym():
    return ob.symmetry.from_torch(Net(), X)


LIBRARIES = {"bayesian-torch": of_bayesian_torch, "torch-uncertainty": of_torch_uncertainty}


@pytest.mark.parametrize("library", LIBRARIES)
def test_mean_and_deviation_are_those_of_the_layers(library, sym):
    model = LIBRARIES[library](1)
    _, means, stds = by_the_library(model)
    q = ob.posterior(model, sym)
    assert all(isinstance(value, torch.Tensor) for value in (*q.mean.values(), *q.std.values()))
    near(q.mean, means)
    near(q.std, stds)


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_aligned_posterior_is_the_same_for_its_library(library, sym):
    a, b = LIBRARIES[library](1), LIBRARIES[library](2)
    outputs, means, stds = by_the_library(b)
    found = ob.align(a, b, sym)
    assert found.format == library and found.w2_after < found.w2_before
    b.load_state_dict(found.aligned)
    after, permuted_means, permuted_stds = by_the_library(b)
    np.testing.assert_allclose(outputs, after, atol=1e-5)
    near(ob.permute(means, found.permutations, sym), permuted_means)
    near(ob.permute(stds, found.permutations, sym), permuted_stds)
    # The planted permutation of a posterior is found.
    planted = sym.random_permutations(5)
    again = ob.align(a, ob.permute(a, planted, sym), sym)
    assert again.w2_after == 0
    assert all(np.array_equal(planted[name][order], np.arange(len(order))) for name, order in again.permutations.items())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("prefix", ["", "state_dict.model."])
def test_a_gaussian_is_written_into_layers(library, prefix, sym):
    a, b = LIBRARIES[library](1), LIBRARIES[library](2)
    q = ob.posterior(a, sym)
    like = {prefix + name: value for name, value in b.state_dict().items()}
    stored = ob.adapters.store(q, like)
    assert list(stored) == list(like)
    b.load_state_dict({name.removeprefix(prefix): value for name, value in stored.items()})
    outputs, means, stds = by_the_library(b)
    near(q.mean, means)
    near(q.std, stds)
    np.testing.assert_allclose(outputs, by_the_library(a)[0], atol=1e-5)
    # Both directions read the same names.
    assert ob.adapters.store(q, b, format=library).keys() == b.state_dict().keys()
    near(ob.posterior(stored, sym).std, stds)


@pytest.mark.parametrize("format", ["blitz", "torchbnn", "torch-blue", "onebasin"])
def test_what_is_written_is_read_again(format):
    pairs = {"blitz": "a.{}_mu a.{}_rho", "torchbnn": "a.{}_mu a.{}_log_sigma", "torch-blue": "a._{}_mean a._{}_log_std"}
    names = pairs.get(format, "mean/a.{} std/a.{}").split()
    shapes = {"weight": (3, 2), "bias": (3,)}
    like = {name.format(leaf): np.ones(shape, np.float32) for name in names for leaf, shape in shapes.items()}
    rng = np.random.default_rng(0)
    random = lambda: {f"a.{leaf}": rng.uniform(1e-3, 30.0, shape).astype(np.float32) for leaf, shape in shapes.items()}
    q = ob.Gaussian(random(), random())
    sym = ob.symmetry.from_dict({"a.weight": ("units", None), "a.bias": ("units",)}, like=q.mean)
    read = ob.posterior(ob.adapters.store(q, like, format=format), sym, format=format)
    near(q.mean, read.mean)
    near(q.std, read.std)


def test_what_cannot_be_written_is_refused(sym):
    model = of_bayesian_torch(1)
    q = ob.posterior(model, sym)
    with pytest.raises(ob.InputError, match="`format` is 'blits'; it must be one of onebasin"):
        ob.adapters.store(q, model, format="blits")
    with pytest.raises(ob.InputError, match="the names in `like` are not any of"):
        ob.adapters.store(q, Net())
    with pytest.raises(ob.InputError, match="the standard deviations of `conv.weight` are not all positive"):
        ob.adapters.store(ob.Gaussian.point(q.mean), model)
    wider = ob.Gaussian(q.mean | {"head.bias": torch.ones(3)}, q.std | {"head.bias": torch.ones(3)})
    with pytest.raises(ob.InputError, match=r"`head.bias` has the shape \(3,\), and `head.mu_bias` in `like` has \(2,\)"):
        ob.adapters.store(wider, model)


def of_ivon(seed):
    """The checkpoint of a training by IVON, and its standard deviations."""
    ivon = pytest.importorskip("ivon")
    torch.manual_seed(seed)
    model = Net()
    optimizer = ivon.IVON(model.parameters(), lr=0.1, ess=40.0, weight_decay=1e-2, hess_init=0.5, beta2=0.9)
    for _ in range(10):
        with optimizer.sampled_params(train=True):
            optimizer.zero_grad()
            F.cross_entropy(model(X), Y).backward()
        optimizer.step()
    means = [parameter.detach().clone() for parameter in model.parameters()]
    with Noise(1.0), optimizer.sampled_params(train=False):
        stds = [(own - mean).detach() for own, mean in zip(model.parameters(), means)]
    names = [name for name, _ in model.named_parameters()]
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    return checkpoint, dict(zip(names, means)), dict(zip(names, stds)), (model, optimizer)


def test_ivon(sym):
    checkpoint, means, stds, _ = of_ivon(1)
    q = ob.posterior(checkpoint, sym)
    near(q.mean, means)
    near(q.std, stds)
    other, _, other_stds, (model, optimizer) = of_ivon(2)
    before = model(X)
    found = ob.align(checkpoint, other, sym)
    assert found.format == "ivon" and found.w2_after < found.w2_before
    model.load_state_dict(found.aligned["model"])
    optimizer.load_state_dict(found.aligned["optimizer"])
    np.testing.assert_allclose(before.detach(), model(X).detach(), atol=1e-5)
    means = [parameter.detach().clone() for parameter in model.parameters()]
    with Noise(1.0), optimizer.sampled_params(train=False):
        stds = {name: (own - mean).detach() for (name, own), mean in zip(model.named_parameters(), means)}
    near(ob.permute(other_stds, found.permutations, sym), stds)


def test_laplace(sym):
    Laplace = pytest.importorskip("laplace").Laplace
    from torch.utils.data import DataLoader, TensorDataset

    def fitted(seed):
        torch.manual_seed(seed)
        model = train(Net(), X, Y, F.cross_entropy)
        laplace = Laplace(model, "classification", subset_of_weights="all", hessian_structure="diag", prior_precision=2.0)
        laplace.fit(DataLoader(TensorDataset(X, Y), batch_size=20))
        return laplace

    a, b = fitted(1), fitted(2)
    q = ob.posterior(a.state_dict(), sym)
    flat = lambda part: np.concatenate([value.reshape(-1) for value in part.values()])
    np.testing.assert_allclose(flat(q.mean), a.mean, atol=1e-6)
    np.testing.assert_allclose(flat(q.std), a.posterior_scale, rtol=1e-4)
    before = b(X[:5], link_approx="probit")
    found = ob.align(a.state_dict(), b.state_dict(), sym)
    assert found.format == "laplace" and found.w2_after < found.w2_before
    b.load_state_dict(found.aligned)
    torch.nn.utils.vector_to_parameters(b.mean, b.model.parameters())
    np.testing.assert_allclose(before.detach(), b(X[:5], link_approx="probit").detach(), atol=1e-5)
