"""Every ```python block of the README and of docs/ runs, and prints what the page says it prints.

The blocks of one page share their names, from top to bottom. A block with `>>>` prompts is a
doctest: what it prints is compared, and `...` stands for any text. Any other block just runs.
"""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(
        p
        for p in sorted((ROOT / "docs").rglob("*.md"))
        if not {"_build", "generated"} & set(p.parts)
    ),
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_blocks_of_a_page_run_and_print_what_it_says(page: Path) -> None:
    run_page(page.read_text(encoding="utf-8"), str(page))


def test_a_wrong_output_on_a_page_is_found() -> None:
    page = "text\n\n```python\nx = 20\n```\n\n```python\n>>> x + 1\n22\n```\n"
    with pytest.raises(AssertionError, match=r'"page.md", line 8(.|\n)*Got:\n *21'):
        run_page(page, "page.md")


def run_page(text: str, name: str) -> None:
    """Run the blocks of a page in order, in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        if ">>>" in block[1]:
            test = doctest.DocTestParser().get_doctest(block[1], names, name, name, line)
            report: list[str] = []
            doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
            assert report == [], "".join(report)
            names = test.globs
        else:
            exec(compile("\n" * line + block[1], name, "exec", dont_inherit=True), names)
