"""Pages of the examples: a gallery, a page for each script, and the notebook.

A script has its docstring, its picture from `pictures` and its source. A notebook has its cells
with the outputs that are in the file, which `tests/docs/test_notebook.py` checks.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
FOLDER = DOCS / "examples" / "generated"
CODE_OR_MARK = re.compile(r"(`+[^`]+`+)|([\\*_<$])")
IN_WORDS = {  # what is found is that things are equal: there is nothing to draw
    "amplitude_on_two_processes": "process 0 = process 1 = alone, bit by bit",
    "data_parallel": "loss on 4 devices = loss on 1, at each of 60 steps",
    "deep_equilibrium": "gradient of the root = gradient of 200 rounds",
    "farm_killed_and_resumed": "killed with -9, run again: the same bits",
}
CAPITALS = {"Dmrg": "DMRG", "Ising": "Ising", "Ctmrg": "CTMRG", "Peps": "PEPS", "Ode": "ODE"}


def all_pages() -> Iterator[tuple[str, str]]:
    """Every page by its name."""
    scripts = sorted(EXAMPLES.glob("*.py"))
    for script in scripts:
        yield script.stem, page_of_script(script)
    for notebook in sorted(EXAMPLES.glob("*.ipynb")):
        yield notebook.stem, page_of_notebook(notebook)
    cards = sorted(scripts, key=lambda script: not picture(script))
    yield "index", gallery(cards)


def gallery(scripts: list[Path]) -> str:
    """The page with a card for each script, those with pictures first."""
    cards = "\n".join(map(card, scripts))
    return f"""# Examples

Scripts in the folder `examples` of the repository. Each runs by itself, prints what it finds and
checks it: against formulas, dense matrices, differences, or the same function in JAX. The
[notebook](tour.md) `examples/tour.ipynb` is a first look at tensors, programs and plans.

::::{{container}} gallery
{cards}
::::

An extension in a package of its own, with shortest paths and Viterbi decoding by gradients, is in
`examples/tenferro-ext-tropical`.
"""


def card(script: Path) -> str:
    """A picture, or a line in words, and the first sentence of a script, with links to its page."""
    summary = prose(docstring(script).split("\n\n")[0].replace("\n", " "))
    words = f"```text\n{IN_WORDS.get(script.stem, '')}\n```\n\n"
    image = f"[![]({picture(script)})]({script.stem}.md)\n\n" if picture(script) else words
    return f":::{{container}} card\n{image}[{title(script)}]({script.stem}.md)\n\n{summary}\n:::\n"


def page_of_script(script: Path) -> str:
    """The docstring, the picture and the source of a script."""
    image = f"![What {script.name} computes]({picture(script)})\n\n" if picture(script) else ""
    return (
        f"---\norphan: true\n---\n# {title(script)}\n\n{prose(docstring(script))}\n\n{image}"
        f"Run it with `python examples/{script.name}`.\n\n"
        f"```{{literalinclude}} ../../../examples/{script.name}\n:language: python\n```\n"
    )


def title(script: Path) -> str:
    """The name of a script in words."""
    words = script.stem.replace("_", " ").capitalize()
    return re.sub(r"\w+", lambda word: CAPITALS.get(word[0].capitalize(), word[0]), words)


def docstring(script: Path) -> str:
    """What a script says of itself."""
    return ast.get_docstring(ast.parse(script.read_text("utf-8"))) or ""


def picture(script: Path) -> str:
    """The path of a script's picture from its page; empty if there is none."""
    name = f"pictures/{script.stem}.svg"
    return f"../../{name}" if (DOCS / name).exists() else ""


def prose(text: str) -> str:
    """Plain text with `code` as Markdown."""
    return CODE_OR_MARK.sub(lambda found: found[1] or f"\\{found[2]}", text)


def page_of_notebook(path: Path) -> str:
    """The cells of a notebook with their outputs."""
    notebook = json.loads(path.read_text("utf-8"))
    cells = "\n".join(part for each in notebook["cells"] for part in parts_of_cell(each))
    return f"---\norphan: true\n---\n{cells}"


def parts_of_cell(cell: dict[str, Any]) -> Iterator[str]:
    """Text, or code and what it returned and printed."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield f"{source.replace('(../docs/', '(../../')}\n"
        return
    yield f"```python\n{source}\n```\n"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            text = "".join(data["text/html"])
            yield f'```{{raw}} html\n<div class="output">{text}</div>\n```\n'
        else:
            text = "".join(output.get("text") or data["text/plain"])
            yield f"```text\n{text.rstrip()}\n```\n"
