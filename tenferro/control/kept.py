"""The graph of one round of a loop, and what a loop keeps of it for a second one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic, Self

from tenferro.autodiff import residuals
from tenferro.chainrules import Emitter, V
from tenferro.control.graphs import (
    Keys,
    by_role,
    dependencies,
    dependent,
    emitted,
    foreign,
    graph_of,
    program_of,
    without_cheap,
)
from tenferro.control.interfaces import Loop
from tenferro.exec_ir import restricted


@dataclass(frozen=True, slots=True)
class Round:
    """The graph of one round.

    Attributes:
        consts: what every round reads.
        carry: what comes from the round before.
        xs: what only this round reads.
        next: the carry of the next round.
        ys: what is stacked.
    """

    consts: Keys
    carry: Keys
    xs: Keys
    next: Keys
    ys: Keys

    @classmethod
    def of(cls, op: Loop) -> Self:
        """The graph of a round of `op`."""
        inputs, outputs = graph_of(op.body)
        roles = by_role(inputs, op.consts, op.carry)
        return cls(*roles, outputs[: op.carry], outputs[op.carry :])

    @property
    def inputs(self) -> Keys:
        """All that a round reads, in the order of the loop's operands."""
        return [*self.consts, *self.carry, *self.xs]

    @property
    def outputs(self) -> Keys:
        """All that a round returns."""
        return [*self.next, *self.ys]


@dataclass(frozen=True, slots=True)
class Kept(Generic[V]):
    """The values of a loop that another loop over the same rounds reads.

    Attributes:
        consts, const_values: values that are the same in all rounds, in the graph of a round and
            where the loop is called.
        xs, stacks: values of a single round, and their stacks over all rounds.
    """

    consts: Keys
    const_values: Sequence[V]
    xs: Keys
    stacks: Sequence[V]


def keep(
    op: Loop,
    at: Emitter[V],
    this: Round,
    operands: Sequence[V],
    outputs: Keys,
    seeds: Keys,
    active: Sequence[bool] = (),
) -> Kept[V]:
    """What `outputs`, which are linear in `seeds`, read of the values of a round of `op`.

    What depends on consts alone is computed once, before the loop. An entry of xs is taken as it
    is. A value that costs less to compute again than to store is computed again; so are all values
    but the carry if the loop has checkpoints. The others are stacked by `op` itself, of which one
    more is emitted for that. Operands that are `active` have no values, and nothing reads them.
    """
    fixed = [not on for on in active] or [True] * len(operands)
    if op.checkpoints:
        needed = dependencies(outputs, this.inputs)
        read = [key for key in this.inputs if key in needed]
    else:
        read = residuals(outputs, seeds)
    varying = dependent(read, [*this.carry, *this.xs])
    read = without_cheap(read, [*this.consts, *this.xs], varying)
    consts = [key for key in read if key not in varying]
    known = dict(zip(this.inputs, operands, strict=True))
    values = [value for value in emitted(at, consts, known, since=0) if value is not None]
    given = [key for key in read if key in this.xs]
    stacked = [key for key in read if key in varying and key not in this.xs]
    stacks: Sequence[V] = ()
    if stacked:
        of_consts, of_carry = fixed[: op.consts], fixed[op.consts :][: op.carry]
        values_kept = [*compress(this.next, of_carry), *stacked]
        around = foreign(values_kept, this.inputs)
        flags = [True] * len(around) + fixed
        positions = list(compress(range(len(flags)), flags))
        whole = program_of([*around, *this.inputs], values_kept)
        body = restricted(whole, positions, range(len(values_kept)))
        loop = op.like(body, len(around) + sum(of_consts), sum(of_carry))
        passed: list[Any] = [*around, *compress(operands, fixed)]
        stacks = at.emit_all(loop, *passed)[sum(of_carry) :]
    return Kept(consts, values, [*given, *stacked], [*(known[key] for key in given), *stacks])
