"""What holds of an op is said by the op: other modules do not list ops.

Outside the ops, their lowerings and the bridges to other libraries, no tuple, table, `isinstance`
or `match` names more than two classes of ops, but in a pass whose docstring names them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tenferro_xla  # noqa: F401  # defines ops of its own
from tenferro.ir import ExecOp
from tests.test_layout import PACKAGES, name_of, python_files

MOST = 2
HOMES = {"ops", "lowering", "interop"}


def subclasses(kind: type) -> Iterator[type]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


OPS = {op.__name__ for op in subclasses(ExecOp) if op.__module__.startswith(tuple(PACKAGES))}


def lists_of_ops(source: str) -> list[tuple[int, list[str]]]:
    """The lines that name more ops than they may, with the ops that no docstring names."""
    tree = ast.parse(source)
    documented = defined_ops(tree) | {name for name in OPS if name in docstrings(tree)}
    return [
        (node.lineno, sorted(named - documented))
        for node in ast.walk(tree)
        if len(named := named_ops(node)) > MOST and not named <= documented
    ]


def defined_ops(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def docstrings(tree: ast.Module) -> str:
    documented = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    return "\n".join(ast.get_docstring(node) or "" for node in documented)


def named_ops(node: ast.AST) -> set[str]:
    """The ops that a list, a union, a table, an `isinstance` or a `match` chooses among."""
    match node:
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.BinOp(op=ast.BitOr()):
            chosen: list[ast.AST] = [node]
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
            chosen = [node]
        case ast.Match(cases=cases):
            chosen = [case.pattern for case in cases]
        case _:
            return set()
    inside = [child for part in chosen for child in ast.walk(part)]
    names = {child.id for child in inside if isinstance(child, ast.Name)}
    return OPS & (names | {child.attr for child in inside if isinstance(child, ast.Attribute)})


@pytest.mark.parametrize("path", python_files(*PACKAGES), ids=name_of)
def test_ops_are_asked_and_not_listed(path: Path) -> None:
    if not HOMES & set(path.parts):
        assert lists_of_ops(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "POINTWISE = (Add, ops.Sin, Exp)",
        "RULES = {Add: 1, Sin: 2, Exp: 3}",
        "def f(op):\n    return isinstance(op, Add | Sin | Exp)",
        "match op:\n    case Add():\n        1\n    case Sin() | Exp():\n        2",
    ],
)
def test_a_list_of_three_ops_is_found(source: str) -> None:
    assert next(ops for _, ops in lists_of_ops(source)) == ["Add", "Exp", "Sin"]
    assert lists_of_ops(f'"""Add, Sin and Exp are pulled apart."""\n{source}') == []
    assert lists_of_ops(source.replace("Exp", "Add")) == []
