"""Calls that derivatives compute again: `Checkpointed`, and `Sized`, whose sizes data decide."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Self, cast

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    differentiate,
    pull_back,
    resolve_keys,
)
from tenferro.errors import ControlFlowError
from tenferro.ir import (
    Body,
    Dim,
    DimExpr,
    Exact,
    ExecProgram,
    Guard,
    InputDim,
    Leaf,
    NumpyArray,
    Pruned,
    Resolution,
    ShapeExtent,
    TensorMeta,
    leaves,
    payload,
    restricted,
    same_size,
    substitute,
    symbol,
    type_of,
)
from tenferro.ops import extent_of
from tenferro.ops.control_flow.base import (
    Called,
    Interpreter,
    T,
    inputs_read,
    positions,
    size_in_words,
)
from tenferro.ops.control_flow.bodies import (
    CotangentMask,
    Keys,
    batched_body,
    dependencies,
    fill_slots,
    for_all_entries,
    fresh_like,
    graph_of,
    inner_context,
    inner_emitter,
    linear_in,
    program_of,
)

__all__ = ["Checkpointed", "Sized"]


# Programs that derivatives compute again: the forward part is inside the linear one.


class Recomputed(Called):
    """A call of which derivatives read operands and saved values, and compute the rest again."""

    saved: int

    @property
    def const_places(self) -> dict[str, range]:
        """All operands."""
        return {"body": range(len(self.body.input_slots))}

    def reached(self, active: Sequence[bool]) -> list[bool]:
        return self.body.reached(active)

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        return at.run(self.body, values)

    @abstractmethod
    def like(self, body: ExecProgram, saved: int = 0, transposed: bool = False) -> Recomputed:
        """An op with another body."""

    def reads(self, needed: Collection[GlobalValKey], known: Keys) -> list[GlobalValKey]:
        """The known values that a body is given, of which some are needed."""
        return [key for key in known if key in needed]

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents of the results and of the saved values.

        They are computed from the operands and from the saved values; what else they read is
        computed again.
        """
        inputs, outputs = graph_of(self.body)
        wrt = [key for key, tangent in zip(inputs, at.tangent, strict=True) if tangent is not None]
        linear = differentiate(resolve_keys(), outputs, wrt, ctx=inner_context(at.ctx))
        first = len(outputs) - self.saved
        known = dict(zip(outputs[first:], at.out[first:], strict=True))
        known.update(zip(inputs, at.primal, strict=True))
        tangents = [tangent for tangent in at.tangent if tangent is not None]
        return self._emitted(at.emitter, known, linear.input_keys, tangents, linear.output_keys)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of the active operands; what they read is computed once they arrive."""
        ctx = inner_context(at.ctx)
        inputs, outputs = graph_of(self.body)
        linear = linear_in(inputs, outputs, positions(at.active), ctx)
        arriving = [ct is not None for ct in at.ct]
        seeds = fresh_like(compress(outputs, arriving), "ct")
        pulled = pull_back(linear, fill_slots(seeds, arriving), ctx=ctx)
        known = {
            key: value
            for key, value, on in zip(inputs, at.inputs, at.active, strict=True)
            if not on
        }
        cts = [ct for ct in at.ct if ct is not None]
        results = self._emitted(at.emitter, known, seeds, cts, pulled, transposed=True)
        return fill_slots(results, at.active)

    def _emitted(
        self,
        at: Emitter[V],
        known: Mapping[GlobalValKey, V],
        seeds: Keys,
        values: Sequence[V],
        outputs: Sequence[GlobalValKey | None],
        transposed: bool = False,
    ) -> Slots[V]:
        """The outputs, which are linear in `seeds`, for `values` of these, by one op.

        Its last operands are these values.
        """
        present = [key for key in outputs if key is not None]
        if not present:
            return (None,) * len(outputs)
        read = self.reads(dependencies(present, known), list(known))
        call = self.like(program_of([*read, *seeds], present), transposed=transposed)
        results = at.emit_all(call, *(known[key] for key in read), *values)
        return fill_slots(results, [key is not None for key in outputs])


# Checkpointed: derivatives store the operands, and compute the rest again.


@payload
class Checkpointed(Recomputed, name="checkpointed"):
    """Computes `body`, of which derivatives read the operands and the saved values only.

    The linear part of the body computes what else it reads again. So it is an op of this class
    too, and so is its transpose, which is `late`: it computes nothing before its last operand, a
    cotangent, has been computed. No pass and no compiler may make one value of what it computes
    again and what was computed before.

    Attributes:
        body: what is computed. Its last `saved` outputs are values that derivatives may read.
        saved: how many of the outputs are such values.
        prevent_cse: whether the transpose of the linear part is late.
        late: whether it waits for its last operand, which the body need not read.

    Raises:
        ControlFlowError: a field is of another type, or the body has fewer outputs than are saved.
        UnsupportedDynamicShapeError: data decide a size in the body.
    """

    body: ExecProgram
    saved: int = 0
    prevent_cse: bool = True
    late: bool = False

    takes_mask = True

    def __post_init__(self) -> None:
        self._read_field("saved")
        self._read_field("prevent_cse", "True or False")
        self._read_field("late", "True or False")
        super().__post_init__()
        if not 0 <= self.saved <= self.n_outputs:
            raise ControlFlowError(
                f"checkpointed: {self.saved} saved values do not fit a body of {self.n_outputs} "
                "outputs"
            )
        if self.late and not self.n_inputs:
            raise ControlFlowError("checkpointed: a late op needs an operand to wait for")
        self._check_sizes("the body", self.body)

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The op with another body; one without operands waits for nothing."""
        late = self.late and counts["body"] > 0
        return replace(self, body=cast(ExecProgram, bodies["body"]), late=late)

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The op without dead outputs, and without operands that the body then does not read."""
        read = inputs_read(self.body, live)
        if self.late:
            read[-1] = True
        if all(live) and all(read):
            return None
        outputs, operands = positions(live), positions(read)
        results = self.n_outputs - self.saved
        op = replace(
            self,
            body=restricted(self.body, operands, outputs),
            saved=len([position for position in outputs if position >= results]),
        )
        return Pruned(op, tuple(operands), tuple(outputs))

    def batch_rule(self, at: BatchSite[V], valid: V | None = None) -> Batched[V]:
        mask = None if valid is None else CotangentMask.of_size(at.size)
        whole = batched_body(self.body, at.batched, at.size, inner_emitter(at.emitter), mask)
        operands = at.inputs if valid is None else (valid, *at.inputs)
        results = at.emitter.emit_all(self.like(whole.program(), self.saved), *operands)
        return tuple(zip(results, whole.batched, strict=True))

    def like(self, body: ExecProgram, saved: int = 0, transposed: bool = False) -> Checkpointed:
        """An op with another body, which is `late` if this one is, or if it is a transposed one."""
        return Checkpointed(
            body, saved, self.prevent_cse, self.late or (transposed and self.prevent_cse)
        )

    def in_words(self) -> str:
        """The size of the body, and whether it computes values again."""
        if self.late:
            return f"computed again: {size_in_words(self.body)}"
        return f"checkpointed: {size_in_words(self.body)}"


# Sized: names of sizes in the body stand for sizes that data decide.


@payload
class Sized(Recomputed, name="sized"):
    """Computes `body`, in which `names` stand for sizes of the operands that data decide.

    The body is an ordinary program of named sizes: each name is the whole size of an axis of one of
    its inputs. Once the operands are there, the names are replaced by the sizes.

    Attributes:
        body: what is computed.
        names: the names.
        guards: for each assumption about them its two sides and what needs it; it is checked once
            the sizes are known.

    Raises:
        ControlFlowError: a field is of another type, or no input of the body has the size of a
            name.
        UnsupportedDynamicShapeError: data decide a size in the body.
    """

    body: ExecProgram
    names: tuple[Dim, ...] = ()
    guards: tuple[tuple[Dim, Dim, str], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_sizes("the body", self.body)
        missing = [name for name in self.names if _place_of(name, self.body.input_metas) is None]
        if missing:
            raise ControlFlowError(f"{self.name}: no input of the body has the size {missing[0]}")

    @property
    def follows_shapes(self) -> bool:  # type: ignore[override]  # a fact of the payload here
        """Whether it has names, which are sizes of operands."""
        return bool(self.names)

    def _mentioned(self) -> set[Leaf]:
        return super()._mentioned() - {leaf for name in self.names for leaf in leaves(name)}

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The types that the body returns, their sizes expressed by those of the operands."""
        if not self.names:
            return super().infer_all(metas)
        self._check_operands(self.body.input_metas, self.body.input_metas)
        self.check_arity(len(metas))
        places = self._places()
        for position, (meta, expected) in enumerate(zip(metas, self.body.input_metas, strict=True)):
            alike = meta.dtype == expected.dtype and meta.rank == expected.rank
            if not alike or not all(
                known == wanted or same_size(known, self._extent(wanted, places, metas))
                for known, wanted in zip(meta.extents, expected.extents, strict=True)
                if not self._is_place(wanted, meta, known, places, metas)
            ):
                raise self._misfit(position, meta, expected)
        return tuple(
            [
                TensorMeta(
                    meta.dtype, [self._extent(extent, places, metas) for extent in meta.extents]
                )
                for meta in self.body.output_metas
            ]
        )

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray] | None = None
    ) -> Resolution:
        """The body for operands of these sizes.

        Raises:
            GuardViolationError: an assumption about the sizes does not hold.
        """
        sizes: dict[Leaf, Dim] = {}
        for leaf, place in self._places().items():
            sizes[leaf] = metas[place.input].exact_shape(self.name)[place.axis]
        for left, right, reason in self.guards:
            Guard(left, right, reason).check(sizes)
        return Resolution(Sized(self.body.bind(sizes)), tuple(range(len(metas))))

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        if self.names:
            metas = [TensorMeta.of(array.dtype, array.shape) for array in inputs]
            return self.resolved(metas).op.evaluate(inputs)
        return super().evaluate(inputs)

    def with_consts(self, bodies: Mapping[str, Any], counts: Mapping[str, int]) -> Sized:
        return replace(self, body=bodies["body"])

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        """What the body returns, if its sizes are known."""
        return None if self.names else super().interpreted(values, at)

    @property
    def saved(self) -> int:  # type: ignore[override]  # all results, of which there is no more here
        """All results: what derivatives read of them is not computed again."""
        return self.n_outputs

    def like(self, body: ExecProgram, saved: int = 0, transposed: bool = False) -> Sized:
        """An op with another body, for the same sizes."""
        return Sized(body, self.names)

    def reads(self, needed: Collection[GlobalValKey], known: Keys) -> list[GlobalValKey]:
        """Those that are needed, and one for each name."""
        read = super().reads(needed, known)
        for name in self.names:
            if _place_of(name, [type_of(key) for key in read]) is None:
                has_it = (key for key in known if _place_of(name, [type_of(key)]) is not None)
                read.append(next(has_it))
        return read

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        body = for_all_entries(self.body, at.batched, at.size, inner_emitter(at.emitter))
        op = replace(self, body=body)
        return tuple([(value, True) for value in at.emitter.emit_all(op, *at.inputs)])

    def in_words(self) -> str:
        return f"for sizes that data decide: {size_in_words(self.body)}"

    def _places(self) -> dict[Leaf, InputDim]:
        """The axis of an operand of which each name is the size."""
        places: dict[Leaf, InputDim] = {}
        for name in self.names:
            place = _place_of(name, self.body.input_metas)
            assert place is not None, "checked when the op is made"
            (leaf,) = leaves(name)
            places[leaf] = place
        return places

    def _extent(
        self, extent: ShapeExtent, places: Mapping[Leaf, InputDim], metas: Sequence[TensorMeta]
    ) -> ShapeExtent:
        """An extent of the body, for operands of these types."""
        assert isinstance(extent, Exact), "checked when the op is made"
        size = substitute(
            extent.dim, lambda leaf: symbol(places[leaf]) if leaf in places else symbol(leaf)
        )
        return extent_of(self.name, size, metas)

    def _is_place(
        self,
        wanted: ShapeExtent,
        meta: TensorMeta,
        known: ShapeExtent,
        places: Mapping[Leaf, InputDim],
        metas: Sequence[TensorMeta],
    ) -> bool:
        """Whether an extent of an operand is the one that a name is taken from."""
        assert isinstance(wanted, Exact), "checked when the op is made"
        if not isinstance(wanted.dim, DimExpr) or wanted.dim not in self.names:
            return False
        (leaf,) = leaves(wanted.dim)
        place = places[leaf]
        return metas[place.input] is meta and meta.extents[place.axis] is known


def _place_of(name: Dim, metas: Sequence[TensorMeta]) -> InputDim | None:
    """The first axis that has exactly this size."""
    for number, meta in enumerate(metas):
        for axis, extent in enumerate(meta.extents):
            if isinstance(extent, Exact) and extent.dim == name:
                return InputDim(number, axis)
    return None
