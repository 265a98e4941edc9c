"""PyTorch: modules and state dicts in, tensors of the same kind out, and symmetries of models from their graphs."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import onebasin as ob  # noqa: E402
from networks import NETWORKS, make, run  # noqa: E402
from torch import nn  # noqa: E402


@pytest.mark.parametrize("name", NETWORKS)
def test_a_planted_permutation_of_a_model_is_found(name):
    model, inputs = make(name)
    sym = ob.symmetry.from_torch(model, inputs)
    assert sum(sym.groups.values()) == NETWORKS[name][2]
    state, predict = model.state_dict(), run(model, inputs)
    # Relative to the largest output, in float32.
    assert ob.symmetry.check_function(sym, state, predict) < 2e-6
    planted = sym.random_permutations(3)
    other = ob.permute(state, planted, sym)
    assert any(not torch.equal(state[key], other[key]) for key in state)
    found = ob.align(model, other, sym)
    assert found.w2_after == 0 < found.w2_before
    assert list(found.aligned) == list(state)
    assert all(torch.equal(found.aligned[key], state[key]) for key in state)
    for group, order in found.permutations.items():
        assert np.array_equal(planted[group][order], np.arange(len(order)))


def test_a_model_is_left_as_it_was():
    model, inputs = make("cnn")
    model.train()
    before = copy.deepcopy(model.state_dict())
    ob.symmetry.from_torch(model, inputs)
    assert model.training and all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def test_what_is_aligned_can_be_loaded():
    (a, inputs), (b, _) = make("resnet", 1), make("resnet", 2)
    found = ob.align(a, b, ob.symmetry.from_torch(a, inputs))
    assert found.w2_after < found.w2_before
    assert type(found.aligned) is type(b.state_dict()) and found.aligned._metadata == b.state_dict()._metadata
    before = b(inputs)
    b.load_state_dict(found.aligned)
    assert torch.allclose(before, b(inputs), atol=1e-5)
    # No permutation touches the number of batches, so it is the same tensor.
    assert found.aligned["bn1.num_batches_tracked"] is not None
    state = b.state_dict()
    assert ob.align(a, state, ob.symmetry.from_torch(a, inputs)).aligned["fc.bias"] is state["fc.bias"]


def test_tied_weights_stay_equal():
    model, inputs = make("tied")
    sym = ob.symmetry.from_torch(model, inputs)
    permuted = ob.permute(model, sym.random_permutations(1), sym)
    assert torch.equal(permuted["words.weight"], permuted["output.weight"])
    assert not torch.equal(permuted["words.weight"], model.words.weight)


HIDDEN = {"w": ("hidden", None), "b": ("hidden",), "v": (None, "hidden")}
ORDER = {"hidden": [2, 0, 1]}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_type_is_permuted_without_rounding(dtype):
    state = {
        "w": (10 * torch.randn(3, 2)).to(dtype),
        "b": torch.arange(3).to(dtype),
        "v": torch.ones(1, 3, dtype=dtype),
    }
    permuted = ob.permute(state, ORDER, ob.symmetry.from_dict(HIDDEN))
    assert all(value.dtype == dtype for value in permuted.values())
    assert torch.equal(permuted["w"], state["w"][[2, 0, 1]]) and torch.equal(permuted["b"], state["b"][[2, 0, 1]])


def test_memory_of_any_order_gradients_and_parameters():
    state = {
        "w": torch.randn(2, 3).T,  # not contiguous
        "b": torch.randn(6)[::2].requires_grad_(),
        "v": nn.Parameter(torch.randn(1, 3)),
        "scalar": torch.tensor(3.0),
        "count": torch.tensor(7),
        "empty": torch.zeros(0, 3),
    }
    sym = ob.symmetry.from_dict(HIDDEN | {"scalar": ()})
    before = {name: value.detach().clone() for name, value in state.items()}
    permuted = ob.permute(state, ORDER, sym, keep="empty")
    assert torch.equal(permuted["w"], before["w"][[2, 0, 1]]) and torch.equal(permuted["v"], before["v"][:, [2, 0, 1]])
    assert torch.equal(permuted["b"], before["b"][[2, 0, 1]])
    # A parameter of a model stays one, and gradients are asked for as before.
    assert isinstance(permuted["v"], nn.Parameter) and permuted["b"].requires_grad and not permuted["w"].requires_grad
    assert all(permuted[name] is state[name] for name in ("scalar", "count", "empty"))
    assert all(torch.equal(state[name], before[name]) for name in state)


def test_integers_of_units_are_refused_and_others_stay():
    state = {"w": torch.ones(3, 2), "b": torch.arange(3), "v": torch.ones(1, 3)}
    with pytest.raises(ob.InputError, match="`b` does not hold floating-point numbers"):
        ob.permute(state, ORDER, ob.symmetry.from_dict(HIDDEN))


def test_a_nested_checkpoint_keeps_what_is_not_the_network():
    model, inputs = make("mlp")
    sym = ob.symmetry.from_torch(model, inputs)
    checkpoint = {"epoch": 3, "name": "mine", "state_dict": model.state_dict(), "optimizer": {"lr": 0.1, "steps": torch.ones(8)}}
    permuted = ob.permute(checkpoint, sym.random_permutations(1), sym, keep="optimizer")
    assert permuted["epoch"] == 3 and permuted["name"] == "mine" and permuted["optimizer"]["steps"] is checkpoint["optimizer"]["steps"]
    assert torch.allclose(run(model, inputs)(permuted["state_dict"]), model(inputs), atol=1e-6)
    with pytest.raises(ob.InputError, match="optimizer.steps"):
        ob.permute(checkpoint, sym.random_permutations(1), sym)


class Branches(nn.Module):
    """A network whose graph depends on its inputs."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else x


def test_models_that_cannot_be_exported_are_refused():
    with pytest.raises(ob.InputError, match="torch.export cannot read Branches: .*data-dependent.*`from_dict`") as caught:
        ob.symmetry.from_torch(Branches(), torch.ones(2, 3))
    assert "\n" not in str(caught.value) and caught.value.__cause__ is not None
    with pytest.raises(ob.InputError, match="torch.export cannot read Linear"):
        ob.symmetry.from_torch(nn.Linear(3, 3), torch.ones(2, 4))
    with pytest.raises(ob.InputError, match="`model` is a OrderedDict; it must be a torch.nn.Module"):
        ob.symmetry.from_torch(nn.Linear(3, 3).state_dict(), torch.ones(2, 3))


def test_a_state_dict_of_another_network_is_refused():
    model, inputs = make("mlp")
    sym = ob.symmetry.from_torch(model, inputs)
    state = model.state_dict()
    del state["2.weight"]
    with pytest.raises(ob.InputError, match="2.weight"):
        ob.align(model, state, sym)
    with pytest.raises(ob.InputError, match="float32|shape|\\[9, 4\\]"):
        ob.align(model, model.state_dict() | {"0.weight": torch.ones(9, 4)}, sym)
