"""From a compiled program to what executors run: lowering, and the passes that optimize it.

Read in this order: `lower`, `slot_emitter`, the files of `passes` in the order of `PASSES`,
`pipeline`.
"""

from tenferro.compiler.lower import compile_std_to_exec
from tenferro.compiler.passes import (
    AlgebraicSimplifier,
    CommonSubexpressions,
    DeadCode,
    DotDecomposer,
    DotDimensionSorter,
    Pass,
    TransposeFolding,
)
from tenferro.compiler.pipeline import PASSES, OptimizerOptions, compile_program, optimize
from tenferro.compiler.renumber import renumber
from tenferro.compiler.slot_emitter import SlotEmitter
from tenferro.exec_ir import ExecProgram, parse_exec
from tenferro.ops import VOCABULARY


def parse(text: str) -> ExecProgram:
    """The program of standard ops that `str(program)` printed.

    Raises:
        ParseError: the text is not an execution program.

    >>> print(parse("exec_program(%0: f64[n]) { \\n %1: f64[n] = sine %0! \\n return %1 \\n }"))
    exec_program(%0: f64[n]) {
      %1: f64[n] = sine %0!
      return %1
    }
    """
    return parse_exec(text, VOCABULARY)


__all__ = [
    "PASSES",
    "AlgebraicSimplifier",
    "CommonSubexpressions",
    "DeadCode",
    "DotDecomposer",
    "DotDimensionSorter",
    "OptimizerOptions",
    "Pass",
    "SlotEmitter",
    "TransposeFolding",
    "compile_program",
    "compile_std_to_exec",
    "optimize",
    "parse",
    "renumber",
]
