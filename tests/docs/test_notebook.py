"""The notebook of the examples runs in a kernel, and its outputs are those that it shows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "tour.ipynb"


def run(notebook: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.docs.notebook", str(notebook)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_notebook_shows_what_its_cells_return() -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    result = run(NOTEBOOK)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_wrong_output_in_a_notebook_is_found(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    output = {"output_type": "stream", "name": "stdout", "text": ["22\n"]}
    cell = {"source": "print(21)", "outputs": [output], "id": "a", "metadata": {}}
    notebook["cells"] = [{**cell, "cell_type": "code", "execution_count": 1}]
    path = tmp_path / "wrong.ipynb"
    path.write_text(json.dumps(notebook), "utf-8")
    result = run(path)
    assert result.returncode == 1, result.stderr
    assert "now: ['21\\n']" in result.stdout
