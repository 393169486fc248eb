"""Rolling: repeated structure of a program, such as an unrolled Python loop, becomes a `Scan`.

Read in this order: `symbols` (a program as arrays of numbers), `period` (runs of equal symbols),
`operands` and `rounds` (what the operands of a round are), `loop` (what is carried, and the body),
`results` (what is read of loops), `stacking` (xs and ys), `proof`, `rolling` (the pass).
"""

from tenferro.compiler.canonical.rolling.rolling import ROLLED, Rolling

__all__ = ["ROLLED", "Rolling"]
