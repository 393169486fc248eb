"""Sized: a program whose names of sizes stand for sizes that data decide."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenferro.core import Batched, BatchSite, GlobalValKey, V
from tenferro.errors import ControlFlowError
from tenferro.ir import (
    Dim,
    DimExpr,
    Exact,
    ExecProgram,
    Guard,
    InputDim,
    Leaf,
    NumpyArray,
    Resolution,
    ShapeExtent,
    TensorMeta,
    leaves,
    payload,
    same_size,
    substitute,
    symbol,
    type_of,
)
from tenferro.ops import extent_of
from tenferro.ops.control_flow.base import Interpreter, T, size_in_words
from tenferro.ops.control_flow.bodies import Keys, for_all_entries, inner_emitter
from tenferro.ops.control_flow.checkpoint import Recomputed

__all__ = ["Sized"]


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
        body = self._as_body("the body", self.body)
        self._set(body=body)
        super().__post_init__()
        n_inputs = len(body.input_slots)
        self._set(n_inputs=n_inputs, n_outputs=len(body.output_slots))
        self._check_sizes("the body", body, [self._role(place) for place in range(n_inputs)])
        missing = [name for name in self.names if _place_of(name, body.input_metas) is None]
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
