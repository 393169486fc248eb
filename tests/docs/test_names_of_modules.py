"""Modules and files that the docs and the docstrings of packages name are there."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [
    door.parent
    for top in ("tenferro", "tenferro_xla")
    for door in sorted((ROOT / top).rglob("__init__.py"))
]
ARCHITECTURE = ROOT / "docs/architecture.md"
PAGES = [ARCHITECTURE, *sorted((ROOT / "docs/how_to").glob("*.md"))]
ADDED = {"merge_exponentials.py", "test_merge_exponentials.py"}  # by the reader of a page


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_module(package: Path, name: str) -> bool:
    path = package / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def in_reading_order(text: str) -> Iterator[str]:
    """The modules that a docstring says to read, in paragraphs and in lists."""
    for paragraph in text.split("\n\n"):
        listed = re.findall(r"^- `(\w+)`", paragraph, re.MULTILINE)
        read = re.search(r"\bRead\b.*\b(order|first)\b", paragraph, re.DOTALL)
        yield from listed or (re.findall(r"`([a-z_]+)`", paragraph) if read else [])


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_a_package_names_modules_that_it_has(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    assert [name for name in in_reading_order(text) if not is_module(package, name)] == []


def test_a_module_that_is_not_there_is_found() -> None:
    text = "Ops.\n\nRead in this order: `here`, the\npasses of `ALL`, `gone`.\n\n- `lost`: `f`"
    assert list(in_reading_order(text)) == ["here", "gone", "lost"]


def test_the_table_of_rooms_names_rooms_and_what_to_read_in_them() -> None:
    table = ARCHITECTURE.read_text("utf-8").partition("| room |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*?) \|.*\| (.*?) ?\|$", table, re.MULTILINE)
    assert len(rows) > 10
    package = ROOT / "tenferro"
    for rooms, first in rows:
        names = re.findall(r"`([\w.]+)`", rooms)
        assert [name for name in names if not is_module(package, name)] == []
        for name in re.findall(r"`([\w.]+)`", first):
            assert is_module(package / names[0].replace(".", "/"), name), f"{names[0]}: {name}"


def test_the_page_counts_the_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["id"] == "layers")
    assert f"on {len(layers)} layers" in ARCHITECTURE.read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_files_that_are_there(page: Path) -> None:
    named = re.findall(r"`((?:[\w-]+/)+(?:[\w-]+\.py)?)`", page.read_text("utf-8"))
    homes = [ROOT, ROOT / "tenferro", ROOT / "tenferro_xla"]
    assert [
        path
        for path in named
        if Path(path).name not in ADDED and not any((home / path).exists() for home in homes)
    ] == []
