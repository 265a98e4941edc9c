"""Trainings and experiments: configurations of every form, results, reports, and what is refused."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import onebasin as ob
import pytest

CONFIG = {
    "seed": 1,
    "data": {"name": "digits"},
    "arch": {"preset": "mlp", "hidden": [16]},
    "prior": {"variance": 0.1},
    "infer": {"method": "vi", "std": 0.1, "optimise": {"epochs": 5, "batch": 100, "learning_rate": 5e-3}},
}
TEXT = """
seed = 1
data.name = "digits"
arch = { preset = "mlp", hidden = [16] }
prior.variance = 0.1
infer = { method = "vi", std = 0.1, optimise = { epochs = 5, batch = 100, learning_rate = 5e-3 } }
"""
EXPERIMENT = {
    "title": "Two small posteriors",
    "seeds": [1, 2],
    "train": {key: value for key, value in CONFIG.items() if key != "seed"},
    "align": {},
    "barrier": {"points": 3, "samples": 4, "train_examples": 100, "test_examples": 100},
}


def posterior(folder):
    return (pathlib.Path(folder) / "posterior.safetensors").read_bytes()


def test_a_dict_a_text_a_file_and_the_command_train_the_same_posterior(tmp_path):
    file = tmp_path / "vi.toml"
    file.write_text(TEXT)
    by_dict = ob.train(CONFIG, output=tmp_path / "dict")
    ob.train(TEXT, output=str(tmp_path / "text"), threads=1)
    ob.train(file, output=tmp_path / "file", overrides={"infer.optimise.learning_rate": np.float64(5e-3)})
    ob.train(file, output=tmp_path / "list", overrides=["infer.optimise.epochs=5"])
    done = subprocess.run([sys.executable, "-m", "onebasin", "train", file, "-o", tmp_path / "command"], check=False)
    assert done.returncode == 0
    for other in ("text", "file", "list", "command"):
        assert posterior(tmp_path / other) == posterior(tmp_path / "dict"), other
    assert by_dict.result == json.loads((tmp_path / "command/result.json").read_text())


def test_a_training_gives_its_result_and_its_posterior(tmp_path):
    found = ob.train(CONFIG, output=tmp_path)
    assert found.steps == 72 and found.epochs == pytest.approx(5, abs=0.1) and 0 < found.test["error"] < 0.5
    assert "steps" in dir(found) and "test error" in repr(found)
    assert found.posterior.mean["hidden1.weight"].dtype == np.float32
    with pytest.raises(AttributeError, match="has no `loss`; it has: steps"):
        found.loss
    # It is finished: nothing is trained again.
    before = posterior(tmp_path)
    assert ob.train(CONFIG, output=tmp_path).result == found.result
    assert posterior(tmp_path) == before


def test_the_folder_is_named_by_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("small.toml").write_text(TEXT)
    assert pathlib.Path(ob.train("small.toml").folder) == pathlib.Path("runs/small")
    assert pathlib.Path("runs/small/result.json").exists()


def test_a_training_is_extended_or_replaced(tmp_path):
    ob.train(CONFIG, output=tmp_path / "short")
    longer = {"infer.optimise.epochs": 8}
    with pytest.raises(ob.InputError, match="another"):
        ob.train(CONFIG, output=tmp_path / "short", overrides=longer)
    extended = ob.train(CONFIG, output=tmp_path / "short", overrides=longer, extend=True)
    whole = ob.train(CONFIG, output=tmp_path / "whole", overrides=longer)
    assert extended.result == whole.result and posterior(tmp_path / "short") == posterior(tmp_path / "whole")
    assert ob.train(CONFIG, output=tmp_path / "whole", force=True).steps == 72
    with pytest.raises(ob.InputError, match="one of them"):
        ob.train(CONFIG, output=tmp_path / "whole", extend=True, force=True)


@pytest.mark.parametrize(
    "config, overrides, fault",
    [
        ({**CONFIG, "sead": 1}, None, "sead.*seed"),
        (CONFIG, {"infer.optimise.epochs": -1}, "infer.optimise.epochs"),
        (CONFIG, {"infer.method": "vy"}, "vy"),
        (CONFIG, ["epochs"], "epochs"),
        (CONFIG, {"seed": object()}, "a number, a text, a list or a dict"),
        (TEXT + "\nx = [", None, "TOML|line"),
        (EXPERIMENT, None, "is an experiment"),
        (3, None, "not a int"),
        ("no/such/file.toml", None, "no/such/file.toml cannot be read"),
    ],
)
def test_wrong_configurations_are_refused_and_leave_no_folder(config, overrides, fault, tmp_path):
    with pytest.raises(ob.InputError, match=fault):
        ob.train(config, overrides=overrides, output=tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_without_a_file_needs_a_folder():
    with pytest.raises(ob.InputError, match="by `output`"):
        ob.train(CONFIG)


def test_data_that_are_missing_are_named(tmp_path):
    with pytest.raises(ob.InputError, match="by `data` in which folder"):
        ob.train({**CONFIG, "data": {"name": "mnist"}}, output=tmp_path / "new", data=tmp_path / "empty")


def test_a_training_that_diverges_is_an_error_of_its_own(tmp_path):
    with pytest.raises(ob.DivergedError, match="diverged|finite"):
        ob.train(CONFIG, overrides={"infer.optimise.learning_rate": 1e30}, output=tmp_path)


def test_progress_is_told_and_an_exception_of_the_callback_stops_the_training(tmp_path):
    heard = []
    ob.train(CONFIG, output=tmp_path / "heard", progress=lambda task, done, total: heard.append((task, done, total)))
    assert heard and all(done <= total for _, done, total in heard)

    def stop(task, done, total):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ob.train(CONFIG, output=tmp_path / "stopped", progress=stop)
    ob.train(CONFIG, output=tmp_path / "stopped")
    assert posterior(tmp_path / "stopped") == posterior(tmp_path / "heard")


def test_an_experiment_is_run_reported_and_found_up_to_date(tmp_path):
    found = ob.run(EXPERIMENT, output=tmp_path / "own")
    assert found["title"] == "Two small posteriors" and len(found["cells"]) == 1 and found.failures == []
    assert found.report.exists() and "Two small posteriors" in found.report.read_text()
    assert dict(found) == json.loads((tmp_path / "own/measures.json").read_text())
    measured = (tmp_path / "own/measures.json").stat().st_mtime_ns
    stages = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    again = ob.run(EXPERIMENT, output=tmp_path / "own")
    assert dict(again) == dict(found) and measured
    assert stages == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}


def test_an_experiment_of_a_file_gives_the_bytes_of_the_command(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(ob._calls.toml(EXPERIMENT))
    ob.run(file, output=tmp_path / "own", overrides={"barrier.samples": 3})
    words = [sys.executable, "-m", "onebasin", "run", file, "--set", "barrier.samples=3", "-o", tmp_path / "command"]
    assert subprocess.run(words, check=False).returncode == 0
    assert (tmp_path / "own/measures.json").read_bytes() == (tmp_path / "command/measures.json").read_bytes()
    with pytest.raises(ob.InputError, match="keeps the experiment"):
        ob.run(tmp_path / "own/experiment.toml", output=tmp_path / "own")
    page = ob.report([tmp_path / "own", tmp_path / "command"], tmp_path / "both.md")
    assert page == tmp_path / "both.md" and page.exists()
    assert ob.report(tmp_path / "own", tmp_path / "page").exists()


def test_a_training_that_diverges_leaves_the_others_and_a_warning(tmp_path):
    sweep = {**EXPERIMENT, "sweep": {"train.infer.optimise.learning_rate": [5e-3, 1e30]}}
    with pytest.warns(UserWarning, match="failed: "):
        found = ob.run(sweep, output=tmp_path)
    assert found.failures and len(found["cells"]) == 2


def test_reports_that_cannot_be_written_are_refused(tmp_path):
    for folders, fault in [([], "at least one"), ([tmp_path, tmp_path], "by `output`"), (tmp_path / "none", "none")]:
        with pytest.raises(ob.OnebasinError, match=fault):
            ob.report(folders)
