"""Aligns FOLDER/b.pt with FOLDER/a.pt by the package rebasin, and prints one line of JSON: `rebasin_peer.py FOLDER NAME`."""

import copy
import json
import pathlib
import resource
import sys
import time

import torch

import catalogue
from matching import objective
from symmetry import Symmetry


@torch.no_grad()
def outputs(model, example):
    """With the running statistics of BatchNorm, which rebasin does not permute, and without them."""
    plain = copy.deepcopy(model)
    for module in plain.modules():
        if isinstance(module, torch.nn.modules.batchnorm._NormBase):
            module.reset_running_stats()
    return [model(example), plain(example)]


def main():
    folder, network = pathlib.Path(sys.argv[1]), catalogue.networks()[sys.argv[2]]
    import rebasin

    models = []
    for file in ("a.pt", "b.pt"):
        model = network.build().eval()
        model.load_state_dict(torch.load(folder / file, weights_only=True))
        models.append(model)
    example = network.example()
    start = time.monotonic()
    descent = rebasin.PermutationCoordinateDescent(*models, example)
    built = time.monotonic() - start
    start = time.monotonic()
    descent.rebasin()
    seconds = time.monotonic() - start
    answer = {"inner_seconds": seconds, "inner_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    answer["build_seconds"] = built
    original = network.build().eval()
    original.load_state_dict(torch.load(folder / "b.pt", weights_only=True))
    pairs = zip(outputs(original, example), outputs(models[1], example))
    changes = [float((after - before).abs().max() / before.abs().max()) for before, after in pairs]
    answer |= {"change": changes[0], "change_without_statistics": changes[1]}
    symmetry = Symmetry((folder / "net.toml").read_text())
    states = [{name: tensor.numpy() for name, tensor in model.state_dict().items()} for model in models]
    print(json.dumps(answer | {"objective": objective(symmetry, *states, None)}))


if __name__ == "__main__":
    main()
