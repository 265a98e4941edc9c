"""Ctrl-C: a training and an experiment stop soon, and the same call continues to the same bytes."""

import pathlib
import signal
import subprocess
import sys
import time

import pytest

TRAIN = """
import sys, time
import onebasin as ob
config = {
    "data": {"name": "digits"},
    "arch": {"preset": "mlp", "hidden": [64, 64]},
    "prior": {"variance": 0.1},
    "infer": METHOD,
}
def heard(task, done, total):
    if done: print("working", flush=True)
try:
    ob.train(config, output=sys.argv[1], progress=heard, threads=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
"""
METHODS = {
    "vi": {"method": "vi", "std": 0.1, "optimise": {"epochs": 1500, "batch": 100, "learning_rate": 5e-3}},
    "hmc": {"method": "hmc", "chains": 2, "burn_in": 10, "samples": 40},
}
RUN = """
import sys
import onebasin as ob
experiment = {
    "title": "Two small posteriors",
    "seeds": [1, 2],
    "train": {
        "data": {"name": "digits"},
        "arch": {"preset": "mlp", "hidden": [64, 64]},
        "prior": {"variance": 0.1},
        "infer": {"method": "vi", "std": 0.1, "optimise": {"epochs": 400, "batch": 100, "learning_rate": 5e-3}},
    },
    "align": {},
    "barrier": {"points": 25, "samples": 256},
}
def heard(task, done, total):
    if done: print("working", task, flush=True)
try:
    ob.run(experiment, output=sys.argv[1], progress=heard)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
"""
# What a second is, with room for a machine that does something else, too.
SECONDS = 2.0


def hear():
    """Lets a process hear Ctrl-C, which a shell has its background jobs ignore, and with them all that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(script, folder):
    return subprocess.Popen([sys.executable, "-c", script, folder], stdout=subprocess.PIPE, text=True, preexec_fn=hear)


def finish(script, folder):
    process = start(script, folder)
    assert process.communicate(timeout=300)[0].splitlines()[-1] == "finished"


def interrupt(script, folder, word):
    """Sends Ctrl-C when a line has this word; returns what was printed last and the seconds until the process ended."""
    process = start(script, folder)
    for line in process.stdout:
        if word in line:
            break
    else:
        pytest.fail(f"no line had {word!r}")
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    lines = process.stdout.read().splitlines()
    process.wait(timeout=60)
    return lines[-1], time.monotonic() - sent


@pytest.mark.parametrize("method", METHODS)
def test_a_training_that_was_interrupted_ends_in_the_same_bytes(method, tmp_path):
    script = TRAIN.replace("METHOD", repr(METHODS[method]))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    finish(script, whole)
    for _ in range(2):
        last, seconds = interrupt(script, parts, "working")
        # A trajectory of HMC is one step, and ends first.
        assert last == "interrupted" and (seconds < SECONDS or method == "hmc")
        assert not (parts / "result.json").exists() and (parts / "checkpoint.safetensors").exists()
    finish(script, parts)
    for name in ("posterior.safetensors", "result.json"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name


@pytest.mark.parametrize("word", ["train", "barrier"])
def test_an_experiment_that_was_interrupted_ends_in_the_same_bytes(word, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    finish(RUN, whole)
    last, seconds = interrupt(RUN, parts, word)
    assert last == "interrupted" and seconds < SECONDS
    assert not (parts / "measures.json").exists()
    finish(RUN, parts)
    assert (parts / "measures.json").read_bytes() == (whole / "measures.json").read_bytes()


def test_the_command_of_the_package_stops_and_continues_like_the_program(tmp_path):
    config = tmp_path / "vi.toml"
    config.write_text('data.name = "digits"\narch = { preset = "mlp", hidden = [64, 64] }\nprior.variance = 0.1\n[infer]\nmethod = "vi"\nstd = 0.1\n'
                      "[infer.optimise]\nepochs = 1500\nbatch = 100\nlearning_rate = 5e-3\n")
    words = [sys.executable, "-m", "onebasin", "train", config, "-o", tmp_path / "run"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=hear)
    metrics = pathlib.Path(tmp_path / "run/metrics.jsonl")
    while not metrics.exists():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert "the same command continues" in process.communicate(timeout=10)[1]
    assert process.returncode == 130
    assert subprocess.run(words, check=False).returncode == 0
