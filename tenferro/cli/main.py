"""The commands `tenferro run`, `lower` and `verify`, and the parser of all commands."""

from __future__ import annotations

import argparse
import io
import os
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import tenferro
from tenferro.cli.completion import SHELLS, completion
from tenferro.cli.demo import demo
from tenferro.cli.doctor import doctor
from tenferro.cli.function import (
    file_name,
    load_function,
    load_packages,
    named_size,
    one_line,
    parse_dtype,
    parse_shape,
    sizes_by_name,
    specs_of,
    trace,
)
from tenferro.cli.inspect import inspect, pipeline, stablehlo, write
from tenferro.cli.port import port
from tenferro.core import LinearFragment, name_of
from tenferro.errors import CommandError, ExtensionRegistryError, TenferroError, counted
from tenferro.runtime import GraphProgram
from tenferro.serialization import MissingExtension, loads, read_bytes, written_digest
from tenferro.transforms import flatten, jit, leaf_names

__all__ = ["main"]


# `tenferro run`: a function on arrays from files.


def run(arguments: argparse.Namespace) -> int:
    """Compile the function, run it once, and print or save the leaves of its result."""
    packages = load_packages(arguments.packages)
    function = load_function(arguments.function, packages)
    inputs = [load(file) for file in arguments.inputs]
    function.parameters(len(inputs), "one INPUT")
    for file, value in zip(arguments.inputs, inputs, strict=True):
        if function.specs is not None and isinstance(value, dict):
            raise CommandError(
                f"{file} is a dict of arrays, and a saved program takes arrays; give one .npy for "
                "each input"
            )
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
        with path.open("rb") as opened:
            is_of_numpy = opened.read(6).startswith((b"\x93NUMPY", b"PK"))
            opened.seek(0)
            content = np.load(opened, allow_pickle=False) if is_of_numpy else None
            if isinstance(content, np.lib.npyio.NpzFile):
                return {name: content[name] for name in content.files}
    except FileNotFoundError:
        raise CommandError(f"there is no file {file}") from None
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CommandError(f"{file} holds no arrays: {str(error).partition(chr(10))[0]}") from None
    if content is None:
        raise CommandError(f"{file} holds no arrays: it does not begin as NumPy's files do")
    return content


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
    text = stablehlo(program, sizes_by_name(arguments.sizes), packages=packages)
    if arguments.output is None:
        print(text.rstrip())
    else:
        write(arguments.output, text)
        print(f"wrote {arguments.output}")
    return 0


# `tenferro verify`: what is in a file of a saved program.


def verify(arguments: argparse.Namespace) -> int:
    """Read the file with all its checks, and print its contents; 1 if it does not pass them."""
    packages = load_packages(arguments.packages)
    try:
        data = read_bytes(arguments.file)
        value = loads(data, packages=packages, skip_missing_extensions=True)
    except ExtensionRegistryError:
        raise  # it is about the packages
    except TenferroError as error:
        if not (os.path.isfile(arguments.file) and os.access(arguments.file, os.R_OK)):
            raise
        complain(f"tenferro verify: {one_line(error)}")
        return 1
    lines = program_lines(value) if isinstance(value, GraphProgram) else fragment_lines(value)
    print("\n".join([f"{arguments.file}: sound, {counted(len(data), 'byte')}", *lines]))
    return 0


def program_lines(program: GraphProgram) -> Iterator[str]:
    """What a program takes, returns and does."""
    exec_program = program.exec_program
    yield f"program, digest {written_digest(exec_program)}"
    yield from _list("input", [_declared(each) for each in program.inputs])
    yield from _list("output", [str(meta) for meta in exec_program.output_metas])
    yield from _list("guard", [f"{each.left} == {each.right}" for each in program.guards])
    yield from _ops([op for part in exec_program.walk() for op in part.ops()])


def fragment_lines(value: Any) -> Iterator[str]:
    """What a fragment, linear or not, takes, returns and does."""
    fragment = value.fragment if isinstance(value, LinearFragment) else value
    yield "linear fragment" if isinstance(value, LinearFragment) else "fragment"
    yield from _list("input", [name_of(key) for key in fragment.input_keys])
    yield from _list("output", [name_of(key) for key in fragment.output_keys])
    yield from _ops([node.primitive for node in fragment.nodes])


def _ops(ops: list[Any]) -> Iterator[str]:
    names = Counter(op.family_id if isinstance(op, MissingExtension) else op.name for op in ops)
    yield f"{counted(len(ops), 'instruction')}{':' if ops else ''}"
    yield from (f"  {count} {name}" for name, count in sorted(names.items()))
    families = {op.family_id for op in ops if isinstance(op, MissingExtension)}
    yield from _list("family", [f"{each}, not checked" for each in sorted(families)], "families")


def _list(one: str, lines: Iterable[str], many: str = "") -> Iterator[str]:
    entries = list(lines)
    yield f"{counted(len(entries), one, many)}{':' if entries else ''}"
    yield from (f"  {line}" for line in entries)


def _declared(each: Any) -> str:
    default = "" if each.default is None else f", by default {each.default.meta}"
    return f"{each.name}: {each.meta}{default}"


# The parser of all commands, and what becomes of an error: one line, and exit code 2.

Command = Callable[[argparse.Namespace], int]
INTERRUPTED = 130
"""The exit code of shells for what Ctrl-C ends."""


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line, `sys.argv` by default, and return the exit code.

    0: done. 1: something that was checked is not so. 2: the command cannot be carried out. 130: it
    was interrupted.
    """
    print_anything()
    arguments = parse(argv)
    command: Command = arguments.run_command
    try:
        code = command(arguments)
        if sys.stdout is not None:  # it may be closed
            sys.stdout.flush()
    except TenferroError as error:
        complain(f"tenferro {arguments.command}: {one_line(error)}")
        return 2
    except KeyboardInterrupt:
        complain(f"tenferro {arguments.command}: interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        stop_printing()
        return 0
    except OSError as error:
        if error.filename is None:
            stop_printing()  # or Python would try again when it exits
        place = "standard output" if error.filename is None else error.filename
        complain(f"tenferro {arguments.command}: {place}: {error.strerror or error}")
        return 2
    return code


def complain(line: str) -> None:
    """Write a line to standard error, if there is one."""
    if sys.stderr is not None:
        sys.stderr.write(f"{line}\n")


def stop_printing() -> None:
    """Drop what is printed from now on, and what waits to be."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_anything() -> None:
    """Print a question mark for a letter that standard output cannot encode, such as `µ`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; inputs of `run` may also follow its options, which argparse does not allow."""
    top = parser()
    arguments, rest = top.parse_known_args(argv)
    if rest and (arguments.command != "run" or any(each.startswith("-") for each in rest)):
        top.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.inputs += rest
    return arguments


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = Parser(
        prog="tenferro",
        description="Trace, differentiate, optimize and run programs of tensors.",
        epilog="Exit codes: 0 done, 1 a check failed, 2 the command cannot be carried out, "
        "130 interrupted.",
    )
    top.add_argument("--version", action="version", version=f"tenferro {tenferro.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run_command=command)
        return sub

    add("demo", demo, "A tour: one function, every stage, and its gradient checked against JAX's.")
    of_doctor = add("doctor", doctor, "What is installed, and whether it computes in 64 bits.")
    of_doctor.add_argument("--json", action="store_true", help="print all of it as JSON")
    of_doctor.add_argument(
        "--gpu",
        nargs=argparse.REMAINDER,
        metavar="OPTION",
        help="check a device, for some minutes; `--gpu --help` has the options, which come last",
    )

    of_inspect = add("inspect", inspect, "Every stage of a function's program, as text.")
    _add_function(of_inspect)
    _add_types(of_inspect)
    of_inspect.add_argument(
        "--grad", action="store_true", help="with the cotangents of all floating-point arguments"
    )
    of_inspect.add_argument(
        "--html", metavar="OUT", type=file_name, help="write one self-contained page instead"
    )

    of_lower = add("lower", lower, "The StableHLO of a function's program.")
    _add_function(of_lower)
    _add_types(of_lower)
    of_lower.add_argument(
        "-o", "--output", metavar="FILE", type=file_name, help="write there, not to the screen"
    )

    of_run = add("run", run, "Run a function on arrays from files.")
    _add_function(of_run)
    of_run.add_argument(
        "inputs",
        metavar="INPUT",
        type=file_name,
        nargs="*",
        help="one for each argument: .npy is an array, .npz a dict of arrays",
    )
    of_run.add_argument("--executor", help="xla, numpy, or another one that is installed")
    of_run.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=file_name,
        help="save the results as .npz, do not print them",
    )

    of_verify = add("verify", verify, "Check a file of a saved program, and list what is in it.")
    of_verify.add_argument("file", metavar="FILE", type=file_name, help="what tn.save wrote")
    _add_packages(of_verify)

    of_port = add("port", port, "A program written for JAX, rewritten for tenferro.")
    of_port.add_argument(
        "source",
        metavar="FILE_OR_FOLDER",
        type=file_name,
        help="a program, a notebook, or a folder of them",
    )
    where = of_port.add_mutually_exclusive_group()
    where.add_argument(
        "-o", "--output", metavar="OUT", type=file_name, help="the file or folder to write"
    )
    where.add_argument(
        "--check", action="store_true", help="only list what has to be changed by hand"
    )

    of_port.add_argument(
        "--promotion",
        choices=("jax", "numpy"),
        default="jax",
        help="whose rules say what dtypes are: programs get a line for those of JAX (default jax)",
    )

    of_completion = add(
        "completion", partial(completion, top), "The script by which a shell completes commands."
    )
    of_completion.add_argument("shell", choices=SHELLS, help="the shell that reads the script")
    return top


def _add_function(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "function",
        metavar="FILE.py:FUNCTION",
        help="the function, or a FILE of a program that tn.save wrote",
    )
    _add_packages(sub)


def _add_packages(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--package",
        metavar="MODULE:NAME",
        dest="packages",
        action="append",
        default=[],
        help="a package of extension families, or FILE.py:NAME; may be given several times",
    )


def _add_types(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--shape",
        metavar="SIZES",
        dest="shapes",
        type=parse_shape,
        action="append",
        default=[],
        help="one for each argument: 3,4 or n,3 or () for a scalar; a name is a symbolic size",
    )
    sub.add_argument(
        "--dtype",
        dest="dtypes",
        type=parse_dtype,
        action="append",
        help="one for all arguments (default f64), or one for each",
    )
    sub.add_argument(
        "--size",
        metavar="NAME=SIZE",
        dest="sizes",
        type=named_size,
        action="append",
        default=[],
        help="the size that StableHLO is made for where a shape has a name",
    )
