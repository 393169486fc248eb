"""Loop products: products that a loop adds up become one product after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from tenferro.compiler.passing import Pass
from tenferro.control import Scan
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import ADD, Add, DotGeneral
from tenferro.shape import TensorMeta

Slots = tuple[int, ...]


@dataclass(frozen=True)
class LoopProducts(Pass):
    """Moves products out of sums that a `Scan` carries.

    A leaf of the carry to which each round adds `dot_general(u, v)`, and which nothing else reads,
    is the product of the stacks of u and v, contracted over the rounds too. So the cotangent of a
    weight is one matrix product, and not one product with a column and one addition to a matrix in
    each round. This is done where u and v together are not larger than the product, so that the
    stacks take no more memory traffic than the additions; and not in a loop with checkpoints, which
    is there to store less.

    Source: the rewrite "scan pushout dot" of Theano and PyTensor.
    """

    name = "loop_products"
    keeps_more = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such products after its loops."""
        if not program.has_op(Scan):
            return program
        at = Rewriter(program)

        def rule(step: ExecInstruction, operands: Slots) -> Sequence[int] | None:
            if type(step.op) is not Scan:
                return None
            sums = list(_sums(step.op))
            return _moved(at, step.op, operands, sums) if sums else None

        return at.run(rule)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A leaf of the carry that products are added to.

    Attributes:
        leaf: its number.
        products: the instructions of the body that compute the products.
        rest: the slots of the other values that a round adds.
    """

    leaf: int
    products: tuple[ExecInstruction, ...]
    rest: tuple[int, ...]


def _sums(op: Scan) -> Iterator[_Sum]:
    """The leaves of the carry whose products can be moved."""
    body, makers, reads = op.body, op.body.makers(), op.body.read_counts()
    metas, fixed = body.slot_metas(), set(body.input_slots[: op.consts])
    for leaf in range(op.carry):
        start, end = body.input_slots[op.consts + leaf], body.output_slots[leaf]
        addends = _addends(end, makers, reads)
        if addends.count(start) != 1 or reads[start] != 1 or reads[end] != 1:
            continue
        products = [
            step
            for slot in addends
            if (step := makers.get(slot)) is not None
            and reads[slot] == 1
            and _pays(op, step, metas, fixed)
        ]
        if products:
            moved = {step.output_slots[0] for step in products}
            yield _Sum(
                leaf,
                tuple(products),
                tuple(slot for slot in addends if slot != start and slot not in moved),
            )


def _addends(end: int, makers: dict[int, ExecInstruction], reads: dict[int, int]) -> list[int]:
    """The values whose sum a slot is; sums that something else reads are not taken apart."""
    found: list[int] = []
    stack = [end]
    while stack:
        slot = stack.pop()
        step = makers.get(slot)
        if step is not None and isinstance(step.op, Add) and reads[slot] == 1:
            stack += reversed(step.input_slots)
        else:
            found.append(slot)
    return found


def _pays(
    op: Scan, step: ExecInstruction, metas: Sequence[TensorMeta | None], fixed: set[int]
) -> bool:
    """Whether an instruction is a product of values of a round that are not larger than it."""
    if not isinstance(step.op, DotGeneral) or step.op.lhs_batch:
        return False
    if not fixed.isdisjoint(step.input_slots):
        return False
    size = _size(step.output_metas[0])
    entries = op.body.input_slots[op.consts + op.carry :]
    stacked = {*entries, *op.body.output_slots[op.carry :]}
    sizes = [_size(metas[slot]) for slot in {*step.input_slots} - stacked]
    return None not in (size, *sizes) and sum(filter(None, sizes)) <= (size or 0)


def _size(meta: TensorMeta | None) -> int | None:
    """The number of elements, if it is known."""
    if meta is None or meta.static_shape is None:
        return None
    return prod(meta.static_shape)


def _moved(at: Rewriter, op: Scan, operands: Slots, sums: Sequence[_Sum]) -> list[int]:
    """The results of the loop, with the products computed after it."""
    body = op.body
    entries = dict(
        zip(body.input_slots[op.consts + op.carry :], operands[op.consts + op.carry :], strict=True)
    )
    factors = dict.fromkeys(
        slot
        for each in sums
        for step in each.products
        for slot in step.input_slots
        if slot not in entries and slot not in body.output_slots[op.carry :]
    )
    loop = replace(op, body=_without_products(body, op, sums, tuple(factors)))
    results = at.emit_all(loop, *operands)
    stacked = [*body.output_slots[op.carry :], *factors]
    stacks = entries | dict(zip(stacked, results[op.carry :], strict=True))
    outputs = list(results[: len(body.output_slots)])
    for each in sums:
        for step in each.products:
            assert isinstance(step.op, DotGeneral)
            over_rounds = DotGeneral(
                (0, *(axis + 1 for axis in step.op.lhs_contract)),
                (0, *(axis + 1 for axis in step.op.rhs_contract)),
            )
            product = at.emit(over_rounds, *(stacks[slot] for slot in step.input_slots))
            outputs[each.leaf] = at.emit(ADD, outputs[each.leaf], product)
    return outputs


def _without_products(
    body: ExecProgram, op: Scan, sums: Sequence[_Sum], factors: Slots
) -> ExecProgram:
    """The body, which adds only the rest, and returns the factors after its other results."""
    at = Rewriter(body)

    def outputs() -> list[int]:
        returned = list(body.output_slots)
        for each in sums:
            total = body.input_slots[op.consts + each.leaf]
            for slot in each.rest:
                total = at.emit(ADD, total, slot)
            returned[each.leaf] = total
        return [*returned, *factors]

    return at.run(lambda step, operands: None, outputs)
