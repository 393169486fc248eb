"""Reverse mode of loops that store less: the rounds run in blocks.

Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd ed., chapter 12.
"""

from __future__ import annotations

from tenferro.chainrules import KeyEmitter, Slots, TransposeSite, V
from tenferro.computegraph import GlobalValKey
from tenferro.control.graphs import (
    Keys,
    by_role,
    fresh_of_type,
    program_of,
    root,
    transposed_through,
)
from tenferro.control.interfaces import Loop
from tenferro.errors import ADRuleError
from tenferro.ops import Concatenate, Reshape, Slice
from tenferro.shape import Dim, DimExpr, type_of


def transpose_by_blocks(op: Loop, at: TransposeSite[V]) -> Slots[V]:
    """The cotangents of the active operands, through an equal loop over blocks of rounds.

    Raises:
        ADRuleError: the number of rounds is not known.
    """
    length = op.length
    if isinstance(length, DimExpr):
        raise ADRuleError(
            f"scan: checkpoints need a known number of rounds, got {length}; bind the size, or "
            "leave checkpoints= out"
        )

    def build(emitter: KeyEmitter, operands: Keys) -> Keys:
        return _blocks(op, length, emitter, operands)

    return transposed_through(at, op.operand_metas, build)


def _blocks(op: Loop, length: int, at: KeyEmitter, operands: Keys) -> Keys:
    """The results of `op`, whose rounds run in blocks; the last rounds may not fill a block."""
    count = root(length, op.checkpoints)
    size = length // count
    consts, carry, xs = by_role(operands, op.consts, op.carry)

    def rounds(number: int) -> Loop:
        """The loop inside a block."""
        levels = op.checkpoints - 1 if op.checkpoints > 2 else 0
        return op.like(op.body, op.consts, op.carry, length=number, checkpoints=levels)

    def outer(carry: Keys) -> Keys:
        """All blocks."""
        entries = [fresh_of_type(meta) for meta in rounds(size).operand_metas]
        block = program_of(entries, at.emit_all(rounds(size), *entries))
        loop = op.like(block, op.consts, op.carry, length=count, checkpoints=1)
        results = at.emit_all(
            loop, *consts, *carry, *(_grouped(at, key, count, size) for key in xs)
        )
        return [*results[: op.carry], *(_ungrouped(at, key) for key in results[op.carry :])]

    def rest(carry: Keys) -> Keys:
        """The rounds after the last block."""
        left = [_entries(at, key, count * size, length) for key in xs]
        return at.emit_all(rounds(length - count * size), *consts, *carry, *left)

    if length == count * size:
        return outer(carry)
    first = rest(carry) if op.reverse else outer(carry)
    second = outer(first[: op.carry]) if op.reverse else rest(first[: op.carry])
    whole, part = (second, first) if op.reverse else (first, second)
    ys = zip(whole[op.carry :], part[op.carry :], strict=True)
    return [*second[: op.carry], *(at.emit(Concatenate(0), *pair) for pair in ys)]


def _grouped(at: KeyEmitter, stack: GlobalValKey, count: int, size: int) -> GlobalValKey:
    """The entries of a stack, in `count` blocks of `size`."""
    entries = _entries(at, stack, 0, count * size)
    return at.emit(Reshape((count, size, *_sizes(stack)[1:])), entries)


def _ungrouped(at: KeyEmitter, blocks: GlobalValKey) -> GlobalValKey:
    """The entries of all blocks as one stack."""
    count, size, *others = _sizes(blocks)
    return at.emit(Reshape((count * size, *others)), blocks)


def _entries(at: KeyEmitter, stack: GlobalValKey, start: int, limit: int) -> GlobalValKey:
    """The entries of a stack from `start` to `limit`."""
    sizes = _sizes(stack)
    starts = (start, *(0 for _ in sizes[1:]))
    return at.emit(Slice(starts, (limit, *sizes[1:]), (1,) * len(sizes)), stack)


def _sizes(key: GlobalValKey) -> tuple[Dim, ...]:
    return type_of(key).exact_shape()
