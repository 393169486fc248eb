"""Runs the ```python blocks of a page: `python -m tests.docs.pages PAGE`.

With `--write` the page gets the outputs that its examples have now; read the diff.

The blocks of one page share their names, from top to bottom. A block with `>>>` prompts is a
doctest: what it prints is compared, and `...` stands for any text. Any other block just runs.
"""

import contextlib
import doctest
import io
import re
import sys
import traceback
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


def written(text: str, name: str) -> str:
    """The page with the outputs that its examples have now; those with `...` stay as they are."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def with_outputs(block: re.Match[str]) -> str:
        if ">>>" not in block[1]:
            exec(compile(block[1], f"<{name}>", "exec", dont_inherit=True), names)
            return block[0]
        shown = [
            f"{prompts(example.source)}\n{output(example, names)}"
            for example in doctest.DocTestParser().get_examples(block[1])
        ]
        return f"```python\n{''.join(shown)}```"

    return BLOCK.sub(with_outputs, text)


def prompts(source: str) -> str:
    """Source with the prompts of an interactive session."""
    first, *others = source.rstrip("\n").split("\n")
    return "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in others)])


def output(example: doctest.Example, names: dict[str, Any]) -> str:
    """What an example prints, in the notation of doctest."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(example.source, "<page>", "single", dont_inherit=True), names)
        except Exception as error:
            lines = "".join(traceback.format_exception_only(error))
            printed.write(f"Traceback (most recent call last):\n    ...\n{lines}")
    if "..." in example.want and "Traceback" not in example.want:
        return example.want
    return re.sub(r"^$(?=\n)", "<BLANKLINE>", printed.getvalue(), flags=re.MULTILINE)


if __name__ == "__main__":
    page = Path(sys.argv[-1])
    if "--write" in sys.argv:
        page.write_text(written(page.read_text(encoding="utf-8"), page.name), encoding="utf-8")
    else:
        run_page(page.read_text(encoding="utf-8"), page.name)
