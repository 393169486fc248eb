"""Ops that hold programs, and the vocabulary of all ops.

`Scan` is a loop whose body is a program. The ops of `tenferro.ops` do not hold programs.
"""

from tenferro.control.graphs import program_of
from tenferro.control.scan import Scan
from tenferro.ops import ALL_OPS, StdTensorOp

CONTROL_OPS: tuple[type[StdTensorOp], ...] = (Scan,)
VOCABULARY: dict[str, type[StdTensorOp]] = {op.name: op for op in (*ALL_OPS, *CONTROL_OPS)}
"""All ops by name: what programs are parsed and loaded with."""

__all__ = ["CONTROL_OPS", "VOCABULARY", "Scan", "program_of"]
