"""The commands, their arguments, and what becomes of an error: one line, and exit code 2."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import tenferro
from tenferro.cli.demo import demo
from tenferro.cli.doctor import doctor
from tenferro.cli.function import one_line, parse_dtype, parse_shape, parse_size
from tenferro.cli.inspect import inspect
from tenferro.cli.run import lower, run, verify
from tenferro.errors import TenferroError

__all__ = ["main"]

Command = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line, `sys.argv` by default, and return the exit code.

    0: done. 1: something that was checked is not so. 2: the command cannot be carried out.
    """
    arguments = parse(argv)
    command: Command = arguments.run_command
    try:
        code = command(arguments)
        sys.stdout.flush()
    except TenferroError as error:
        sys.stderr.write(f"tenferro {arguments.command}: {one_line(error)}\n")
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


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
        epilog="Exit codes: 0 done, 1 a check failed, 2 the command cannot be carried out.",
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

    of_inspect = add("inspect", inspect, "Every stage of a function's program, as text.")
    _add_function(of_inspect)
    _add_types(of_inspect)
    of_inspect.add_argument(
        "--grad", action="store_true", help="with the cotangents of all floating-point arguments"
    )
    of_inspect.add_argument("--html", metavar="OUT", help="write one self-contained page instead")

    of_lower = add("lower", lower, "The StableHLO of a function's program.")
    _add_function(of_lower)
    _add_types(of_lower)
    of_lower.add_argument("-o", "--output", metavar="FILE", help="write there, not to the screen")

    of_run = add("run", run, "Run a function on arrays from files.")
    _add_function(of_run)
    of_run.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="*",
        help="one for each argument: .npy is an array, .npz a dict of arrays",
    )
    of_run.add_argument("--executor", help="xla, numpy, or another one that is installed")
    of_run.add_argument(
        "-o", "--output", metavar="FILE", help="save the results as .npz, do not print them"
    )

    of_verify = add("verify", verify, "Check a file of a saved program, and list what is in it.")
    of_verify.add_argument("file", metavar="FILE", help="what tn.save wrote")
    _add_packages(of_verify)
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
        type=parse_size,
        action="append",
        default=[],
        help="the size that StableHLO is made for where a shape has a name",
    )
