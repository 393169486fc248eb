"""The rules of a `Custom` op that was batched, or guarded: those of the op that it was before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from tenferro.batching import batch
from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V
from tenferro.computegraph import PRIMAL, GlobalValKey, op_key, resolve_keys
from tenferro.control.batches import with_batch_axis
from tenferro.control.graphs import (
    Keys,
    emitted,
    fresh_like,
    inlined,
    inner_emitter,
    program_of,
    spread,
)
from tenferro.control.guards import may_not_end, with_guard
from tenferro.control.interfaces import Ruled
from tenferro.control.rules import Rule
from tenferro.exec_ir import Sizes, bind_payload, encode
from tenferro.ops import ReduceSum, repeated
from tenferro.shape import Dim, fresh_input

Found = Sequence[GlobalValKey | None]


@dataclass(frozen=True, slots=True)
class _Linearized:
    """The linearize rule of an op, applied to new values of a graph.

    Attributes:
        values: the operands, then the outputs, then the tangents that there are.
        found: the tangents of the outputs.
    """

    values: Keys
    found: Found

    @classmethod
    def of(cls, op: Ruled, tangents_given: Slots[V], at: Emitter[V]) -> _Linearized:
        """The rule of `op`, where these tangents are given of its operands."""
        emitter = inner_emitter(at)
        active = [tangent is not None for tangent in tangents_given]
        primal = _fresh(op)
        out = op_key(op, primal, PRIMAL, emitter.site).outputs
        tangents = fresh_like(compress(primal, active), "tangent")
        moving: Slots[GlobalValKey] = spread(tangents, active)
        site: JvpSite[GlobalValKey] = JvpSite(emitter, primal, out, moving)
        found = op.linearize(site)
        return cls([*primal, *out, *tangents], found)


@dataclass(frozen=True)
class BatchedRule(Rule):
    """The rules of `entry`, for all entries of a batch.

    Attributes:
        entry: the op for one entry.
        batched: which of its operands are batched. All results are.
        size: the number of entries.
    """

    entry: Ruled
    batched: tuple[bool, ...]
    size: Dim

    @property
    def token(self) -> bytes:
        """That of the op for one entry, and what is batched."""
        return b"batched" + self.entry.identity + encode((self.batched, self.size))

    def bind(self, sizes: Sizes) -> BatchedRule:
        """The rules for sizes in place of symbols."""
        return BatchedRule(self.entry.bind(sizes), self.batched, bind_payload(self.size, sizes))

    def __str__(self) -> str:
        return f"{self.entry.rule}, batched"

    def linearize(self, op: Ruled, at: JvpSite[V]) -> Slots[V]:
        """The tangents of each entry."""
        this = _Linearized.of(self.entry, at.tangent, at.emitter)
        tangents = [tangent for tangent in at.tangent if tangent is not None]
        moving = compress(self.batched, [tangent is not None for tangent in at.tangent])
        flags = [*self.batched, *[True] * len(at.out), *moving]
        return self._for_all(
            at.emitter,
            this.values,
            flags,
            [*at.primal, *at.out, *tangents],
            this.found,
            [True] * len(this.found),
        )

    def transpose_rule(self, op: Ruled, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of each entry, summed for operands that are the same for all entries."""
        emitter = inner_emitter(at.emitter)
        inputs = _fresh(self.entry)
        arriving = [ct is not None for ct in at.ct]
        seeds = [
            fresh_input(meta, "ct") for meta in compress(self.entry.body.output_metas, arriving)
        ]
        found = self.entry.transpose_rule(
            TransposeSite(emitter, spread(seeds, arriving), inputs, at.active)
        )
        cts = [ct for ct in at.ct if ct is not None]
        flags = [*self.batched, *[True] * len(cts)]
        return self._for_all(
            at.emitter, [*inputs, *seeds], flags, [*at.inputs, *cts], found, self.batched
        )

    def check_computed(self) -> None:
        """As the op for one entry."""
        self.entry.check_computed()

    def _for_all(
        self,
        at: Emitter[V],
        values: Keys,
        flags: Sequence[bool],
        given: Sequence[V],
        found: Found,
        wanted: Sequence[bool],
    ) -> Slots[V]:
        """What was found for one entry, for all of them; summed over them unless `wanted`."""
        emitter = inner_emitter(at)
        present = [key for key in found if key is not None]
        whole = [
            with_batch_axis(key, self.size) if on else key
            for key, on in zip(values, flags, strict=True)
        ]
        batched = dict(compress(zip(values, whole, strict=True), flags))
        results = iter(
            batch(resolve_keys(), present, batched, self.size, ctx=emitter.ctx, emitter=emitter)
        )
        outputs: list[GlobalValKey | None] = []
        for key, keep in zip(found, wanted, strict=True):
            if key is None:
                outputs.append(None)
                continue
            result, is_batched = next(results)
            result = result if is_batched else repeated(emitter, result, self.size)
            outputs.append(result if keep else emitter.emit(ReduceSum((0,)), result))
        known = dict(zip(whole, given, strict=True))
        return emitted(at, outputs, known, values[0].serial)


@dataclass(frozen=True)
class GuardedRule(Rule):
    """The rules of `entry`, whose loops have no round if the first operand is false."""

    entry: Ruled

    @property
    def token(self) -> bytes:
        """That of the op without a guard."""
        return b"guarded" + self.entry.identity

    def bind(self, sizes: Sizes) -> GuardedRule:
        """The rules for sizes in place of symbols."""
        return GuardedRule(self.entry.bind(sizes))

    def __str__(self) -> str:
        return f"{self.entry.rule}, guarded"

    def linearize(self, op: Ruled, at: JvpSite[V]) -> Slots[V]:
        """The tangents, whose loops are guarded too."""
        this = _Linearized.of(self.entry, at.tangent[1:], at.emitter)
        present = [key for key in this.found if key is not None]
        program = program_of(this.values, present)
        guard, *operands = at.primal
        given = [*operands, *at.out, *(tangent for tangent in at.tangent if tangent is not None)]
        if may_not_end(program):
            program, given = with_guard(program, inner_emitter(at.emitter)), [guard, *given]
        return spread(inlined(at.emitter, program, given), [key is not None for key in this.found])

    def check_computed(self) -> None:
        """As the op without a guard."""
        self.entry.check_computed()


def _fresh(op: Ruled) -> tuple[GlobalValKey, ...]:
    """A new input of a graph for each operand of an op."""
    return tuple([fresh_input(meta, "operand") for meta in op.body.input_metas])
