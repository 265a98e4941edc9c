"""Hamiltonian Monte Carlo in PyTorch: one trajectory with its decision, all data in every gradient."""

import math

import torch

import inference
import networks
import torch_networks
import torch_vi


class Chain:
    """The position of a chain with its log-density and gradient, which the next trajectory begins with."""

    def __init__(self, preset, values, images, labels, variant, threads, size=inference.LEAPFROG_SIZE):
        self.size = size
        self.layout = torch_vi.Layout(preset, torch.contiguous_format)
        self.preset = preset
        # Cut into smaller batches it was not faster.
        images = torch_networks.images_from(preset, images, torch.contiguous_format)
        self.batch = images, torch.from_numpy(labels)
        self.noise = torch_vi.Noise((sum(self.layout.sizes),), threads)
        self.log_likelihood = torch_networks.maybe_compiled(self.log_likelihood, variant)
        self.position = self.layout.flatten(values)
        self.density, self.gradient = self.evaluate(self.position)

    def log_likelihood(self, position, images, labels):
        parameters = dict(zip(self.layout.names, self.layout.views(position)))
        return torch_networks.log_likelihood(self.preset, parameters, images, labels)

    def evaluate(self, position):
        """Log-density and gradient."""
        leaf = position.detach().requires_grad_()
        value = self.log_likelihood(leaf, *self.batch)
        value.backward()
        density = value.item() - 0.5 * position.square().sum().item()
        return density, leaf.grad.sub_(position)

    def propose(self, momentum):
        """Leapfrog steps from the position; the momentum changes in place."""
        size = self.size
        position, gradient = self.position.clone(), self.gradient
        momentum.add_(gradient, alpha=size / 2)
        for index in range(inference.LEAPFROG_STEPS):
            position.add_(momentum, alpha=size)
            density, gradient = self.evaluate(position)
            momentum.add_(gradient, alpha=size if index + 1 < inference.LEAPFROG_STEPS else size / 2)
        return position, density, gradient

    def step(self):
        """One trajectory; whether it was accepted."""
        self.noise.draw()
        momentum = self.noise.values
        before = self.density - 0.5 * momentum.square().sum().item()
        position, density, gradient = self.propose(momentum)
        after = density - 0.5 * momentum.square().sum().item()
        accepted = math.log(1 - torch.rand(()).item()) < after - before
        if accepted:
            self.position, self.density, self.gradient = position, density, gradient
        return accepted


def case(variant, threads):
    preset = inference.HMC_PRESET
    data = inference.data(preset, inference.HMC_IMAGES)
    return Chain(preset, networks.initial_parameters(preset), *data, variant, threads).step


def check(case, variant):
    """The difference between one proposal from a golden file and the formulas."""
    _, momentum = inference.checked(case)
    data = case.parameters, case.images, case.labels
    chain = Chain(case.preset, *data, variant, 1, inference.CHECKED_LEAPFROG_SIZE)
    moved = chain.layout.flatten(momentum)
    position, density, _ = chain.propose(moved)
    named = [dict(zip(chain.layout.names, chain.layout.views(tensor))) for tensor in (position, moved)]
    got = [*map(torch_networks.values_from, named), density]
    return inference.trajectory_difference(case, momentum, *got)
