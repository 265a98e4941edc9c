"""Progress: a bar of the real tqdm, a callback of one's own, or nothing."""

import io

import numpy as np
import pytest

import onebasin as ob
from onebasin import _calls


def pair(units=300):
    """Two networks whose alignment takes several steps."""
    rng = np.random.default_rng(0)
    shapes = {"a": (units, 50), "b": (units, units), "c": (5, units)}
    points = [{name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()} for _ in range(2)]
    return *points, ob.symmetry.from_dict({"a": ("one", None), "b": ("two", "one"), "c": (None, "two")})


def test_a_callback_hears_tasks_that_only_go_forward():
    heard = []
    ob.align(*pair(), progress=lambda task, done, total: heard.append((task, done, total)))
    assert heard
    for (task, done, total), (after, then, _) in zip(heard, heard[1:]):
        assert isinstance(task, str) and (after != task or then >= done)
        assert total == 0 or done <= total


def test_what_a_callback_raises_ends_the_call():
    def stop(task, done, total):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ob.align(*pair(), progress=stop)


def test_bars_of_tqdm_show_what_is_done_and_are_closed(monkeypatch):
    tqdm = pytest.importorskip("tqdm.auto").tqdm
    written, made = io.StringIO(), []

    class Recorded(tqdm):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords | {"file": written, "mininterval": 0, "delay": 0})
            made.append(self)

    monkeypatch.setattr("tqdm.auto.tqdm", Recorded)
    with _calls.Options(progress=True) as options:
        for done in (0, 3, 7):
            options.progress("", "epochs", done, 10)
        options.progress("", "alignment", 1, 4)
        options.progress("seed 1", "epochs", 2, 0)
        first, second, third = made
        assert (first.n, first.total, second.n, second.total) == (7, 10, 1, 4)
        assert third.total is None and third.desc.startswith("seed 1: epochs")
    assert "epochs:  70%" in written.getvalue() and "7/10" in written.getvalue()
    assert all(bar.disable or bar not in tqdm._instances for bar in made)
    found = ob.align(*pair(), progress=True)
    assert len(made) > 3 and found.w2_after < found.w2_before


def test_without_a_terminal_there_is_no_bar(capsys):
    assert _calls.Options().progress is None
    ob.align(*pair())
    assert capsys.readouterr() == ("", "")
