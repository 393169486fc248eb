"""Loop rerolling: a repeated sequence of instructions becomes a scan."""

from tenferro.compiler.reroll.reroll import *
