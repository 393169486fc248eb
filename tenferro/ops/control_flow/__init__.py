"""Ops that hold programs, and the vocabulary of all ops.

`Scan` is a loop of a known number of rounds, `CheckpointedScan` one of which derivatives store
less, `While` a loop that a condition ends, `Switch` a choice among programs, `Checkpointed` a
program of which derivatives compute values again, `LaneSum` a loop that adds up what its rounds
compute, which several devices may share, `Sized` a program for sizes that data decide. The ops of
`tenferro.ops` do not hold programs.

Read in this order: `base` (what they have in common), `bodies` (the programs inside as graphs),
`scan`, `switch`, `while_loop`, `checkpoint`, `lane_sum`, `sized`, each with its rules;
`custom_derivatives` is for programs with derivatives by hand.
"""

from tenferro.ops import ALL_OPS, StdTensorOp
from tenferro.ops.control_flow.base import *
from tenferro.ops.control_flow.bodies import *
from tenferro.ops.control_flow.checkpoint import *
from tenferro.ops.control_flow.checkpoint import Checkpointed
from tenferro.ops.control_flow.custom_derivatives import *
from tenferro.ops.control_flow.lane_sum import *
from tenferro.ops.control_flow.lane_sum import LaneSum
from tenferro.ops.control_flow.scan import *
from tenferro.ops.control_flow.scan import CheckpointedScan, Scan
from tenferro.ops.control_flow.sized import *
from tenferro.ops.control_flow.sized import Sized
from tenferro.ops.control_flow.switch import *
from tenferro.ops.control_flow.switch import Switch
from tenferro.ops.control_flow.while_loop import *
from tenferro.ops.control_flow.while_loop import While

__all__ = [
    "BRANCHES_RUN",
    "CONTROL_OPS",
    "VOCABULARY",
    "Checkpointed",
    "CheckpointedScan",
    "ControlOp",
    "Custom",
    "Interpreter",
    "LaneSum",
    "Rule",
    "Scan",
    "Sized",
    "Switch",
    "TreeSum",
    "While",
    "emitted",
    "foreign",
    "graph_of",
    "inlined",
    "inner_emitter",
    "lane_bounds",
    "lane_count",
    "linear_in",
    "noted",
    "program_of",
]

CONTROL_OPS: tuple[type[StdTensorOp], ...] = (
    *(Scan, CheckpointedScan, Switch, While),
    *(Checkpointed, LaneSum, Sized),
)
VOCABULARY: dict[str, type[StdTensorOp]] = {op.name: op for op in (*ALL_OPS, *CONTROL_OPS)}
"""All ops by name: what programs are parsed and loaded with."""
