"""`tenferro lower`: the StableHLO of a function."""

from __future__ import annotations

import argparse

from tenferro.cli.function import load_function, specs_of, trace
from tenferro.cli.inspection import write
from tenferro.cli.stages import pipeline, stablehlo


def lower(arguments: argparse.Namespace) -> int:
    """Print the StableHLO, or write it to a file."""
    function = load_function(arguments.function)
    traced = trace(function, specs_of(arguments.shapes, arguments.dtypes))
    text = stablehlo(pipeline(traced, grad=False).program, dict(arguments.sizes))
    if arguments.output is None:
        print(text.rstrip())
    else:
        write(arguments.output, text)
        print(f"wrote {arguments.output}")
    return 0
