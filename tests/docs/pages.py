"""Runs the ```python blocks of a page: `python -m tests.docs.pages PAGE`.

The blocks of one page share their names, from top to bottom. A block with `>>>` prompts is a
doctest: what it prints is compared, and `...` stands for any text. Any other block just runs.
"""

import doctest
import re
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS


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
            exec(compile("\n" * line + block[1], f"<{name}>", "exec", dont_inherit=True), names)


if __name__ == "__main__":
    run_page(Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[1]).name)
