"""ScatterReduce: scatter with a combiner that is not linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from tenferro.chainrules import (
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    add_terms,
    each_active,
)
from tenferro.errors import ADRuleError
from tenferro.exec_ir import Array, payload
from tenferro.ops.arithmetic import CONJ, DIV, MUL
from tenferro.ops.broadcast_reduce import full_like, zeros_like
from tenferro.ops.compare import SELECT, Compare
from tenferro.ops.dimension_numbers import rows_of, scattered
from tenferro.ops.indexing import Scatter, Scattering

_UFUNCS: dict[str, np.ufunc] = {"mul": np.multiply, "min": np.minimum, "max": np.maximum}


@payload
class ScatterReduce(Scattering, name="scatter_reduce"):
    """The first operand with windows of the third combined into it at the indices, the second.

    `combiner` is "mul", "min" or "max"; in "min" and "max", NaN wins. Windows that would exceed the
    operand are dropped, or moved back into it if `mode` is "clip".
    """

    combiners: ClassVar[dict[str, str]] = {"mul": "iufc", "min": "iuf", "max": "iuf"}

    def numpy(self, x: Array, indices: Array, updates: Array, *source: Array) -> Array:
        """The ufunc's `at`, on rows of the operand."""
        places, values = scattered(x.shape, self.numbers, indices, updates, self.mode)
        result = np.array(x, order="C")
        _UFUNCS[self.combiner].at(rows_of(result, values), places, values)
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """For an extremum, the mean over ties; for a product, the product rule."""
        return (self._of_product(at) if self.combiner == "mul" else self._of_extremum(at),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """For a product, which is linear in the operand, the product with the cotangent."""
        _, indices, updates, *source = at.inputs
        assert self.combiner == "mul", "the tangent of an extremum is a sum"
        assert not at.active[2], "the tangent by a factor is a sum"
        rest: list[Callable[[V], V | None]] = [lambda ct: None] * (2 + len(source))
        return each_active(
            at, lambda ct: at.emit(self, ct, indices, at.emit(CONJ, updates), *source), *rest
        )

    def _of_extremum(self, at: JvpSite[V]) -> V | None:
        """The mean of the tangents of the candidates for an element that equal the result."""
        x, indices, updates, *source = at.primal
        meta = at.ctx.meta(updates)
        back = self.gather_back(at.emitter, at.out[0], indices, meta, source or [updates])
        shares: list[V] = []
        parts: list[V] = []
        for candidate, result, tangent in (
            (x, at.out[0], at.tangent[0]),
            (updates, back, at.tangent[2]),
        ):
            wins = at.emit(Compare("EQ"), candidate, result)
            zero = zeros_like(at.emitter, candidate)
            share = at.emit(SELECT, wins, full_like(at.emitter, 1, candidate), zero)
            shares.append(share)
            parts.append(zero if tangent is None else at.emit(MUL, share, tangent))
        plain = self._sum(self.unique)
        return at.emit(DIV, plain.again(at, *parts), plain.again(at, *shares))

    def _of_product(self, at: JvpSite[V]) -> V | None:
        """The product rule; updates have a derivative only if their windows do not overlap."""
        x, indices, updates, *source = at.primal
        dx, _, du, *_ = at.tangent
        terms = [None if dx is None else self.again(at, dx, updates)]
        if du is not None:
            meta = at.ctx.meta(updates)
            if not (self.is_unique(meta) or self._known_to_differ(at.emitter, indices)):
                raise ADRuleError(
                    "scatter_reduce: mul has no derivative by updates whose windows may overlap; "
                    "if they do not overlap, pass unique=True"
                )
            factor = self.gather_back(at.emitter, x, indices, meta, source or [updates])
            space = zeros_like(at.emitter, x)
            terms.append(self._sum(True).again(at, space, at.emit(MUL, factor, du)))
        return add_terms(at.emitter, terms)

    def _known_to_differ(self, at: Emitter[V], indices: V) -> bool:
        """Whether the indices are constants, and no two windows start alike and are longer than 1.

        Indices out of bounds may start alike when they are clipped, so these are not asked.
        """
        numbers = self.numbers
        if set(numbers.index_map) != set(numbers.dropped) or numbers.operand_batching:
            return False
        known = None if self.mode == "clip" else _constant(at, indices)
        if known is None:
            return False
        if numbers.index_vector_dim < known.ndim:
            known = np.moveaxis(known, numbers.index_vector_dim, -1)
            known = known.reshape(-1, known.shape[-1])
        else:
            known = known.reshape(-1, 1)
        return len(np.unique(known, axis=0)) == len(known)

    def _sum(self, unique: bool) -> Scatter:
        """The `Scatter` that adds at the same indices."""
        numbers = self.numbers
        return Scatter(*numbers.axes, *numbers.batching, unique=unique, mode=self.mode)


def _constant(at: Emitter[V], value: V, near: int = 12) -> Array | None:
    """A value that constants alone decide, by at most `near` ops in a row; None for others."""
    producer = at.producer(value) if near else None
    if producer is None:
        return None
    op, operands = producer
    known = [_constant(at, operand, near - 1) for operand in operands]
    if any(each is None for each in known) or not (
        op.source or op.pointwise or op.moves or op.repeats
    ):
        return None
    return np.asarray(op.evaluate(known)[0])
