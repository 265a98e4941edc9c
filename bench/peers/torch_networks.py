"""The timed networks in PyTorch, in both memory formats."""

import torch
import torch.nn.functional as F

import networks


def log_likelihood(preset, parameters, images, labels):
    """Sum over the batch of log softmax at the label."""
    return -F.cross_entropy(logits(preset, parameters, images), labels, reduction="sum")


def logits(preset, p, x):
    """x: (n, c, h, w) for residual networks, (n, features) for dense ones."""
    if preset["preset"] == "mlp":
        for index in range(len(preset["hidden"])):
            x = F.relu(F.linear(x, p[f"hidden{index + 1}.weight"], p[f"hidden{index + 1}.bias"]))
    else:
        x = conv_norm(preset, p, "stem", "stem.norm", x, 1, activated=True)
        for name, stride, inputs, channels in networks.blocks(preset):
            x = residual_block(preset, p, name, x, stride, stride > 1 or inputs != channels)
        x = x.mean((2, 3))
    return F.linear(x, p["head.weight"], p["head.bias"])


def residual_block(preset, p, name, x, stride, projected):
    shortcut = x
    if projected:
        shortcut = conv_norm(preset, p, f"{name}.shortcut", f"{name}.shortcut.norm", x, stride, activated=False)
    inner = conv_norm(preset, p, f"{name}.conv1", f"{name}.norm1", x, stride, activated=True)
    outer = conv_norm(preset, p, f"{name}.conv2", f"{name}.norm2", inner, 1, activated=False)
    return F.relu(shortcut + outer)


def conv_norm(preset, p, conv, norm, x, stride, activated):
    """Convolution, normalisation and, if `activated`, ReLU."""
    weight = p[f"{conv}.weight"]
    y = F.conv2d(x, weight, p.get(f"{conv}.bias"), stride, weight.shape[2] // 2)
    if preset["normalisation"] == "frn":
        return frn(y, p[f"{norm}.gamma"], p[f"{norm}.beta"], p[f"{norm}.tau"], activated)
    if preset["normalisation"] == "layer":
        gamma, beta = p[f"{norm}.gamma"], p[f"{norm}.beta"]
        y = F.layer_norm(y.permute(0, 2, 3, 1), gamma.shape, gamma, beta, networks.EPSILON).permute(0, 3, 1, 2)
    return F.relu(y) if activated else y


def frn(x, gamma, beta, tau, activated):
    """Filter response normalisation, written so that each pass over the activations is one PyTorch does fast.

    relu(max(y, tau)) is max(y, relu(tau)), and max(y, t) is relu(y - t) + t, whose gradient is cheaper.
    In channels_last the mean is taken over one axis of a (n, positions, channels) view: over two it is slow.
    """
    channels_last = x.is_contiguous(memory_format=torch.channels_last)
    if channels_last:
        y, positions = x.permute(0, 2, 3, 1).flatten(1, 2), 1
    else:
        y, positions = x.flatten(2), 2
        gamma, beta, tau = gamma[:, None], beta[:, None], tau[:, None]
    threshold = F.relu(tau) if activated else tau
    scale = gamma * torch.rsqrt(y.square().mean(positions, keepdim=True) + networks.EPSILON)
    y = F.relu(torch.addcmul(beta - threshold, y, scale)) + threshold
    if channels_last:
        return y.unflatten(1, x.shape[2:]).permute(0, 3, 1, 2)
    return y.view(x.shape)


def parameters_from(values, memory_format):
    """Our arrays in PyTorch's order: dense (out, in), convolutions OIHW."""

    def convert(array):
        tensor = torch.from_numpy(array)
        if tensor.dim() == 4:
            return tensor.permute(3, 2, 0, 1).contiguous(memory_format=memory_format)
        return tensor.t().contiguous() if tensor.dim() == 2 else tensor.clone()

    return {name: convert(array) for name, array in values.items()}


def values_from(tensors):
    """PyTorch's gradients in our order."""
    order = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}
    return {name: tensor.permute(order[tensor.dim()]).numpy() for name, tensor in tensors.items()}


def images_from(preset, images, memory_format):
    tensor = torch.from_numpy(images)
    if preset["preset"] == "mlp":
        return tensor.flatten(1)
    return tensor.permute(0, 3, 1, 2).contiguous(memory_format=memory_format)


def memory_format(variant):
    return torch.channels_last if "channels_last" in variant else torch.contiguous_format


def maybe_compiled(function, variant):
    return torch.compile(function, dynamic=False) if "compile" in variant else function
