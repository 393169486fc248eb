"""Runs a notebook in a kernel: `python -m tests.docs.notebook NOTEBOOK`.

It fails where an output is another one than the notebook has. With `--write` the notebook gets the
outputs that its cells have now; read the diff.
"""

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

SECONDS = 120


def outputs(notebook: Any) -> list[tuple[str, list[Any]]]:
    """The source of each cell of code, and its outputs: HTML where there is some."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        for output in cell.outputs:
            if "text/html" in output.get("data", {}):
                output.data.pop("text/plain", None)
    return [
        (cell.source, [output.get("data") or output.get("text") for output in cell.outputs])
        for cell in cells
    ]


def main(path: Path, write: bool) -> int:
    """The exit status: 1 where outputs differ."""
    notebook = nbformat.read(path, as_version=4)
    there = outputs(notebook)
    NotebookClient(
        notebook, timeout=SECONDS, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    now = outputs(notebook)
    if write:
        for cell in notebook.cells:
            cell.metadata.clear()
        notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
        nbformat.write(notebook, path)
        return 0
    different = [
        (source, was, is_now)
        for (source, was), (_, is_now) in zip(there, now, strict=True)
        if was != is_now
    ]
    for source, was, is_now in different:
        sys.stdout.write(f"{source}\nhas in the notebook: {was}\nnow: {is_now}\n\n")
    return bool(different)


KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}

if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[-1]), "--write" in sys.argv))
