"""How long calls report progress, and on how many threads they work."""

import sys

# Quick work shows no bar.
DELAY_SECONDS = 2


class Options:
    """What `crates/onebasin-py/src/calls.rs` reads; a context that closes the bars."""

    def __init__(self, progress=None, threads=None, data=None):
        self._bars = {}
        self.progress = self._callback(progress)
        self.message = self._say if self.progress else None
        self.threads = threads
        self.data = data

    def _callback(self, progress):
        if callable(progress):
            return lambda part, task, done, total: progress(f"{part}: {task}" if part else task, done, total)
        if progress is False:
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        if progress is None and not (sys.stderr.isatty() or "ipykernel" in sys.modules):
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


class How:
    """How checkpoints are read; what `crates/onebasin-py/src/symmetry.rs` reads."""

    def __init__(self, format=None, keep=()):
        self.format = format
        self.keep = [keep] if isinstance(keep, str) else list(keep)


def settings(**values):
    """Settings as TOML; those that are none are left out."""

    def text(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(text, value)) + "]"
        return repr(value)

    return "\n".join(f"{key} = {text(value)}" for key, value in values.items() if value is not None)
