#!/usr/bin/env python3
"""Makes small posteriors by the real libraries, each with the means and standard deviations that the library itself computes.

Run `python make.py` with the packages of VERSIONS installed (in brackets: the versions of the last run). It writes beside itself

    networks/NAME.pt2 or .toml          graph or symmetry of a plain network
    posteriors/NAME.pt or .npz          a posterior, saved as users of the library save it
    posteriors/NAME.safetensors         `mean.TENSOR` and `std.TENSOR` of each parameter, computed by the library

All values are random with fixed seeds. A library that samples weights is asked for its standard deviations as follows: noise is
replaced by ones, so that a sampled weight is its mean plus its standard deviation. Of three libraries that are in no package
registry (swa_gaussian, PyTorch-BayesianCNN, bnn_hmc) the files are written by their documented names and formulas.
"""

import functools
import pathlib
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torch.overrides import TorchFunctionMode

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent
VERSIONS = [
    "torch 2.15.0", "bayesian-torch 0.5.0", "torch-uncertainty 0.13.0", "blitz-bayesian-pytorch 0.2.8", "torchbnn 1.2",
    "torch-blue 1.1.0", "posteriors 0.1.3", "laplace-torch 0.3", "ivon-opt 0.1.3", "pyro-ppl 1.9.2", "tyxe 0.0.2",
    "numpyro 0.22.0", "jax 0.10.2", "safetensors 0.8.0",
]


class Mlp(nn.Module):
    """4-6-5-3, with ReLU."""

    def __init__(self, linear=nn.Linear):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = linear(4, 6), linear(6, 5), linear(5, 3)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Conv(nn.Module):
    """Two convolutions and a linear layer on images of 6 x 6."""

    def __init__(self, conv=nn.Conv2d, linear=nn.Linear):
        super().__init__()
        self.conv1, self.conv2, self.fc = conv(1, 4, 3), conv(4, 5, 3), linear(20, 3)

    def forward(self, x):
        return self.fc(F.relu(self.conv2(F.relu(self.conv1(x)))).flatten(1))


class Norm(nn.Module):
    """A convolution with batch normalisation and a linear layer."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(1, 5, 3, bias=False), nn.BatchNorm2d(5), nn.Linear(80, 3)

    def forward(self, x):
        return self.fc(F.relu(self.norm(self.conv(x))).flatten(1))


INPUTS = {"mlp": (2, 4), "conv": (2, 1, 6, 6), "norm": (2, 1, 6, 6)}


def inputs(network):
    return torch.randn(INPUTS[network], generator=torch.Generator().manual_seed(7))


def randomise(model, scale_mark=None, shift=-2.0):
    """Random values for all parameters; `scale_mark` is part of the names of raw scales, which are about `shift`."""
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            is_scale = scale_mark is not None and scale_mark in name
            parameter.copy_(shift + 0.7 * noise if is_scale else 0.6 * noise)
        for name, buffer in model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
    return model


class Ones(TorchFunctionMode):
    """Replaces noise by ones, and keeps the weights and biases that layers are computed with."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if name == "normal_":
            return args[0].fill_(1.0)
        if name in ("randn", "randn_like", "normal"):
            if name == "normal" and isinstance(args[0], torch.Tensor):
                return args[0] + args[1]
            return torch.ones_like(function(*args, **kwargs))
        if name in ("linear", "conv2d"):
            weight = args[1] if len(args) > 1 else kwargs["weight"]
            bias = args[2] if len(args) > 2 else kwargs["bias"]
            self.weights += [weight.detach().clone(), bias.detach().clone()]
        return function(*args, **kwargs)


def save(name, network, posterior, mean, std, ending="pt"):
    folder = HERE / "posteriors"
    if ending == "npz":
        np.savez(folder / f"{name}.npz", **posterior)
    else:
        torch.save(posterior, folder / f"{name}.pt")
    tensor = lambda value: torch.tensor(np.asarray(value.detach() if isinstance(value, torch.Tensor) else value)).contiguous()
    expected = {f"mean.{key}": tensor(value) for key, value in mean.items()}
    expected |= {f"std.{key}": tensor(value) for key, value in std.items()}
    save_file(expected, folder / f"{name}.safetensors", {"network": network})
    print(name)


def save_layers(name, network, model, mean):
    """Saves the state dict of a model whose layers sample their weights; `mean` gives the mean of a parameter."""
    # Noise that a library saves is uninitialised before the first sample.
    torch.manual_seed(0)
    model(inputs(network))
    state = {key: value.clone() for key, value in model.state_dict().items()}
    with torch.no_grad(), Ones() as ones:
        model(inputs(network))
    parameters = [key for key, _ in PLAIN[network]().named_parameters()]
    means = {key: mean(state, *key.rsplit(".", 1)) for key in parameters}
    std = {key: weight.reshape(means[key].shape) - means[key] for key, weight in zip(parameters, ones.weights, strict=True)}
    model.load_state_dict(state)
    save(name, network, model.state_dict(), means, std)


PLAIN = {"mlp": Mlp, "conv": Conv, "norm": Norm}


def networks():
    for name, network in PLAIN.items():
        torch.manual_seed(0)
        program = torch.export.export(network().eval(), (inputs(name),))
        # Traces would name the folders of the machine that this runs on.
        for node in program.graph.nodes:
            node.meta.pop("stack_trace", None)
        torch.export.save(program, HERE / "networks" / f"{name}.pt2")


def bayesian_torch():
    from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn

    prior = {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0, "posterior_rho_init": -3.0}
    for kind in ("Reparameterization", "Flipout"):
        model = Conv()
        dnn_to_bnn(model, prior | {"type": kind, "moped_enable": False, "moped_delta": 0.5})
        randomise(model, "rho_")
        if kind == "Reparameterization":
            mean = lambda state, layer, leaf: state.get(f"{layer}.mu_{leaf}", state.get(f"{layer}.mu_kernel"))
            save_layers("bayesian-torch", "conv", model, mean)
            state = model.state_dict()
    assert state.keys() == model.state_dict().keys()


def torch_uncertainty():
    from torch_uncertainty.layers.bayesian import BayesConv2d, BayesLinear
    from torch_uncertainty.methods import SWAG, deep_ensembles

    mean = lambda state, layer, leaf: state[f"{layer}.{leaf}_mu"]
    save_layers("torch-uncertainty", "conv", randomise(Conv(BayesConv2d, BayesLinear), "_sigma"), mean)

    torch.manual_seed(3)
    model = randomise(Mlp())
    arguments = {"cycle_start": 0, "cycle_length": 1, "max_num_models": 4}
    swag, diagonal = SWAG(model, **arguments), SWAG(model, diag_covariance=True, **arguments)
    for epoch in range(4):
        for parameter in model.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
        swag.update_wrapper(epoch)
        diagonal.update_wrapper(epoch)
    stats = swag.swag_stats
    means = {name: stats[f"{swag.prfx}{name}_mean"] for name, _ in model.named_parameters()}
    with Ones():
        sample = diagonal.sample(scale=1.0)
    std = {name: value.detach() - means[name] for name, value in sample.named_parameters()}
    save("torch-uncertainty-swag", "mlp", swag.state_dict(), means, std)

    torch.manual_seed(4)
    torch.save(deep_ensembles(Mlp(), num_estimators=2).state_dict(), HERE / "refused" / "ensemble.pt")


def blitz():
    from blitz.modules import BayesianConv2d, BayesianLinear

    conv = lambda inputs, outputs, size: BayesianConv2d(inputs, outputs, (size, size))
    mean = lambda state, layer, leaf: state[f"{layer}.{leaf}_mu"]
    save_layers("blitz", "conv", randomise(Conv(conv, BayesianLinear), "_rho"), mean)


def torchbnn():
    import torchbnn

    conv = lambda *sizes: torchbnn.BayesConv2d(0.0, 0.1, *sizes)
    linear = lambda *sizes: torchbnn.BayesLinear(0.0, 0.1, *sizes)
    mean = lambda state, layer, leaf: state[f"{layer}.{leaf}_mu"]
    save_layers("torchbnn", "conv", randomise(Conv(conv, linear), "_log_sigma"), mean)


def torch_blue():
    from torch_blue import vi

    model = randomise(Mlp(vi.VILinear), "_log_std")
    layers = {layer: getattr(model, layer) for layer in ("fc1", "fc2", "fc3")}
    means = {f"{name}.{leaf}": getattr(layer, f"_{leaf}_mean") for name, layer in layers.items() for leaf in ("weight", "bias")}
    with torch.no_grad(), Ones():
        sample = {key: layers[key.split(".")[0]].sample_variable(key.split(".")[1]) for key in means}
    save("torch-blue", "mlp", model.state_dict(), means, {key: sample[key] - means[key].detach() for key in means})


def posteriors():
    import posteriors
    import torchopt

    params = {name: value.detach() for name, value in randomise(Mlp()).named_parameters()}
    likelihood = lambda params, batch: (torch.zeros(()), torch.zeros(1))
    state = posteriors.vi.diag.build(likelihood, torchopt.adam(1e-2), init_log_sds=-2.0).init(params)
    generator = torch.Generator().manual_seed(5)
    log_sd = state.log_sd_diag
    for value in log_sd.values():
        value += 0.5 * torch.randn(value.shape, generator=generator)
    with Ones():
        sample = posteriors.vi.diag.sample(state)
    std = {name: sample[name] - params[name] for name in params}
    save("posteriors", "mlp", {"params": state.params, "log_sd_diag": state.log_sd_diag}, params, std)

    state = posteriors.laplace.diag_fisher.build(likelihood).init(params)
    for name, value in state.prec_diag.items():
        value += torch.exp(2.0 - log_sd[name])
    with Ones():
        sample = posteriors.laplace.diag_fisher.sample(state)
    std = {name: sample[name] - params[name] for name in params}
    save("posteriors-laplace", "mlp", {"params": state.params, "prec_diag": state.prec_diag}, params, std)


def batches(network, classes):
    from torch.utils.data import DataLoader, TensorDataset

    generator = torch.Generator().manual_seed(6)
    x = torch.randn((20, *INPUTS[network][1:]), generator=generator)
    y = torch.randint(0, 3, (20,), generator=generator) if classes else torch.randn((20, 3), generator=generator)
    return DataLoader(TensorDataset(x, y), batch_size=10)


def unflatten(vector, model):
    sizes = [parameter.numel() for parameter in model.parameters()]
    parts = torch.as_tensor(np.asarray(vector)).split(sizes)
    return {name: part.reshape(value.shape) for (name, value), part in zip(model.named_parameters(), parts, strict=True)}


def laplace():
    from laplace import Laplace

    model = randomise(Mlp())
    count = sum(parameter.numel() for parameter in model.parameters())
    noise = torch.rand(count, generator=torch.Generator().manual_seed(8))
    cases = {
        "laplace": ("regression", {"sigma_noise": 0.5, "prior_precision": torch.tensor(2.0)}),
        "laplace-layers": ("classification", {"temperature": 0.7, "prior_precision": 1.0 + torch.arange(6) / 2}),
        "laplace-full": ("classification", {"prior_precision": 1.0 + noise}),
    }
    for name, (kind, settings) in cases.items():
        la = Laplace(model, kind, subset_of_weights="all", hessian_structure="diag", **settings)
        la.fit(batches("mlp", kind == "classification"))
        save(name, "mlp", la.state_dict(), unflatten(la.mean, model), unflatten(la.posterior_scale, model))
    for name, subset, structure in [("laplace-kron", "all", "kron"), ("laplace-last-layer", "last_layer", "diag")]:
        la = Laplace(model, "classification", subset_of_weights=subset, hessian_structure=structure)
        la.fit(batches("mlp", True))
        torch.save(la.state_dict(), HERE / "refused" / f"{name}.pt")


def ivon():
    import ivon

    for name, network in [("ivon", "mlp"), ("ivon-norm", "norm")]:
        torch.manual_seed(9)
        model = randomise(PLAIN[network]())
        optimizer = ivon.IVON(model.parameters(), lr=0.1, ess=50.0, weight_decay=1e-2, hess_init=0.5, beta2=0.9)
        for x, y in batches(network, True):
            with optimizer.sampled_params(train=True):
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
            optimizer.step()
        means = {key: value.detach().clone() for key, value in model.named_parameters()}
        with Ones(), optimizer.sampled_params(train=False):
            std = {key: value.detach() - means[key] for key, value in model.named_parameters()}
        buffers = dict(model.named_buffers())
        means |= {key: value for key, value in buffers.items() if value.is_floating_point()}
        std |= {key: torch.zeros_like(value) for key, value in buffers.items() if value.is_floating_point()}
        save(name, network, {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, means, std)


def pyro():
    import pyro
    import pyro.distributions as D
    from pyro.infer import SVI, Trace_ELBO
    from pyro.infer.autoguide import AutoDiagonalNormal, AutoNormal
    from pyro.nn import PyroModule, PyroSample
    from torch.distributions import constraints

    class Net(PyroModule):
        def __init__(self):
            super().__init__()
            for name, sizes in [("fc1", (4, 6)), ("fc2", (6, 5)), ("fc3", (5, 3))]:
                layer = PyroModule[nn.Linear](*sizes)
                setattr(self, name, layer)
                layer.weight = PyroSample(D.Normal(0.0, 1.0).expand(layer.weight.shape).to_event(2))
                layer.bias = PyroSample(D.Normal(0.0, 1.0).expand(layer.bias.shape).to_event(1))

        def forward(self, x, y=None):
            out = Mlp.forward(self, x)
            with pyro.plate("data", x.shape[0]):
                pyro.sample("obs", D.Categorical(logits=out), obs=y)

    class Positive(AutoNormal):
        scale_constraint = constraints.positive

    class Bounded(AutoNormal):
        scale_constraint = constraints.interval(0.0, 0.3)

    class PositiveDiagonal(AutoDiagonalNormal):
        scale_constraint = constraints.positive

    cases = {"": AutoNormal, "-exp": Positive, "-bounded": Bounded, "-flat": AutoDiagonalNormal, "-flat-exp": PositiveDiagonal}
    for name, kind in cases.items():
        pyro.clear_param_store()
        pyro.set_rng_seed(10)
        model = Net()
        guide = kind(model)
        svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.01}), Trace_ELBO())
        x, y = next(iter(batches("mlp", True)))
        svi.step(x, y)
        randomise(guide, "scale")
        if "flat" in name:
            loc, scale = guide._loc_scale()
            # The library's own order of the sites.
            means = dict((site["name"], value) for site, value in guide._unpack_latent(loc))
            std = dict((site["name"], value) for site, value in guide._unpack_latent(scale))
        else:
            sites = [key for key, _ in Mlp().named_parameters()]
            means = {site: guide._get_loc_and_scale(site)[0] for site in sites}
            std = {site: guide._get_loc_and_scale(site)[1] for site in sites}
        store = pyro.get_param_store().get_state()
        save(f"pyro{name}", "mlp", store, means, std)
        if name in ("", "-flat"):
            save(f"pyro-guide{name}", "mlp", guide.state_dict(), means, std)


def tyxe():
    import pyro
    import pyro.util

    # tyxe 0.0.2 calls it, and pyro 1.9.2 no longer has it.
    pyro.util.deep_getattr = lambda owner, name: functools.reduce(getattr, name.split("."), owner)
    import tyxe

    pyro.clear_param_store()
    pyro.set_rng_seed(12)
    prior = tyxe.priors.IIDPrior(pyro.distributions.Normal(0, 1))
    guide = functools.partial(tyxe.guides.AutoNormal, init_scale=0.1)
    bnn = tyxe.VariationalBNN(Mlp(), prior, tyxe.likelihoods.Categorical(20), guide)
    bnn.fit(batches("mlp", True), pyro.optim.Adam({"lr": 1e-3}), 1)
    randomise(bnn.net_guide, "scale")
    found = bnn.net_guide.get_detached_distributions()
    base = {key.removeprefix("net."): value.base_dist for key, value in found.items()}
    means, std = {key: value.loc for key, value in base.items()}, {key: value.scale for key, value in base.items()}
    save("tyxe", "mlp", bnn.state_dict(), means, std)


def numpyro():
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as D
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoDiagonalNormal, AutoNormal

    def model(x, y=None):
        for name, inputs, outputs in [("fc1", 4, 6), ("fc2", 6, 5), ("fc3", 5, 3)]:
            weight = numpyro.sample(f"{name}.weight", D.Normal(0, 1).expand([outputs, inputs]).to_event(2))
            x = x @ weight.T + numpyro.sample(f"{name}.bias", D.Normal(0, 1).expand([outputs]).to_event(1))
            x = x if name == "fc3" else jax.nn.relu(x)
        numpyro.sample("obs", D.Categorical(logits=x), obs=y)

    for name, kind in [("numpyro", AutoNormal), ("numpyro-flat", AutoDiagonalNormal)]:
        guide = kind(model)
        svi = SVI(model, guide, numpyro.optim.Adam(0.01), Trace_ELBO())
        state = svi.init(jax.random.PRNGKey(0), jnp.ones((5, 4)), jnp.zeros(5, int))
        random = np.random.default_rng(13)
        fresh = lambda key, value: np.asarray(
            np.exp(random.normal(-2, 0.7, value.shape)) if key.endswith("scale") else random.normal(0, 0.6, value.shape), np.float32
        )
        params = {key: fresh(key, value) for key, value in svi.get_params(state).items()}
        # With means of zero, the quantile of one standard deviation is the standard deviation.
        centred = {key: value if key.endswith("scale") else 0 * value for key, value in params.items()}
        std = guide.quantiles(centred, [0.8413447460685429])
        std = {key: np.asarray(value)[0] for key, value in std.items()}
        means = {key: np.asarray(value) for key, value in guide.median(params).items()}
        save(name, "mlp", params, means, std, "npz")


def by_documented_names():
    """Files of libraries that no package registry has."""
    model = randomise(Mlp())
    generator = torch.Generator().manual_seed(14)
    noise = lambda shape, mean, width: mean + width * torch.randn(shape, generator=generator)
    means = {key: value.detach().clone() for key, value in model.named_parameters()}

    # swa_gaussian: the mean of squares, and deviations as rows of all entries; the model itself is saved too.
    rows = {key: noise((3, value.numel()), 0.0, 0.2) for key, value in means.items()}
    squares = {key: means[key] ** 2 + (rows[key] ** 2).mean(0).reshape(means[key].shape) for key in means}
    state = {}
    for key in means:
        state |= {f"{key}_mean": means[key], f"{key}_sq_mean": squares[key], f"{key}_cov_mat_sqrt": rows[key]}
    std = {key: (squares[key] - means[key] ** 2).clamp(min=1e-30).sqrt() for key in means}
    save("swag", "mlp", {"state_dict": state}, means, std)

    # PyTorch-BayesianCNN: `W_mu` and `W_rho` are those of the weight.
    conv = {key: value.detach().clone() for key, value in randomise(Conv()).named_parameters()}
    rho = {key: noise(value.shape, -3.0, 0.7) for key, value in conv.items()}
    short = lambda key: key.replace("weight", "W")
    state = {f"{short(key)}_mu": value for key, value in conv.items()} | {f"{short(key)}_rho": value for key, value in rho.items()}
    save("bayesian-cnn", "conv", state, conv, {key: value.exp().log1p() for key, value in rho.items()})

    # bnn_hmc: nested dictionaries of haiku, with matrices as (input, output); its pickles of JAX arrays saved again as tensors.
    haiku = lambda key: key.replace("fc", "mlp/~/linear_").replace(".weight", ".w").replace(".bias", ".b")
    means = {haiku(key): value.T.contiguous() for key, value in means.items()}
    raw = {key: noise(value.shape, -2.0, 0.7) for key, value in means.items()}
    nested = lambda tree: {
        layer: {leaf: tree[f"{layer}.{leaf}"] for leaf in "wb"} for layer in sorted({key.rsplit(".", 1)[0] for key in tree})
    }
    params = {"mean": nested(means), "inv_softplus_std": nested(raw)}
    save("bnn-hmc", "haiku", params, means, {key: F.softplus(value) for key, value in raw.items()})


def main():
    for folder in ("networks", "posteriors", "refused"):
        (HERE / folder).mkdir(exist_ok=True)
    networks()
    makers = [bayesian_torch, torch_uncertainty, blitz, torchbnn, torch_blue, posteriors, laplace, ivon, pyro, tyxe, numpyro]
    for make in [*makers, by_documented_names]:
        torch.manual_seed(1)
        make()


if __name__ == "__main__":
    main()
