"""Ops that hold programs, and the vocabulary of all ops.

`Scan` is a loop of a known number of rounds, `CheckpointedScan` one of which derivatives store
less, `While` a loop that a condition ends, `Switch` a choice among programs, `Checkpointed` a
program of which derivatives compute values again. The ops of `tenferro.ops` do not hold programs.

Read in this order: `checks` (what they have in common), `scan`, `switch`, `while_loop`,
`checkpointed`; `rounds`,
by which NumPy runs a body often; then their rules, which write the programs inside as graphs
(`graphs`): `kept` and `scan_derivative`, `branches` and `switch_derivative`, `while_derivative`,
`checkpointed_derivative`, `batches` and `guards`. Rules read the ops through `interfaces`.
"""

from tenferro.control.batches import BRANCHES_RUN
from tenferro.control.checkpointed import Checkpointed
from tenferro.control.checks import ControlOp
from tenferro.control.graphs import program_of
from tenferro.control.scan import CheckpointedScan, Scan
from tenferro.control.switch import Switch
from tenferro.control.while_loop import While
from tenferro.ops import ALL_OPS, StdTensorOp

CONTROL_OPS: tuple[type[StdTensorOp], ...] = (
    *(Scan, CheckpointedScan, Switch, While),
    Checkpointed,
)
VOCABULARY: dict[str, type[StdTensorOp]] = {op.name: op for op in (*ALL_OPS, *CONTROL_OPS)}
"""All ops by name: what programs are parsed and loaded with."""

__all__ = [
    "BRANCHES_RUN",
    "CONTROL_OPS",
    "VOCABULARY",
    "Checkpointed",
    "CheckpointedScan",
    "ControlOp",
    "Scan",
    "Switch",
    "While",
    "program_of",
]
