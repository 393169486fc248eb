"""Loops and branches: the functions that users call.

Each traces the functions that it is given, writes them as programs, and applies the op of
`tenferro.control` that holds these. Values that a function closes over become operands of the op.

Read in this order: `leaves` (names and types of arguments), `counts`, `bodies` (tracing a function,
and what it closes over), `carries`, `running`; then the functions: `scan`, `mapping`, `while_loop`,
`branches`, `associative`, `checkpoint_policies`, `checkpointing`. The names that are not in
`__all__` are for other functions that trace functions as programs.
"""

from tenferro.loops import checkpoint_policies
from tenferro.loops.associative import associative_scan
from tenferro.loops.bodies import Bodies as Bodies
from tenferro.loops.bodies import Body as Body
from tenferro.loops.bodies import require_function as require_function
from tenferro.loops.bodies import tracing_bodies as tracing_bodies
from tenferro.loops.branches import cond, switch
from tenferro.loops.checkpointing import checkpoint, checkpoint_name, remat
from tenferro.loops.leaves import Leaves as Leaves
from tenferro.loops.leaves import leaves_of as leaves_of
from tenferro.loops.leaves import promoted as promoted
from tenferro.loops.leaves import shown as shown
from tenferro.loops.leaves import weak_leaf as weak_leaf
from tenferro.loops.mapping import map
from tenferro.loops.running import operands_of as operands_of
from tenferro.loops.running import run as run
from tenferro.loops.scan import scan
from tenferro.loops.while_loop import fori_loop, while_loop

__all__ = [
    "associative_scan",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "cond",
    "fori_loop",
    "map",
    "remat",
    "scan",
    "switch",
    "while_loop",
]
