"""`tenferro verify`: what is in a file of a saved program."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tenferro.autodiff import LinearFragment
from tenferro.cli.packages import load_packages
from tenferro.computegraph import name_of
from tenferro.files import MissingExtension, loads, read_bytes, written_digest
from tenferro.runtime import GraphProgram


def verify(arguments: argparse.Namespace) -> int:
    """Read the file with all its checks, and print its contents."""
    packages = load_packages(arguments.packages)
    data = read_bytes(arguments.file)
    value = loads(data, packages=packages, skip_missing_extensions=True)
    lines = program_lines(value) if isinstance(value, GraphProgram) else fragment_lines(value)
    print("\n".join([f"{arguments.file}: sound, {len(data)} bytes", *lines]))
    return 0


def program_lines(program: GraphProgram) -> Iterator[str]:
    """What a program takes, returns and does."""
    exec_program = program.exec_program
    yield f"program, digest {written_digest(exec_program)}"
    yield from _list("inputs", [_declared(each) for each in program.inputs])
    yield from _list("outputs", [str(meta) for meta in exec_program.output_metas])
    yield from _list("guards", [f"{each.left} == {each.right}" for each in program.guards])
    yield from _ops([op for part in exec_program.walk() for op in part.ops()])


def fragment_lines(value: Any) -> Iterator[str]:
    """What a fragment, linear or not, takes, returns and does."""
    fragment = value.fragment if isinstance(value, LinearFragment) else value
    yield "linear fragment" if isinstance(value, LinearFragment) else "fragment"
    yield from _list("inputs", [name_of(key) for key in fragment.input_keys])
    yield from _list("outputs", [name_of(key) for key in fragment.output_keys])
    yield from _ops([node.primitive for node in fragment.nodes])


def _ops(ops: list[Any]) -> Iterator[str]:
    counted = Counter(op.family_id if isinstance(op, MissingExtension) else op.name for op in ops)
    yield f"{len(ops)} instructions{':' if ops else ''}"
    yield from (f"  {count} {name}" for name, count in sorted(counted.items()))
    families = {op.family_id for op in ops if isinstance(op, MissingExtension)}
    yield from _list("families", [f"{each}, not checked" for each in sorted(families)])


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    entries = list(lines)
    yield f"{len(entries)} {title}{':' if entries else ''}"
    yield from (f"  {line}" for line in entries)


def _declared(each: Any) -> str:
    default = "" if each.default is None else f", by default {each.default.meta}"
    return f"{each.name}: {each.meta}{default}"
