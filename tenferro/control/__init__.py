"""Ops that hold programs, and the vocabulary of all ops.

`Scan` is a loop of a known number of rounds, `While` one that a condition ends, `Switch` a choice
among programs. The ops of `tenferro.ops` do not hold programs. `checks` has what
the three share, and `rounds` how NumPy runs a body often.
"""

from tenferro.control.batches import BRANCHES_RUN
from tenferro.control.checks import ControlOp
from tenferro.control.graphs import program_of
from tenferro.control.scan import Scan
from tenferro.control.switch import Switch
from tenferro.control.while_loop import While
from tenferro.ops import ALL_OPS, StdTensorOp

CONTROL_OPS: tuple[type[StdTensorOp], ...] = (Scan, Switch, While)
VOCABULARY: dict[str, type[StdTensorOp]] = {op.name: op for op in (*ALL_OPS, *CONTROL_OPS)}
"""All ops by name: what programs are parsed and loaded with."""

__all__ = [
    "BRANCHES_RUN",
    "CONTROL_OPS",
    "VOCABULARY",
    "ControlOp",
    "Scan",
    "Switch",
    "While",
    "program_of",
]
