"""Two inputs of the toy set, ops applied to them, and the view of all keys."""

from __future__ import annotations

from tenferro.core import GlobalValKey, ResolvedView, input_key, op_key, resolve_keys
from tests.toy import Toy, real

KEYS: ResolvedView[Toy] = resolve_keys()
X, Y = real("x"), real("y")
x, y = input_key(X), input_key(Y)


def apply(op: Toy, *operands: GlobalValKey) -> GlobalValKey:
    """The first output of an op."""
    return op_key(op, operands).output(0)
