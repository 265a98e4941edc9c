"""Times onebasin, Git Re-Basin's weight matching in NumPy and SciPy, and the package rebasin on pairs of torchvision networks.

All start at the identity. Weight matching ends when no assignment gains. The first checkpoint is never changed. Running statistics of batch
normalisations are no part of the matching or of the objective.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import measured

HERE = pathlib.Path(__file__).resolve().parent
NETWORKS = ["resnet50", "vit_b_16"]


def make(name, folder, onebasin):
    """Two networks with random weights, the graph and its symmetry."""
    import torch

    import catalogue
    from make import export

    network = catalogue.networks()[name]
    model = network.build().eval()
    export(model, (network.example(),), folder / "net.pt2", "pt2")
    for seed, file in ((1, "a.pt"), (2, "b.pt")):
        catalogue.randomise(model, seed)
        torch.save(model.state_dict(), folder / file)
    found = subprocess.run([onebasin, "symmetry", folder / "net.pt2"], capture_output=True, text=True, check=True)
    kept = [line for line in found.stdout.splitlines() if not line.endswith("statistics = true },")]
    (folder / "net.toml").write_text("\n".join(kept) + "\n")


def of_onebasin(onebasin, folder, threads, solver):
    out = folder / "out"
    command = [onebasin, "align", folder / "a.pt", folder / "b.pt", "--network", folder / "net.pt2", "-o", out, "--quiet"]
    result = measured.run([*command, "--threads", threads, "--solvers", solver])
    if result["code"] != 0:
        return {"error": " ".join(result["text"].split())[-300:]}
    member = json.loads((out / "alignment.json").read_text())["members"][0]
    from matching import objective, read
    from symmetry import Symmetry

    symmetry = Symmetry((folder / "net.toml").read_text())
    fixed, moved = read(folder / "a.pt", symmetry), read(out / "b.pt", symmetry)
    shutil.rmtree(out)
    answer = {"seconds": result["seconds"], "megabytes": result["megabytes"], "inner_seconds": member["seconds"]}
    return answer | {"assignments": member["assignments"], "objective": objective(symmetry, fixed, moved, None)}


def of_python(folder, threads, limit, script, *arguments):
    environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    os.environ |= environment
    result = measured.run([sys.executable, "-B", HERE / script, folder, *arguments], limit=limit)
    if result["code"] == -1:
        return {"error": f"not finished after {limit:.0f} s"}
    if result["code"] != 0:
        lines = result["text"].strip().splitlines() or [f"it ended with code {result['code']}"]
        return {"error": lines[-1][:300]}
    answer = json.loads(result["text"].strip().splitlines()[-1])
    return {"seconds": result["seconds"], "megabytes": answer["inner_megabytes"]} | answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onebasin", required=True, help="the program that is timed")
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=pathlib.Path, help="for temporary files")
    parser.add_argument("--skip", nargs="*", default=[], help="contenders that are not timed")
    parser.add_argument("--limit", type=float, help="seconds after which a peer is ended")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "peers.md", help="the table")
    options = parser.parse_args()
    rows, loads = [], []
    for name in options.networks:
        folder = pathlib.Path(tempfile.mkdtemp(dir=options.folder))
        try:
            make(name, folder, options.onebasin)
            contenders = {
                "onebasin, coordinate-descent": lambda: of_onebasin(options.onebasin, folder, options.threads, "coordinate-descent"),
                "onebasin, best": lambda: of_onebasin(options.onebasin, folder, options.threads, "best"),
                "NumPy + SciPy": lambda: of_python(folder, options.threads, options.limit, "matching.py"),
                "rebasin": lambda: of_python(folder, options.threads, options.limit, "rebasin_peer.py", name),
            }
            contenders = {title: call for title, call in contenders.items() if title not in options.skip}
            found = {title: [] for title in contenders}
            for _ in range(options.repeats):
                for title, call in contenders.items():
                    if found[title] and "error" in found[title][-1]:
                        continue
                    loads.append(os.getloadavg()[0])
                    found[title].append(call())
                    print(name, title, found[title][-1], f"load {loads[-1]:.1f}", flush=True)
            for title, answers in found.items():
                rows.append((name, title, answers))
        finally:
            shutil.rmtree(folder)
    text = ["| network | contender | seconds | of these, matching | MB at the peak | objective | note |", "|---|---|--:|--:|--:|--:|---|"]
    for name, title, answers in rows:
        good = [answer for answer in answers if "error" not in answer]
        if not good:
            text.append(f"| {name} | {title} | – | – | – | – | {answers[-1]['error']} |")
            continue
        middle = lambda key: statistics.median(answer[key] for answer in good)  # noqa: E731
        note = f"{good[0]['assignments']} assignments" if "assignments" in good[0] else ""
        if "change" in good[0]:
            note = f"outputs change by {good[0]['change']:.1e}, with running statistics of 0 and 1 by {good[0]['change_without_statistics']:.1e}"
        cells = f"{middle('seconds'):.1f} | {middle('inner_seconds'):.1f} | {middle('megabytes'):.0f} | {middle('objective'):.2f}"
        text.append(f"| {name} | {title} | {cells} | {note} |")
    text.append(f"\nMedians of {options.repeats}; {options.threads} threads; load of the machine {min(loads):.1f} to {max(loads):.1f}.")
    options.output.write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main()
