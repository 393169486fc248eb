"""The notation in which fragments, graphs and programs print.

One notation throughout: `%n` is a value, `@name` one that another fragment defines, and a line is
`%outputs = op operands  mode  # where it was recorded`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenferro.computegraph.keys import PRIMAL, Derived, GlobalValKey, Input, OpMode

_NAME_DEPTH = 3
_NAME_WIDTH = 4


def name_of(key: GlobalValKey) -> str:
    """A short expression for a value, with `…` for what is deep or wide: `exp(mul(x, a))`.

    >>> from tenferro.computegraph import input_key
    >>> name_of(input_key("x"))
    'x'
    """
    return _name(key, _NAME_DEPTH)


def _name(key: GlobalValKey, depth: int) -> str:
    if isinstance(key, Input):
        return str(key.key)
    assert isinstance(key, Derived)
    if depth == 0:
        return "…"
    operands = ", ".join([_name(operand, depth - 1) for operand in key.op.inputs[:_NAME_WIDTH]])
    if len(key.op.inputs) > _NAME_WIDTH:
        operands += ", …"
    slot = f".{key.slot}" if key.op.primitive.n_outputs > 1 else ""
    call = f"({operands})" if operands else ""
    primitive = key.op.primitive
    return f"{getattr(primitive, 'label', primitive)}{call}{slot}"


def value_list(numbers: Iterable[int]) -> str:
    """`%0, %1, …` for local ids or slots."""
    return ", ".join(f"%{number}" for number in numbers)


def line(
    outputs: Iterable[int],
    op: object,
    operands: Sequence[str],
    mode: OpMode = PRIMAL,
    site: str | None = None,
) -> str:
    """The line of one op."""
    right = f" {', '.join(operands)}" if operands else ""
    tail = "" if mode is PRIMAL else f"  {mode}"
    comment = "" if site is None else f"  # {site}"
    return f"  {value_list(outputs)} = {op}{right}{tail}{comment}"


def block(header: str, lines: Sequence[str], outputs: Iterable[int]) -> str:
    """The header, the lines, and what is returned, in braces."""
    return "\n".join([f"{header} {{", *lines, f"  return {value_list(outputs)}".rstrip(), "}"])
