"""`run`, `lower`, `verify`: a function on files of arrays, its StableHLO, a saved program."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tenferro.cli.function import load_function, load_packages, specs_of, trace
from tenferro.cli.inspect import write
from tenferro.cli.stages import pipeline, stablehlo
from tenferro.core import LinearFragment, name_of
from tenferro.errors import CommandError
from tenferro.runtime import GraphProgram
from tenferro.serialization import MissingExtension, loads, read_bytes, written_digest
from tenferro.transforms import flatten, jit, leaf_names

# `tenferro run`: a function on arrays from files.


def run(arguments: argparse.Namespace) -> int:
    """Compile the function, run it once, and print or save the leaves of its result."""
    packages = load_packages(arguments.packages)
    function = load_function(arguments.function, packages)
    inputs = [load(file) for file in arguments.inputs]
    function.parameters(len(inputs))
    result = jit(function.__call__, executor=arguments.executor, packages=packages)(*inputs)
    leaves, _ = flatten(result)
    named = dict(zip(leaf_names(result, "result"), leaves, strict=True))
    if arguments.output is None:
        for name, value in named.items():
            print(f"{name}: {value.meta}\n{value.numpy()}")
        return 0
    save(arguments.output, named)
    print(f"wrote {arguments.output}: {', '.join(named)}")
    return 0


def load(file: str) -> Any:
    """The array of an `.npy` file, or the dict of arrays of an `.npz` file.

    Raises:
        CommandError: there is no such file, or it holds something else.
    """
    path = Path(file)
    if path.suffix not in (".npy", ".npz"):
        raise CommandError(f"{file} is neither .npy nor .npz")
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return content
        with content:
            return {name: content[name] for name in content.files}
    except FileNotFoundError:
        raise CommandError(f"there is no file {file}") from None
    except (OSError, ValueError, EOFError) as error:
        raise CommandError(f"{file} holds no arrays: {str(error).partition(chr(10))[0]}") from None


def save(file: str, named: dict[str, Any]) -> None:
    """Save arrays under their names.

    Raises:
        CommandError: the file is not an `.npz` or cannot be written.
    """
    if not file.endswith(".npz"):
        raise CommandError(f"{file} is not an .npz file")
    try:
        np.savez(file, allow_pickle=False, **{name: each.numpy() for name, each in named.items()})
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}") from None


# `tenferro lower`: the StableHLO of a function.


def lower(arguments: argparse.Namespace) -> int:
    """Print the StableHLO, or write it to a file."""
    packages = load_packages(arguments.packages)
    function = load_function(arguments.function, packages)
    traced = trace(function, specs_of(function, arguments.shapes, arguments.dtypes))
    program = pipeline(traced, grad=False, packages=packages).program
    text = stablehlo(program, dict(arguments.sizes), packages=packages)
    if arguments.output is None:
        print(text.rstrip())
    else:
        write(arguments.output, text)
        print(f"wrote {arguments.output}")
    return 0


# `tenferro verify`: what is in a file of a saved program.


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
