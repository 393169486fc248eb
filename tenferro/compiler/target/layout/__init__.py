"""Orders of axes chosen for a whole program, so that contractions find them as they need them.

`requests` asks, from the outputs down, in which order each contraction wants its operands;
`rewrite` then writes the program forward, in those orders where it can. `writers` takes what is
written: into a program, or into an estimate of what the program costs, by which `search` changes
choices one by one. Read in this order: `order`, `contraction`, `problem`, `requests`, `values`,
`writers`, `rewrite`, `search`.

Three ops are known by name. A `DotGeneral` is what all is done for; a `Transpose` only gives axes
other names; a `BroadcastInDim` stays unwritten until a reader says in which order. Any other op
says itself where its axes go (`ExecOp.axis_map`, `ExecOp.permuted`).
"""

from tenferro.compiler.target.layout.problem import Problem
from tenferro.compiler.target.layout.rewrite import LayoutRewrite
from tenferro.compiler.target.layout.search import TRIALS, choose
from tenferro.compiler.target.layout.writers import ProgramWriter

__all__ = ["TRIALS", "LayoutRewrite", "Problem", "ProgramWriter", "choose"]
