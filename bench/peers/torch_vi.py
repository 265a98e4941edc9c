"""Variational inference in PyTorch: one whole step, of one network or two at once, the predictive distribution, and
how it changes along a path.

A variant is some of these words: `flat`, all parameters are one tensor (else one for each layer); `compile`, the loss
is compiled; `step`, the whole step is one compiled function (else the optimiser is torch.optim.Adam, fused); a memory
format. Noise drawn inside a compiled function was slower than all of the rest, per-layer tensors in a compiled step
were slower than flat ones, and max-autotune was not clearly faster.
"""

import concurrent.futures

import numpy as np
import torch
import torch.nn.functional as F

import inference
import networks
import torch_networks

PREDICTIVE_BATCH = 2000  # as fast as any size tried, within noise


class Layout:
    """Where each tensor lies in one flat vector, or in each row of a matrix of them."""

    def __init__(self, preset, memory_format):
        values = {name: np.zeros(shape, np.float32) for name, shape in networks.tensor_shapes(preset).items()}
        tensors = torch_networks.parameters_from(values, memory_format)
        self.memory_format = memory_format
        self.names = list(tensors)
        self.shapes = [self.stored(tensor).shape for tensor in tensors.values()]
        self.sizes = [tensor.numel() for tensor in tensors.values()]

    def stored(self, tensor):
        """The axes of a convolution's weights in the order of its memory format."""
        last = tensor.dim() == 4 and self.memory_format == torch.channels_last
        return tensor.movedim(-3, -1) if last else tensor

    def views(self, flat):
        """flat: (..., parameters) to one tensor (..., its shape) for each name."""
        parts = [part.unflatten(-1, shape) for part, shape in zip(flat.split(self.sizes, -1), self.shapes)]
        last = self.memory_format == torch.channels_last
        return [part.movedim(-1, -3) if last and len(shape) == 4 else part for part, shape in zip(parts, self.shapes)]

    def flatten(self, values):
        """Our arrays, name to array, as one vector, or for two networks as (network, parameters)."""
        if values["head.bias"].ndim > 1:
            each = [{name: array[index] for name, array in values.items()} for index in range(2)]
            return torch.stack([self.flatten(values) for values in each])
        tensors = torch_networks.parameters_from(values, self.memory_format)
        return torch.cat([self.stored(tensor).flatten() for tensor in tensors.values()])


class Noise:
    """Normal numbers in one buffer; PyTorch draws them on one thread, so each of several has a part and a generator."""

    def __init__(self, shape, threads):
        self.values = torch.empty(shape)
        parts = self.values.view(-1).chunk(threads)
        self.parts = [(part, torch.Generator().manual_seed(seed)) for seed, part in enumerate(parts)]
        self.helpers = concurrent.futures.ThreadPoolExecutor(threads)

    def draw(self):
        (first, generator), *others = self.parts
        drawn = [self.helpers.submit(part.normal_, generator=own) for part, own in others]
        first.normal_(generator=generator)
        for future in drawn:
            future.result()


class Training:
    """The state of a variational inference, and its step."""

    def __init__(self, preset, start, variant, threads, log_likelihood=torch_networks.log_likelihood):
        self.preset, self.variant, self.log_likelihood = preset, variant.split("-"), log_likelihood
        self.layout = Layout(preset, torch_networks.memory_format(variant))
        self.mean, self.rho, *moments = map(self.pieces, start.arrays())
        self.first, self.second = moments[0] + moments[1], moments[2] + moments[3]
        self.count = start.count
        self.noise = Noise(self.layout.flatten(start.mean).shape, threads)
        self.step = self.compiled_step() if "step" in self.variant else self.optimiser_step()

    def pieces(self, values):
        flat = self.layout.flatten(values)
        return [flat] if "flat" in self.variant else [tensor.clone() for tensor in self.layout.views(flat)]

    def loss(self, mean, rho, noise, images, labels):
        """-observations / batch * log-likelihood + KL(N(mean, std^2) || N(0, prior variance))"""
        std = [F.softplus(tensor) for tensor in rho]
        if "flat" in self.variant:
            sample = self.layout.views(mean[0] + std[0] * noise)
        else:
            sample = [m + s * e for m, s, e in zip(mean, std, self.layout.views(noise))]
        parameters = dict(zip(self.layout.names, sample))
        batch = labels.shape[-1]
        fit = self.log_likelihood(self.preset, parameters, images, labels) * (inference.OBSERVATIONS / batch)
        return sum(map(kl, mean, std)) - fit

    def optimiser_step(self):
        loss = torch_networks.maybe_compiled(self.loss, "-".join(self.variant))
        tensors = [tensor.requires_grad_() for tensor in self.mean + self.rho]
        betas = (inference.BETA1, inference.BETA2)
        adam = torch.optim.Adam(tensors, inference.LEARNING_RATE, betas, inference.ADAM_EPSILON, fused=True)
        for tensor, first, second in zip(tensors, self.first, self.second):
            adam.state[tensor] = {"step": torch.tensor(float(self.count)), "exp_avg": first, "exp_avg_sq": second}

        def step(images, labels):
            adam.zero_grad()
            self.noise.draw()
            value = loss(self.mean, self.rho, self.noise.values, images, labels)
            value.backward()
            adam.step()
            return value.detach()

        return step

    def compiled_step(self):
        def update(mean, rho, noise, first, second, corrections, images, labels):
            gradient_of = torch.func.grad_and_value(self.loss, argnums=(0, 1))
            (by_mean, by_rho), value = gradient_of(mean, rho, noise, images, labels)
            for tensors in zip([*mean, *rho], [*by_mean, *by_rho], first, second):
                adam(*tensors, corrections)
            return value

        update = torch.compile(update, dynamic=False)

        @torch.no_grad()
        def step(images, labels):
            self.count += 1
            self.noise.draw()
            # Tensors, since a number that changes would be compiled anew.
            corrections = [torch.tensor(1 - beta**self.count) for beta in (inference.BETA1, inference.BETA2)]
            state = (self.mean, self.rho, self.noise.values, self.first, self.second)
            return update(*state, corrections, images, labels)

        return step

    def values(self, network=...):
        """The state in our order; of two networks at once that of one."""
        half = len(self.mean)
        moments = [self.first[:half], self.first[half:], self.second[:half], self.second[half:]]
        arrays = []
        for pieces in [self.mean, self.rho, *moments]:
            tensors = self.layout.views(pieces[0]) if "flat" in self.variant else pieces
            named = {name: tensor[network].detach().clone() for name, tensor in zip(self.layout.names, tensors)}
            arrays.append(torch_networks.values_from(named))
        return inference.Variational(arrays[0], arrays[1], (arrays[2], arrays[3]), (arrays[4], arrays[5]), self.count)


def kl(mean, std):
    relative = std.square() / inference.PRIOR_VARIANCE
    return 0.5 * (relative + mean.square() / inference.PRIOR_VARIANCE - 1 - relative.log()).sum()


def adam(value, gradient, first, second, corrections):
    """In place."""
    first.lerp_(gradient, 1 - inference.BETA1)
    second.mul_(inference.BETA2).addcmul_(gradient, gradient, value=1 - inference.BETA2)
    root = (second / corrections[1]).sqrt() + inference.ADAM_EPSILON
    value.sub_(inference.LEARNING_RATE * (first / corrections[0]) / root)


def batched_log_likelihood(preset, p, x, labels):
    """Of two dense networks, each with its own batch: x (network, n, features), labels (network, n)."""

    def dense(name, x):
        return torch.baddbmm(p[f"{name}.bias"].unsqueeze(1), x, p[f"{name}.weight"].transpose(1, 2))

    for index in range(len(preset["hidden"])):
        x = F.relu(dense(f"hidden{index + 1}", x))
    return -F.cross_entropy(dense("head", x).flatten(0, 1), labels.flatten(), reduction="sum")


def batch_of(preset, variant):
    images, labels = inference.data(preset, networks.GRADIENT_BATCH[preset["preset"]])
    return torch_networks.images_from(preset, images, torch_networks.memory_format(variant)), torch.from_numpy(labels)


def step_case(network, variant, threads):
    preset = networks.PRESETS[network]
    batch = batch_of(preset, variant)
    training = Training(preset, inference.initial(preset), variant, threads)
    return lambda: training.step(*batch)


def two_in_turn_case(network, variant, threads):
    """Two trainings, one step of each."""
    steps = [step_case(network, variant, threads) for _ in range(2)]
    return lambda: [step() for step in steps]


def two_at_once_case(network, variant, threads):
    """Two trainings whose products are batched."""
    preset = networks.PRESETS[network]
    batch = [torch.stack([tensor, tensor]) for tensor in batch_of(preset, variant)]
    training = Training(preset, inference.initial(preset).twice(), variant, threads, batched_log_likelihood)
    return lambda: training.step(*batch)


class Predictive:
    """Mean probabilities of many images under samples of the posterior, one sample after the other."""

    def __init__(self, preset, mean, rho, images, variant, threads):
        self.preset, self.layout = preset, Layout(preset, torch.contiguous_format)
        self.mean, self.rho = map(self.layout.flatten, (mean, rho))
        self.noise = Noise(self.mean.shape, threads)
        self.batches = torch_networks.images_from(preset, images, torch.contiguous_format).split(PREDICTIVE_BATCH)
        functions = torch.addcmul, self.accumulate
        self.sample, self.accumulate = (torch_networks.maybe_compiled(each, variant) for each in functions)

    def accumulate(self, total, sample, images):
        parameters = dict(zip(self.layout.names, self.layout.views(sample)))
        total += torch_networks.logits(self.preset, parameters, images).softmax(1)

    @torch.no_grad()
    def probabilities(self, samples):
        std = F.softplus(self.rho)
        totals = [torch.zeros(len(batch), self.preset["classes"]) for batch in self.batches]
        for _ in range(samples):
            self.noise.draw()
            sample = self.sample(self.mean, std, self.noise.values)
            for total, images in zip(totals, self.batches):
                self.accumulate(total, sample, images)
        return torch.cat(totals) / samples


def predictive_case(network, samples, variant, threads):
    preset = networks.PRESETS[network]
    start = inference.initial(preset)
    images, _ = inference.data(preset, networks.LOGITS_IMAGES)
    predictive = Predictive(preset, start.mean, start.rho, images, variant, threads)
    return lambda: predictive.probabilities(samples)


class Barrier:
    """Loss and error along a geodesic and along the mixture of its ends, and their replicates: other means over the samples."""

    def __init__(self, preset, ends, images, labels, variant, threads):
        self.preset, self.layout = preset, Layout(preset, torch.contiguous_format)
        self.ends = [tuple(map(self.layout.flatten, (end.mean, end.rho))) for end in ends]
        self.noise = Noise(self.ends[0][0].shape, threads)
        self.images = torch_networks.images_from(preset, images, torch.contiguous_format).split(PREDICTIVE_BATCH)
        self.labels = torch.from_numpy(labels).split(PREDICTIVE_BATCH)
        functions = torch.addcmul, self.probabilities, self.means, self.scores, torch.lerp
        compiled = (torch_networks.maybe_compiled(each, variant) for each in functions)
        self.sample, self.probabilities, self.means, self.scores, self.mix = compiled

    def probabilities(self, sample, images):
        parameters = dict(zip(self.layout.names, self.layout.views(sample)))
        return torch_networks.logits(self.preset, parameters, images).softmax(1)

    def means(self, weights, probabilities):
        """weights: (1 + replicates, samples); probabilities: (samples, images, classes)."""
        return (weights @ probabilities.flatten(1)).unflatten(1, probabilities.shape[1:])

    def scores(self, means, labels):
        """The sums over images of minus the log probability of the label, and of the errors."""
        at_label = means.gather(2, labels.expand(len(means), -1).unsqueeze(2)).squeeze(2)
        loss = -at_label.clamp_min(torch.finfo(torch.float32).tiny).log().sum(1)
        return torch.stack([loss, (means.argmax(2) != labels).sum(1, dtype=torch.float32)])

    def point(self, mean, std, weights):
        """The means of each batch of images, (1 + replicates, images, classes)."""
        samples = weights.shape[1]
        kept = [torch.empty(samples, len(batch), self.preset["classes"]) for batch in self.images]
        for index in range(samples):
            self.noise.draw()
            sample = self.sample(mean, std, self.noise.values)
            for out, images in zip(kept, self.images):
                out[index] = self.probabilities(sample, images)
        return [self.means(weights, probabilities) for probabilities in kept]

    @torch.no_grad()
    def curves(self, points, weights):
        """(path and mixture, points, loss and error, all samples and each replicate), means over images."""
        (mean, rho), (other_mean, other_rho) = self.ends
        std, other_std = F.softplus(rho), F.softplus(other_rho)
        first, last = self.point(mean, std, weights), self.point(other_mean, other_std, weights)
        path, mixture = [], []
        for tau in torch.linspace(0, 1, points):
            if 0 < tau < 1:
                here = self.point(mean.lerp(other_mean, tau), std.lerp(other_std, tau), weights)
            else:
                here = first if tau == 0 else last
            mixed = [self.mix(a, b, tau) for a, b in zip(first, last)]
            for curve, means in ((path, here), (mixture, mixed)):
                curve.append(sum(self.scores(*each) for each in zip(means, self.labels)))
        return torch.stack([torch.stack(path), torch.stack(mixture)]) / sum(map(len, self.labels))


def barrier_weights(samples, replicates):
    """The weights of a mean over all samples, then those of each replicate."""
    drawn = torch.randint(samples, (replicates, samples))
    counts = F.one_hot(drawn, samples).sum(1)
    return torch.cat([torch.ones(1, samples), counts]) / samples


def barrier_case(network, variant, threads):
    preset = networks.PRESETS[network]
    images, labels = inference.data(preset, networks.LOGITS_IMAGES)
    # Nothing here is faster for equal ends.
    barrier = Barrier(preset, [inference.initial(preset)] * 2, images, labels, variant, threads)
    weights = barrier_weights(inference.BARRIER_SAMPLES, inference.BARRIER_REPLICATES)
    return lambda: barrier.curves(inference.BARRIER_POINTS, weights)


def check(case, variant):
    """The difference between one step from a golden file and the formulas."""
    before, noise = inference.checked(case)
    training = Training(case.preset, before, variant, 1)
    fix(training.noise, training.layout.flatten(noise))
    images = torch_networks.images_from(case.preset, case.images, torch_networks.memory_format(variant))
    training.step(images, torch.from_numpy(case.labels))
    return inference.step_difference(case, before, noise, training.values())


def check_two_at_once(case, variant):
    """The larger difference of two networks."""
    before, noise = inference.checked(case)
    training = Training(case.preset, before.twice(), variant, 1, batched_log_likelihood)
    fix(training.noise, training.layout.flatten(noise).expand(2, -1))
    images = torch_networks.images_from(case.preset, case.images, torch.contiguous_format)
    training.step(*(torch.stack([tensor, tensor]) for tensor in (images, torch.from_numpy(case.labels))))
    return max(inference.step_difference(case, before, noise, training.values(network)) for network in range(2))


def check_predictive(case, variant):
    """The difference of the probabilities under one sample."""
    before, noise = inference.checked(case)
    predictive = Predictive(case.preset, before.mean, before.rho, case.images, variant, 1)
    fix(predictive.noise, predictive.layout.flatten(noise))
    return inference.predictive_difference(case, predictive.probabilities(1).numpy())


def check_barrier(case, variant):
    """The difference of loss and error under one sample, which are the same all along the way between equal ends."""
    before, noise = inference.checked(case)
    barrier = Barrier(case.preset, [before] * 2, case.images, case.labels, variant, 1)
    fix(barrier.noise, barrier.layout.flatten(noise))
    return inference.barrier_difference(case, barrier.curves(3, barrier_weights(4, 5)).numpy())


def fix(noise, values):
    """From now on every draw is this one."""
    noise.draw = lambda: noise.values.copy_(values)
