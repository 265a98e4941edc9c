"""The notebooks run from the first cell to the last, and print what is committed."""

import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def printed(notebook):
    """The first words of each line that a cell prints; numbers may differ on other processors."""
    lines = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            text = output.get("text", "") if output.output_type == "stream" and output.name == "stdout" else ""
            lines += [line.split()[0] for line in text.splitlines() if line.split()]
    return lines


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_the_same(path, monkeypatch):
    # Threads that wait for one another awake slow all down where something else works.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    committed = nbformat.read(path, as_version=4)
    run = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(run, timeout=600, kernel_name="python3").execute()
    assert printed(run) == printed(committed)
    kinds = {kind for cell in run.cells for output in cell.get("outputs", []) for kind in output.get("data", {})}
    assert "image/png" in kinds


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["align", "bayesian", "ensemble"]
