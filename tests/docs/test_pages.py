"""Every ```python block of the README and of docs/ runs, and prints what the page says it prints.

Each page runs in a process of its own, as a reader would run it: the numbers that passes draw for
their inputs, such as `d0(x)`, then depend on nothing else.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import BLOCK, run_page
from tests.fresh_process import run_fresh

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(
        p
        for p in sorted((ROOT / "docs").rglob("*.md"))
        if not {"_build", "generated"} & set(p.parts) and BLOCK.search(p.read_text("utf-8"))
    ),
]
OTHERS = {  # pages about another library, which they name in a comment
    page: found[1]
    for page in PAGES
    if (found := re.search(r"<!-- needs (\w+) -->", page.read_text("utf-8")))
}


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.exhaustive) if p in OTHERS else p for p in PAGES],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_the_blocks_of_a_page_run_and_print_what_it_says(page: Path, tmp_path: Path) -> None:
    """A page about another library is left out without it; its warnings are its own."""
    output = tmp_path / "output"
    if page in OTHERS:
        pytest.importorskip(OTHERS[page])
        command = [sys.executable, "-m", "tests.docs.pages", str(page)]
        with output.open("w") as file:
            status = subprocess.run(
                command, cwd=ROOT, stdout=file, stderr=file, check=False
            ).returncode
    else:
        status = run_fresh("tests.docs.pages", [str(page)], ROOT, output)
    assert status == 0, output.read_text("utf-8")


def test_a_wrong_output_on_a_page_is_found() -> None:
    page = "text\n\n```python\nx = 20\n```\n\n```python\n>>> x + 1\n22\n```\n"
    with pytest.raises(AssertionError, match=r'"page.md", line 8(.|\n)*Got:\n *21'):
        run_page(page, "page.md")
