"""The PyTorch peer: the timed networks and their inference, eager and compiled, in both memory formats."""

import sys

import torch

import inference
import networks
import serve
import torch_hmc
import torch_learned
import torch_vi
from torch_networks import images_from, log_likelihood, logits, maybe_compiled, memory_format
from torch_networks import parameters_from, values_from

LOGITS_BATCH = {"mlp": 1000, "resnet": 100}  # as fast as any size tried, within noise


def gradient_of(preset, parameters, variant):
    """The function (images, labels) to one gradient per parameter."""
    tensors = [tensor.requires_grad_() for tensor in parameters.values()]

    def objective(tensors, images, labels):
        return log_likelihood(preset, dict(zip(parameters, tensors)), images, labels)

    objective = maybe_compiled(objective, variant)
    return lambda images, labels: torch.autograd.grad(objective(tensors, images, labels), tensors)


def gradient_case(network, variant):
    preset = networks.PRESETS[network]
    values = networks.initial_parameters(preset)
    images, labels = networks.data(networks.image_shape(preset), networks.GRADIENT_BATCH[preset["preset"]])
    images = images_from(preset, images, memory_format(variant))
    gradient = gradient_of(preset, parameters_from(values, memory_format(variant)), variant)
    labels = torch.from_numpy(labels)
    return lambda: gradient(images, labels)


def logits_case(network, variant):
    preset = networks.PRESETS[network]
    parameters = parameters_from(networks.initial_parameters(preset), memory_format(variant))
    images, _ = networks.data(networks.image_shape(preset), networks.LOGITS_IMAGES)
    batches = images_from(preset, images, memory_format(variant)).split(LOGITS_BATCH[preset["preset"]])
    forward = maybe_compiled(lambda images: logits(preset, parameters, images), variant)

    def call():
        with torch.inference_mode():
            return torch.cat([forward(batch) for batch in batches])

    return call


def product_case(kind):
    a, b = (torch.from_numpy(factor) for factor in networks.factors(kind))
    out = torch.empty(a.shape[0], b.shape[1])
    return lambda: torch.mm(a, b, out=out)


def autocast(call):
    """The same with products in bf16 wherever PyTorch thinks it right."""

    def cast():
        with torch.autocast("cpu", torch.bfloat16):
            return call()

    return cast


def normals_case():
    out = torch.empty(networks.NORMALS)
    return out.normal_


def build(case):
    """`normals`, `hmc`, product/kind, learned/network or network/work/variant, the last with -bf16 behind it for autocast."""
    if case.endswith("-bf16"):
        return autocast(build(case.removesuffix("-bf16")))
    threads = torch.get_num_threads()
    match case.split("/"):
        case ["normals"]:
            return normals_case()
        case ["product", kind]:
            return product_case(kind)
        case [network, "gradient", variant]:
            return gradient_case(network, variant)
        case [network, "logits", variant]:
            return logits_case(network, variant)
        case [network, "vi", variant]:
            return torch_vi.step_case(network, variant, threads)
        case [network, "vi-two-in-turn", variant]:
            return torch_vi.two_in_turn_case(network, variant, threads)
        case [network, "vi-two-at-once", variant]:
            return torch_vi.two_at_once_case(network, variant, threads)
        case [network, "predictive", variant]:
            return torch_vi.predictive_case(network, inference.SAMPLES, variant, threads)
        case [network, "predictive-half", variant]:
            return torch_vi.predictive_case(network, inference.SAMPLES // 2, variant, threads)
        case [network, "barrier", variant]:
            return torch_vi.barrier_case(network, variant, threads)
        case ["hmc", variant]:
            return torch_hmc.case(variant, threads)
        case ["learned", network]:
            return torch_learned.case(network)
    raise ValueError(f"torch has no case {case}")


def evaluate(preset, values, images, labels, variant):
    """Logits and gradient as numpy arrays in our order, for the comparison with golden values."""
    parameters = parameters_from(values, memory_format(variant))
    images = images_from(preset, images, memory_format(variant))
    gradient = gradient_of(preset, parameters, variant)(images, torch.from_numpy(labels))
    with torch.inference_mode():
        outputs = logits(preset, parameters, images)
    return outputs.numpy(), values_from(dict(zip(parameters, gradient)))


def differences(case):
    """Every function that is timed, against a golden file; of bare networks only what is not compiled."""
    dense = case.preset["preset"] == "mlp"
    formats = ["eager"] if dense else ["nchw", "channels_last"]
    for variant in formats:
        yield variant, case.difference(*evaluate(case.preset, case.parameters, case.images, case.labels, variant))
    for variant in [*formats, *(f"flat-{each}" for each in formats)]:
        yield f"VI {variant}", torch_vi.check(case, variant)
    if dense:
        for variant in ("compile", "flat-compile", "flat-step"):
            yield f"VI {variant}", torch_vi.check(case, variant)
        yield "two VI flat-step, bmm", torch_vi.check_two_at_once(case, "flat-step")
        for variant in ("eager", "compile"):
            yield f"predictive {variant}", torch_vi.check_predictive(case, variant)
            yield f"barrier {variant}", torch_vi.check_barrier(case, variant)
            yield f"HMC {variant}", torch_hmc.check(case, variant)
    elif case.preset["normalisation"] == "frn":
        for variant in formats:
            yield f"VI flat-{variant}-compile", torch_vi.check(case, f"flat-{variant}-compile")


def main():
    arguments = serve.arguments("PyTorch")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    # All variants share the functions above, and each is one more entry in their compilation cache.
    torch._dynamo.config.recompile_limit = 64
    if arguments.check:
        sys.exit(not serve.check(arguments.check, differences))
    serve.serve(build)


if __name__ == "__main__":
    main()
