"""How long calls report progress, and on how many threads they work."""

import json
import os
import re
import sys
import warnings
from collections.abc import Mapping

from .errors import InputError

# Quick work shows no bar.
DELAY_SECONDS = 2
# Keys of TOML that need no quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Options:
    """What `crates/onebasin-py/src/calls.rs` reads; a context that closes the bars."""

    def __init__(self, progress=None, threads=None, data=None):
        self._bars = {}
        self.progress = self._callback(progress)
        self.message = self._say if self.progress else None
        self.threads = threads
        self.data = os.environ.get("ONEBASIN_DATA") if data is None else os.fspath(data)

    def _callback(self, progress):
        if callable(progress):
            return lambda part, task, done, total: progress(f"{part}: {task}" if part else task, done, total)
        if progress is False:
            return None
        try:
            with warnings.catch_warnings():
                # Without ipywidgets, a notebook gets bars of text, which need no advice.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError:
            return None
        if progress is None and not (sys.stderr.isatty() or _in_a_notebook()):
            return None
        return lambda part, task, done, total: self._bar(tqdm, part, task, done, total)

    def _bar(self, tqdm, part, task, done, total):
        title = f"{part}: {task}" if part else task
        bar = self._bars.get(part)
        if bar is None or bar.desc.rstrip(": ") != title or done < bar.n:
            if bar is not None:
                bar.close()
            bar = self._bars[part] = tqdm(total=total or None, desc=title, leave=False, delay=DELAY_SECONDS)
        bar.total = total or None
        bar.update(done - bar.n)

    def _say(self, text):
        print(text, file=sys.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()


def _in_a_notebook():
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    return hasattr(shell, "kernel")


class How:
    """How checkpoints are read; what `crates/onebasin-py/src/symmetry.rs` reads."""

    def __init__(self, format=None, keep=()):
        self.format = format
        self.keep = [keep] if isinstance(keep, str) else list(keep)


def settings(**values):
    """Settings as TOML; those that are none are left out."""
    return toml(values)


def toml(table):
    """A nested dict as TOML; values that are none are left out.

    >>> print(toml({"seed": 1, "arch": {"preset": "mlp", "hidden": (16, 16)}, "start": None}))
    seed = 1
    arch = { preset = "mlp", hidden = [16, 16] }
    """
    return "\n".join(_entries(table))


def toml_value(value):
    """One value as TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_entries(value)) + " }"
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        # Both formats have the same strings.
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, (int, float)):
        return repr(value)
    raise InputError(f"a setting is {value!r}, a {type(value).__name__}; it must be a number, a text, a list or a dict")


def _entries(table):
    for key, value in table.items():
        if value is not None:
            yield f"{key if _BARE.fullmatch(key) else json.dumps(key)} = {toml_value(value)}"
