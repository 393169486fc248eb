"""The choice of orders of axes for a whole program, so that its contractions are fast.

`requests` walks from the outputs to the inputs and collects the order in which each contraction
needs its operands, by the `rules`. `rewrite` then writes the program forward, in these orders where
it can, to one of the `writers`: a new program, or an estimate of its cost; `forms` says how each
contraction is written. `search` changes choices one by one if that lowers the estimate. Read in
this order: `order`, `contraction`, `problem`, `values`, `forms`, `rules`, `requests`, `writers`,
`rewrite`, `search`.

Three ops are known by name. A `DotGeneral` is what all is done for; a `Transpose` only gives axes
other names; a `BroadcastInDim` stays unwritten until a reader says in which order. Any other op
says itself where its axes go (`ExecOp.axis_map`, `ExecOp.permuted`).
"""

from tenferro.compiler.target.layout.problem import Problem
from tenferro.compiler.target.layout.rewrite import LayoutRewrite
from tenferro.compiler.target.layout.search import TRIALS, choose
from tenferro.compiler.target.layout.writers import ProgramWriter

__all__ = ["TRIALS", "LayoutRewrite", "Problem", "ProgramWriter", "choose"]
