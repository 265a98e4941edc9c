"""Learned matching in PyTorch and SciPy: straight-through gradients of the loss at the midpoint of two residual networks."""

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment

import alignment
import networks
from torch_networks import logits, parameters_from

STEPS = 20
BATCH = 256
SWEEPS = 3
RATE = 0.1
MOMENTUM = 0.9


class Matching:
    """The state of the procedure; tensors are in PyTorch's order."""

    def __init__(self, network):
        self.preset = alignment.preset(network)
        self.fixed, self.moved = (self.means(seed) for seed in (1, 2))
        self.axes = {name: self.in_our_order(axes) for name, axes in alignment.spec(self.preset).items()}
        self.groups = {}
        for name, axes in self.axes.items():
            for axis, group in enumerate(axes):
                if group is not None:
                    self.groups.setdefault(group, []).append((name, axis))
        sizes = {group: self.moved[places[0][0]].shape[places[0][1]] for group, places in self.groups.items()}
        self.identity = {group: torch.arange(size) for group, size in sizes.items()}
        images, labels = networks.data(networks.image_shape(self.preset), BATCH)
        self.images = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
        self.labels = torch.from_numpy(labels)

    def means(self, seed):
        posterior = alignment.posterior(self.preset, seed)
        return parameters_from({name: mean for name, (mean, _) in posterior.items()}, torch.contiguous_format)

    @staticmethod
    def in_our_order(axes):
        """The permutation of each axis of a tensor in PyTorch's order."""
        if len(axes) == 4:
            return axes[3], axes[2], axes[0], axes[1]
        return axes[::-1]

    def permute(self, name, tensor, permutations, but=None):
        for axis, group in enumerate(self.axes[name]):
            if group is not None and axis != but:
                tensor = tensor.index_select(axis, permutations[group])
        return tensor

    def project(self, copy, permutations):
        """Coordinate descent: the permutations that bring the moved network closer to the copy."""
        groups = list(self.groups)
        for _ in range(SWEEPS):
            changed = False
            for index in torch.randperm(len(groups)).tolist():
                group = groups[index]
                size = len(permutations[group])
                gains = np.zeros((size, size))
                for name, axis in self.groups[group]:
                    ours = copy[name].movedim(axis, 0).reshape(size, -1)
                    theirs = self.permute(name, self.moved[name], permutations, axis).movedim(axis, 0).reshape(size, -1)
                    gains += (ours @ theirs.T).double().numpy()
                columns = linear_sum_assignment(gains, maximize=True)[1]
                rows = np.arange(size)
                if gains[rows, columns].sum() > gains[rows, permutations[group].numpy()].sum() + 1e-9:
                    permutations[group] = torch.from_numpy(columns)
                    changed = True
            if not changed:
                break

    def run(self):
        permutations = dict(self.identity)
        copy = {name: 0.5 * (fixed + self.moved[name]) for name, fixed in self.fixed.items()}
        velocity = {name: torch.zeros_like(tensor) for name, tensor in copy.items()}
        for _ in range(STEPS):
            middle = {
                name: (0.5 * (fixed + self.permute(name, self.moved[name], permutations))).requires_grad_()
                for name, fixed in self.fixed.items()
            }
            loss = F.cross_entropy(logits(self.preset, middle, self.images), self.labels)
            for name, gradient in zip(middle, torch.autograd.grad(loss, list(middle.values()))):
                velocity[name] = MOMENTUM * velocity[name] + 0.5 * gradient
                copy[name] = copy[name] - RATE * velocity[name]
            self.project(copy, permutations)


def case(network):
    return Matching(network).run
