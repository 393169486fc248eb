"""Ops that hold programs, and the vocabulary of all ops.

`Scan` is a loop of a known number of iterations, `CheckpointedScan` one of which derivatives store
less, `While` a loop that a condition ends, `Switch` a choice among programs, `Checkpointed` a
program of which derivatives compute values again, `LaneSum` a loop that adds up what its iterations
compute, which several devices may share, `Sized` a program for sizes that data decide, `ShardMap`
one that each device of a mesh runs on its blocks. The ops of `tenferro.ops` do not hold programs.

Read in this order: `base` (what they have in common), `bodies` (the programs inside as graphs),
`scan`, `switch`, `while_loop`, `checkpoint`, `lane_sum`, `shard_map`, each with its rules;
`custom_derivatives` is for programs with derivatives by hand.
"""

from tenferro.ops import ALL_OPS, COLLECTIVES, StdTensorOp
from tenferro.ops.control_flow.base import *
from tenferro.ops.control_flow.bodies import *
from tenferro.ops.control_flow.checkpoint import *
from tenferro.ops.control_flow.custom_derivatives import *
from tenferro.ops.control_flow.lane_sum import *
from tenferro.ops.control_flow.scan import *
from tenferro.ops.control_flow.shard_map import *
from tenferro.ops.control_flow.switch import *
from tenferro.ops.control_flow.while_loop import *

CONTROL_OPS: tuple[type[StdTensorOp], ...] = (
    *(Scan, CheckpointedScan, Switch, While),
    *(Checkpointed, LaneSum, Sized, ShardMap),
)
VOCABULARY: dict[str, type[StdTensorOp]] = {
    op.name: op for op in (*ALL_OPS, *CONTROL_OPS, *COLLECTIVES)
}
"""All ops by name: what programs are parsed and loaded with."""
