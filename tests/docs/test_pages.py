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
def test_the_blocks_of_a_page_run_and_print_what_it_says(page: Path) -> None:
    """A page about another library is left out without it; its warnings are its own."""
    if page in OTHERS:
        pytest.importorskip(OTHERS[page])
    warnings = "default" if page in OTHERS else "error"
    done = subprocess.run(
        [sys.executable, "-W", warnings, "-m", "tests.docs.pages", str(page)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_a_wrong_output_on_a_page_is_found() -> None:
    page = "text\n\n```python\nx = 20\n```\n\n```python\n>>> x + 1\n22\n```\n"
    with pytest.raises(AssertionError, match=r'"page.md", line 8(.|\n)*Got:\n *21'):
        run_page(page, "page.md")
