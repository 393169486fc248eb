"""Orders of axes chosen for a whole program, so that contractions find them as they need them.

Read in this order: `order`, `costs`, `groups`, `problem`, `demands`, `writers`, `rewrite`,
`search`.
"""

from tenferro.compiler.layout.costs import CPU, LayoutCosts
from tenferro.compiler.layout.problem import Problem
from tenferro.compiler.layout.rewrite import Rewrite
from tenferro.compiler.layout.search import choose
from tenferro.compiler.layout.writers import ProgramWriter

__all__ = ["CPU", "LayoutCosts", "Problem", "ProgramWriter", "Rewrite", "choose"]
