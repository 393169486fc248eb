"""`tenferro completion`: the script by which a shell completes the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from tenferro.cli.function import DTYPE_NAMES
from tenferro.errors import CommandError
from tenferro.ops import load_named
from tenferro.runtime import installed_executors

SHELLS = ("bash", "zsh", "fish")
_FILES = ("FILE", "FILE.py:FUNCTION", "FILE_OR_FOLDER", "INPUT", "OUT")
"""The metavars of arguments that are files."""


def completion(top: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """Print the script for a shell, which shtab writes from the parser of all commands."""
    try:
        shtab: Any = load_named("shtab")
    except ImportError as error:
        raise CommandError(
            f"{error.name} is not installed; pip install 'tenferro[completion]'"
        ) from error
    for action in _actions(top):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab reads it
        elif action.dest == "executor":
            action.choices = installed_executors()
        elif action.dest == "dtypes":
            action.choices = DTYPE_NAMES
    print(shtab.complete(top, arguments.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _actions(sub)
        else:
            yield action
