"""`tenferro run`: a function on arrays from files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from tenferro.cli.function import load_function
from tenferro.cli.packages import load_packages
from tenferro.errors import CommandError
from tenferro.transforms import flatten, jit, leaf_names


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
