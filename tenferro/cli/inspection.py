"""`tenferro inspect`: every stage of a function, as text or as one page."""

from __future__ import annotations

import argparse
from pathlib import Path

from tenferro.cli.function import load_function, specs_of, trace
from tenferro.cli.packages import load_packages
from tenferro.cli.page import page
from tenferro.cli.stages import Stage, pipeline
from tenferro.errors import CommandError


def inspect(arguments: argparse.Namespace) -> int:
    """Print all stages, or write them to a page."""
    packages = load_packages(arguments.packages)
    function = load_function(arguments.function, packages)
    traced = trace(function, specs_of(function, arguments.shapes, arguments.dtypes))
    stages = pipeline(traced, arguments.grad, packages).stages(dict(arguments.sizes))
    if arguments.html is None:
        print("\n\n".join(as_text(stage) for stage in stages))
        return 0
    types = ", ".join(
        f"{name}: {tensor.meta}"
        for name, tensor in zip(function.parameters(len(traced.inputs)), traced.inputs, strict=True)
    )
    source = function.path.read_text("utf-8") if function.specs is None else ""
    shown = page(f"{function.name}({types})", stages, function.path.name, source)
    write(arguments.html, shown)
    print(f"wrote {arguments.html}")
    return 0


def as_text(stage: Stage) -> str:
    """A stage below its title."""
    return f"# {stage.title} -- {stage.note}\n{stage.text.rstrip()}"


def write(path: str, text: str) -> None:
    """Write a file.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
