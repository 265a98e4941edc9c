"""Infers the symmetry of many networks, permutes them at random, and aligns them back; writes a table.

Of every network, for each seed: all tensors are random, `b` is `a` with every group permuted at random in torch, and
`onebasin align a.pt b.pt` must write a file that is equal to `a` tensor by tensor.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import measured

HERE = pathlib.Path(__file__).resolve().parent
# Rounding of float64; a wrong permutation changes far more than this.
UNCHANGED = 1e-9
UNCHANGED_SINGLE = 1e-3
# Networks with more parameters run alone.
LARGE = 100_000_000
COLUMNS = [
    "network", "parameters", "inferred", "groups", "units", "share", "change", "control", "found", "solver",
    "seconds", "megabytes", "commit", "note",
]  # fmt: skip


def differing(first, second):
    """Names of the tensors of two checkpoints that are not equal bit by bit."""
    import torch

    a, b = (torch.load(path, mmap=True, weights_only=True) for path in (first, second))
    if list(a) != list(b):
        return sorted(set(a) ^ set(b))
    return [name for name in a if not torch.equal(a[name], b[name])]


def commit(onebasin):
    """What the program was built from."""
    text = subprocess.run([onebasin, "--version", "--verbose"], capture_output=True, text=True).stdout
    found = re.search(r"^commit: (\S+)", text, re.MULTILINE)
    return found[1] if found else ""


def python(*arguments):
    command = [sys.executable, "-B", HERE / "make.py", *arguments]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def align(options, folder, name, network, seed, file):
    """Aligns the permuted copy back, and compares what was written."""
    out = folder / "out"
    command = [options.onebasin, "align", folder / f"a{seed}.pt", folder / f"b{seed}.pt", "--network", folder / file]
    command += ["-o", out, "--quiet", "--threads", options.threads, "--solvers", options.solver]
    for keep in network.keep:
        command += ["--keep", keep]
    result = measured.run(command)
    if result["code"] != 0:
        return {"error": " ".join(result["text"].split())[-400:], "seconds": result["seconds"]}
    facts = json.loads((out / "alignment.json").read_text())
    member = facts["members"][0]
    found = differing(folder / f"a{seed}.pt", out / f"b{seed}.pt")
    answer = {"different": found, "share": facts["network"]["share"], "groups": facts["network"]["groups"]}
    answer |= {"checked": member["checked"], "distance": member["w2"]["after"]}
    if found:
        # Else the file has the outputs of the original, which were compared.
        files = ["--compare", folder / f"b{seed}.pt", out / f"b{seed}.pt"]
        ran = python(name, folder, "--onebasin", options.onebasin, *files, *["--single"] * options.single)
        answer["change"] = json.loads(ran.stdout.splitlines()[-1])["change"] if ran.returncode == 0 else None
    shutil.rmtree(out)
    return answer | {"seconds": result["seconds"], "megabytes": result["megabytes"]}


def of_network(options, name, networks, threads):
    """All facts of one network."""
    import catalogue

    folder = pathlib.Path(tempfile.mkdtemp(dir=options.folder))
    try:
        onnx = name in catalogue.ONNX and not options.no_onnx
        flags = ["--onebasin", options.onebasin, "--threads", threads, "--seeds", *options.seeds]
        made = python(name, folder, *flags, *["--onnx"] * onnx, *["--single"] * options.single)
        if made.returncode != 0:
            return {"name": name, "error": (made.stderr.strip().splitlines() or ["it was killed"])[-1][:400]}
        facts = {"name": name, "solver": options.solver, "commit": commit(options.onebasin)} | json.loads(made.stdout.splitlines()[-1])
        if "seeds" not in facts:
            return facts
        for seed in options.seeds:
            facts["seeds"][str(seed)]["align"] = align(options, folder, name, networks[name], seed, "net.pt2")
        for kind, exported in facts["exports"].items():
            if kind != "pt2" and "file" in exported:
                exported["commit"] = facts["commit"]
                exported["align"] = align(options, folder, name, networks[name], options.seeds[0], exported["file"])
        return facts
    finally:
        shutil.rmtree(folder)


def row(facts, single):
    """A line of the table."""
    line = dict.fromkeys(COLUMNS, "") | {"network": facts["name"], "parameters": facts.get("parameters", "")}
    exported = facts.get("exports", {}).get("pt2", {})
    error = facts.get("error") or exported.get("error")
    if error:
        return line | {"inferred": "no", "note": error}
    seeds = list(facts["seeds"].values())
    aligned = [seed["align"] for seed in seeds]
    good = [one for one in aligned if "error" not in one]
    notes = [one["error"] for one in aligned if "error" in one][:1]
    different = [one for one in good if one["different"]]
    if different:
        names, distance = different[0]["different"], different[0]["distance"]
        note = f"{len(names)} tensors differ, such as {names[0]}, at a distance of {distance:.1e}"
        changed = different[0].get("change")
        notes.append(note + (f"; outputs change by {changed:.1e}" if changed is not None else ""))
    worst = max(seed["change"] for seed in seeds)
    bound = UNCHANGED_SINGLE if single else UNCHANGED
    unchanged = worst < bound
    if not unchanged:
        notes.append("the outputs change")
    share = re.search(r"(\d+) %", facts["message"])
    line |= {"inferred": "yes", "solver": facts["solver"], "commit": facts.get("commit", ""), "groups": facts["groups"], "units": facts["units"]}
    line |= {"share": f"{good[0]['share']:.3f}" if good else f"0.{share[1]}" if share else ""}
    line |= {"change": f"{worst:.1e}", "control": f"{seeds[0]['control']:.1e}"}
    line["found"] = f"{sum(not one['different'] for one in good)}/{len(seeds)}"
    if good:
        line["seconds"] = f"{statistics.median(one['seconds'] for one in good):.1f}"
        line["megabytes"] = f"{max(one['megabytes'] for one in good):.0f}"
    return line | {"note": "; ".join(notes)}


def onnx_rows(facts):
    """A line of each ONNX exporter."""
    for kind, exported in facts.get("exports", {}).items():
        if kind == "pt2":
            continue
        line = {"network": facts["name"], "exporter": {"onnx-dynamo": "dynamo", "onnx-trace": "trace"}[kind]}
        aligned = exported.get("align", {})
        error = exported.get("error") or aligned.get("error")
        seed = next(iter(facts.get("seeds", {}).values()), {})
        reference = seed.get("align", {})
        line["commit"] = exported.get("commit", facts.get("commit", ""))
        if error:
            yield line | {"groups": "", "share": "", "same": "", "change": "", "found": "no", "note": error}
            continue
        checked = aligned["checked"]
        ran = f"{checked['change']:.1e}" if "change" in checked else checked.get("reason", "")
        yield line | {
            "groups": aligned["groups"],
            "share": f"{aligned['share']:.3f}",
            "same": "yes" if abs(aligned["share"] - reference.get("share", -1)) < 1e-9 else "no",
            "change": ran,
            "found": "yes" if not aligned["different"] else "no",
            "note": f"{len(aligned['different'])} tensors differ" if aligned["different"] else "",
        }


def table(rows):
    """Markdown."""
    rows = list(rows)
    if not rows:
        return ""
    titles = list(rows[0])
    cell = lambda value: str(value).replace("|", "\\|").replace("\n", " ")  # noqa: E731
    lines = [titles, ["---"] * len(titles), *([line[title] for title in titles] for line in rows)]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines) + "\n"


def write(results, options):
    """The tables of all networks measured so far, in the order of the catalogue."""
    rows = [row(facts, options.single) for facts in results]
    onnx = [line for facts in results for line in onnx_rows(facts)]
    sure = [line for line in rows if line["inferred"] == "yes"]
    bound = UNCHANGED_SINGLE if options.single else UNCHANGED
    same = sum(float(line["change"]) < bound for line in sure)
    whole = sum(len(set(line["found"].split("/"))) == 1 for line in sure)
    head = f"""# Sweep over networks

Made by `bench/networks/run sweep`; [bench/README.md](../README.md) says what the columns are.{" " + options.note if options.note else ""}

Of {len(rows)} networks the symmetry of {len(sure)} was inferred, the outputs of {same} are unchanged by random permutations of
all groups, and of {whole} the planted permutation was found again for all seeds, every tensor equal.

"""
    text = head + table(rows)
    if onnx:
        good = sum(line["found"] == "yes" for line in onnx)
        text += f"\n## ONNX\n\nThe planted permutation was found again in {good} of {len(onnx)} cases.\n\n" + table(onnx)
    options.output.with_suffix(".md").write_text(text)
    with options.output.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onebasin", required=True, help="the program that is tested")
    parser.add_argument("--only", default="", metavar="REGEX", help="only networks whose name matches")
    parser.add_argument("--most", type=float, default=float("inf"), metavar="N", help="only networks with at most N parameters")
    parser.add_argument("--least", type=float, default=0, metavar="N", help="only networks with at least N parameters")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], metavar="SEED")
    parser.add_argument("--jobs", type=int, default=1, help="small networks at the same time (times are then not to be trusted)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of onebasin, and of torch for large networks")
    parser.add_argument("--single", action="store_true", help="compute outputs in float32")
    parser.add_argument("--solver", default="best", help="of the alignments")
    parser.add_argument("--no-onnx", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, help="for temporary files; some large networks need 15 GB")
    parser.add_argument("--facts", type=pathlib.Path, default=HERE / "facts.jsonl", help="networks in it are not measured again")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "results", help="name of the tables")
    parser.add_argument("--note", default="", help="a sentence for the head of the tables")
    parser.add_argument("--list", action="store_true", help="list the networks and their sizes")
    options = parser.parse_args()
    import catalogue

    networks = catalogue.networks()
    chosen = {name: catalogue.size(name, network) for name, network in networks.items() if re.search(options.only, name)}
    chosen = {name: size for name, size in chosen.items() if options.least <= size <= options.most}
    if options.list:
        for name, size in chosen.items():
            print(f"{name:24} {size:>12,}")
        return
    results = {}
    if options.facts.exists():
        results = {facts["name"]: facts for facts in map(json.loads, options.facts.read_text().splitlines())}
    lock = threading.Lock()
    order = {name: index for index, name in enumerate(networks)}

    def measure(name, threads):
        start = time.monotonic()
        facts = of_network(options, name, networks, threads)
        with lock:
            results[name] = facts
            with options.facts.open("a") as file:
                file.write(json.dumps(facts) + "\n")
            write([results[name] for name in sorted(results, key=order.get)], options)
            line = row(facts, options.single)
            load = os.getloadavg()[0]
            print(*(f"{line[key]}" for key in COLUMNS), f"({time.monotonic() - start:.0f} s, load {load:.1f})", flush=True)

    todo = sorted((name for name in chosen if name not in results), key=chosen.get)
    small = [name for name in todo if chosen[name] <= LARGE]
    share = max(1, options.threads // options.jobs)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda name: measure(name, share), small))
    for name in todo[len(small) :]:
        measure(name, options.threads)
    write([results[name] for name in sorted(results, key=order.get)], options)


if __name__ == "__main__":
    main()
