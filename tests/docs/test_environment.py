"""The page on environment variables has every variable that is read, and tenferro's defaults."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from tenferro.config import STAGES, Config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "environment.md").read_text("utf-8")
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|PYTHON[A-Z]+|COLUMNS")
MENTIONED = re.compile(r"\b(TENFERRO_[A-Z]\w*|XLA_(?:FLAGS|[A-Z]+_[A-Z_]+)|JAX_[A-Z_]+)\b")
KINDS = {bool: "0 or 1", int: "integer", str: "text", tuple: "stages"}


def rows(title: str) -> list[list[str]]:
    """The cells of the table below a title, without its head."""
    _, _, part = PAGE.partition(f"\n## {title}\n")
    lines = part.partition("\n## ")[0].splitlines()
    return [re.split(r"\s*\|\s*", line)[1:-1] for line in lines if line.startswith("| `")]


def names(title: str) -> set[str]:
    return {name for row in rows(title) for name in re.findall("`(.*?)`", row[0])}


OWN, READ = "Settings of tenferro", "Variables of others that tenferro reads"
TITLES = (OWN, READ, "Variables that only the libraries read", "Variables for work on tenferro")
ALL = {name for title in TITLES for name in names(title)}


def sources(*tops: str) -> Iterator[tuple[str, str]]:
    """Names and texts of Python files."""
    for top in tops:
        path = ROOT / top
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), file.read_text("utf-8")


def read_in(text: str) -> set[str]:
    """The strings that name variables, in statements that use the environment."""
    if "environ" not in text:
        return set()
    parts = [n for each in ast.walk(ast.parse(text)) for n in heads(each)]
    nodes = [n for part in parts if "environ" in ast.unparse(part) for n in ast.walk(part)]
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return {each for each in constants if isinstance(each, str) and VARIABLE.fullmatch(each)}


def heads(node: ast.AST) -> list[ast.AST]:
    """A simple statement, or the expressions at the head of one that holds others."""
    if not isinstance(node, ast.stmt):
        return []
    if not hasattr(node, "body"):
        return [node]
    return [value for value in vars(node).values() if isinstance(value, ast.expr)]


def test_the_settings_are_the_fields_of_the_configuration() -> None:
    defaults = {bool: lambda value: f"`{int(value)}`", tuple: "".join}
    expected = []
    for field in fields(Config):
        kind = type(field.default)
        show = defaults.get(kind, lambda value: f"`{value}`" if value != "" else "")
        expected.append([f"`TENFERRO_{field.name.upper()}`", KINDS[kind], show(field.default)])
    found = [row[:3] for row in rows(OWN)]
    of_host = [row for row in found if row[0] == "`TENFERRO_MAX_BYTES`"]
    assert [row for row in found if row not in of_host] == [
        row for row in expected if row[0] != "`TENFERRO_MAX_BYTES`"
    ]
    assert [row[:2] for row in of_host] == [["`TENFERRO_MAX_BYTES`", "integer"]]
    (dump,) = [row[3] for row in rows(OWN) if row[0] == "`TENFERRO_DUMP`"]
    assert re.findall("`(.*?)`", dump) == list(STAGES)


def test_every_variable_that_a_source_names_is_on_the_page() -> None:
    tops = ("tenferro", "tenferro_xla", "examples", "tests/benchmarks", "tests/conftest.py")
    lost = {
        f"{file}: {name}"
        for file, text in sources(*tops, "noxfile.py", "conftest.py")
        for name in read_in(text) - ALL
    }
    assert lost == set()


def test_every_variable_that_a_text_mentions_is_on_the_page() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [*sources("tenferro", "tenferro_xla", "examples")]
    texts += [(page.name, page.read_text("utf-8")) for page in pages if "_build" not in page.parts]
    lost = {f"{file}: {name}" for file, text in texts for name in {*MENTIONED.findall(text)} - ALL}
    assert lost == set()


def test_the_page_has_no_variable_that_nothing_reads() -> None:
    found = {name for _, text in sources("tenferro", "tenferro_xla") for name in read_in(text)}
    assert names(READ) <= found


def test_a_variable_in_a_source_is_found() -> None:
    text = """
import os
if os.environ.get("A_B"):
    use("E_F")
values = [os.environ[name] for name in ("C_D", "e", "PYTHONPATH")]
"""
    assert read_in(text) == {"A_B", "C_D", "PYTHONPATH"}
    assert read_in('x = "A_B"') == set()
