"""`tenferro lower`: the StableHLO of a function."""

from __future__ import annotations

import argparse

from tenferro.cli.function import load_function, specs_of, trace
from tenferro.cli.inspection import write
from tenferro.cli.packages import load_packages
from tenferro.cli.stages import pipeline, stablehlo


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
