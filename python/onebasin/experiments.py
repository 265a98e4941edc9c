"""Trainings, experiments and their reports, as `onebasin train`, `run`, `report` and `show` make them."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping

from . import _lib
from ._calls import Options, toml, toml_value
from .errors import InputError
from .files import load


class Training:
    """What `train` found: the contents of `result.json`, as attributes, and the posterior.

    `result` has all of it as a dict, `folder` is where the posterior lies.
    """

    def __init__(self, folder, result):
        self.folder = folder
        self.result = result

    def __getattr__(self, name):
        if name.startswith("_") or name == "result":
            raise AttributeError(name)
        if name not in self.result:
            raise AttributeError(f"the result of a training has no `{name}`; it has: {', '.join(self.result)}")
        return self.result[name]

    def __dir__(self):
        return [*super().__dir__(), *self.result]

    @property
    def posterior(self):
        """The posterior, read from its file; see `load`."""
        return load(self.folder)

    def __repr__(self):
        return f"<Training in {self.folder}: test error {self.test['error']:.4f}, NLL {self.test['nll']:.4f}>"


class Measures(Mapping):
    """What `run` measured: the contents of `measures.json`, the folder, and the page of the report.

    `failures` has a pair for each task that has no result, because a training diverged: its name, and why.
    """

    def __init__(self, folder, values, report):
        self._values = values
        self.folder = folder
        self.report = report

    def __getitem__(self, key):
        return self._values[key]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    @property
    def failures(self):
        """A pair for each task without a result: its name, and why."""
        failed = [failure for cell in self["cells"] for failure in cell.get("failures", [])]
        return [(failure["task"], failure["reason"]) for failure in failed]

    def __repr__(self):
        cells = len(self["cells"])
        return f"<Measures of {self['name']}: {cells} cell{'' if cells == 1 else 's'}, report in {self.report}>"


def train(
    config, *, overrides=None, output=None, progress=None, threads=None, data=None, extend=False, force=False
):
    """Trains a posterior, or continues a training that was interrupted, with the same result; returns a `Training`.

    `config` is the path of a TOML file, the text of one, or a nested dict; `overrides` change single settings:
    `{"infer.optimise.epochs": 20}`. The folder is `output`, or `runs/` with the name of the file. A finished training is not repeated, but
    its result is returned; `extend` continues it to a larger number of epochs, members, chains or samples, `force` replaces it. Ctrl-C
    stops after the step at hand, which is a whole trajectory of HMC, and saves the state; the same call continues.

    >>> import tempfile
    >>> config = {
    ...     "data": {"name": "digits"},
    ...     "arch": {"preset": "mlp", "hidden": [16]},
    ...     "prior": {"variance": 0.1},
    ...     "infer": {"method": "vi", "optimise": {"epochs": 2, "batch": 100, "learning_rate": 5e-3}},
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trained = train(config, output=folder)
    ...     trained.steps, list(trained.posterior.mean)
    (29, ['hidden1.weight', 'hidden1.bias', 'head.weight', 'head.bias'])
    """
    if extend and force:
        raise InputError("`extend` continues a training and `force` replaces it: give one of them")
    name, text, file = _read(config, "the configuration")
    output = _folder(output, file, "training")
    with Options(progress, threads, data) as options:
        result = _lib.train(name, text, _overrides(overrides), output, extend, force, options)
    return Training(output, json.loads(result))


def run(file, *, overrides=None, output=None, progress=None, threads=None, data=None):
    """Runs a whole experiment: trains, aligns, measures and writes a report; returns `Measures`.

    `file` is the path of a TOML file, the text of one, or a nested dict. What is up to date is not repeated, so the same call continues a
    run that was stopped by Ctrl-C or killed, with the same results. Data sets that are missing are downloaded. A training that diverges is
    left out with whatever needs it, and a warning names it.

    >>> measures = run("experiments/digits.toml", output="runs/digits")  # doctest: +SKIP
    >>> measures["cells"][0]["barrier"]  # doctest: +SKIP
    """
    name, text, path = _read(file, "experiment.toml")
    output = _folder(output, path, "experiment")
    kept = os.path.join(output, "experiment.toml")
    if path is not None and os.path.exists(kept) and os.path.samefile(path, kept):
        raise InputError(f"{path} is where the folder keeps the experiment that runs in it; choose another `output`")
    with Options(progress, threads, data) as options:
        missing, found = _lib.run(name, text, _overrides(overrides), output, options)
        if missing:
            for dataset in missing:
                _download(dataset, options.data)
            missing, found = _lib.run(name, text, _overrides(overrides), output, options)
    measures = Measures(output, json.loads(found[0]), found[1])
    for task, reason in measures.failures:
        warnings.warn(f"failed: {task}: {reason}", stacklevel=2)
    return measures


def report(folders, output=None):
    """Writes the report of one or several experiments, or of single stages, and returns the path of its page.

    `output` is a folder, or a Markdown file whose figures go into a folder beside it; for a single experiment it is `report` in its folder.

    >>> report(["runs/mnist", "runs/fashion-mnist"], "docs/results.md")  # doctest: +SKIP
    PosixPath('docs/results.md')
    """
    folders = [folders] if isinstance(folders, (str, os.PathLike)) else list(folders)
    if not folders:
        raise InputError("a report needs the folder of at least one experiment")
    if len(folders) > 1 and output is None:
        raise InputError("a report of several experiments needs a folder: name one by `output`")
    with Options(False) as options:
        return _lib.report(folders, output, options)


def show(path):
    """Says in a text what a file or folder of onebasin is, and what is in it.

    >>> print(show("runs/seed1"))  # doctest: +SKIP
    """
    return _lib.show(path)


def _read(config, unnamed):
    """What errors call a configuration, its text, and its file if it has one."""
    if isinstance(config, Mapping):
        return unnamed, toml(config), None
    if isinstance(config, str) and ("\n" in config or "=" in config and not os.path.exists(config)):
        return unnamed, config, None
    if not isinstance(config, (str, os.PathLike)):
        raise InputError(f"a configuration is a path, a text or a dict, not a {type(config).__name__}")
    path = os.fspath(config)
    try:
        with open(path, encoding="utf-8") as file:
            return path, file.read(), path
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _folder(output, file, what):
    if output is not None:
        return os.fspath(output)
    if file is None:
        raise InputError(f"the configuration is no file, so its name is no folder: name the folder of the {what} by `output`")
    return os.path.join("runs", os.path.splitext(os.path.basename(file))[0])


def _overrides(overrides):
    if isinstance(overrides, Mapping):
        return [f"{key}={toml_value(value)}" for key, value in overrides.items()]
    return list(overrides or [])


def _download(dataset, folder):
    """By the command, so that Ctrl-C ends a transfer at once; it goes on where it broke off."""
    command = [sys.executable, "-m", "onebasin", "data", "get", dataset]
    if folder is not None:
        command += ["--data", folder]
    if subprocess.run(command, check=False).returncode != 0:
        raise InputError(f"the data set {dataset} is missing, and could not be downloaded; `data` names the folder of data sets")
