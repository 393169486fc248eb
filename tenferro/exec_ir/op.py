"""One operation of the execution IR, and the facts about it that passes ask for."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tenferro.chainrules import Emitter, V
from tenferro.errors import GraphError
from tenferro.exec_ir.identity import Payload
from tenferro.exec_ir.payloads import Array
from tenferro.exec_ir.reach import Known, Reach
from tenferro.exec_ir.traits import AxisMap, Conjugation, MaskSite, Order
from tenferro.shape import TensorMeta


class Category(enum.Enum):
    """How an instruction is dispatched."""

    SESSION = "session"
    """Runs in a backend session; neighbours run as one segment."""
    HOST = "host"
    """Runs without a backend kernel."""
    BOUNDARY = "boundary"
    """Runs alone, through the backend or an extension's runtime."""


class Resolution(NamedTuple):
    """The op that replaces a late op once the sizes that it waits for are known.

    Attributes:
        op: an op whose result has constant extents.
        operands: for each operand of `op` the position of an operand of the late op, or an op
            without operands that computes it.
    """

    op: ExecOp
    operands: tuple[int | ExecOp, ...]


class Pruned(NamedTuple):
    """The op that replaces an op some of whose outputs are dead, or some operands unread.

    Attributes:
        op: an op that makes fewer outputs or takes fewer operands.
        operands: for each of its operands the position of an operand of the old op.
        outputs: for each of its outputs the position of an output of the old op.
    """

    op: ExecOp
    operands: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def keeping_operands(cls, op: ExecOp, count: int, live: Sequence[bool]) -> Pruned:
        """`op` on all `count` operands, which makes exactly the outputs that are live."""
        outputs = tuple(position for position, is_live in enumerate(live) if is_live)
        return cls(op, tuple(range(count)), outputs)


class ExecOp(Payload):
    """An op: a name and a payload, a shape rule, its meaning on NumPy arrays, and its traits.

    Passes read the traits of an op; they do not contain lists of ops. An op states only traits that
    cannot be derived. A trait that it does not state has a default that is safe for any op.

    Subclasses are made with `@payload` and name themselves in the class statement: `class Neg(…,
    name="negate")`.
    """

    category: ClassVar[Category] = Category.SESSION
    n_inputs: int | None = 1
    n_outputs: int = 1

    def infer(self, *metas: Any, **_: Any) -> TensorMeta:
        """Metadata of the output from that of the operands.

        A typed error when the op cannot take them.
        """
        raise AssertionError(f"{self.name}: has neither infer nor infer_all")

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """Metadata of all outputs."""
        if len(metas) != self.n_inputs:
            self.check_arity(len(metas))
        return (self.infer(*metas),)

    def numpy(self, *arrays: Any, **_: Any) -> Array:
        """The meaning of a single-output op: what every executor must compute."""
        raise AssertionError(f"{self.name}: has neither numpy nor evaluate")

    def prepared(self, metas: Sequence[TensorMeta]) -> Callable[..., Array]:
        """What `numpy` does for operands of these types, chosen once for many calls."""
        return self.numpy

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs on NumPy arrays."""
        return (self.numpy(*inputs),)

    def check_arity(self, count: int) -> None:
        """Raise GraphError unless the op takes `count` operands."""
        if self.n_inputs is not None and count != self.n_inputs:
            raise GraphError(f"{self.name}: takes {self.n_inputs} operands, got {count}")

    # --- traits -----------------------------------------------------------------------------------

    pointwise: bool = False
    """Whether each element of the result depends on the elements at its own place alone, and the
    operands have the result's shape."""

    seen_through: bool = False
    """Whether the simplification of a reader may use the operands of this op."""

    commutative: bool = False
    """Whether its two operands may be exchanged."""

    moves: bool = False
    """Whether each element of the result is an element of an operand, without any computation."""

    repeats: bool = False
    """Whether it repeats the elements of its operand along new axes, and does nothing else."""

    view: bool = False
    """Whether the result is its operand in memory, element by element."""

    for_derivatives: bool = False
    """Whether the result is the operand, and the op is there for derivatives only."""

    follows_shapes: bool = False
    """Whether sizes of the payload follow those of operands, so that it is resolved before it is
    run; see `resolved`."""

    size_operand: int | None = None
    """The operand whose number decides a size of the result, if there is one."""

    @property
    def divides(self) -> Sequence[Sequence[str]] | None:
        """For each axis of the result the axes of a mesh by which it is divided.

        None if the op does not say how its result is divided.
        """
        return None

    family: str | None = None
    """The extension family whose runtime or lowering runs it; None for an op of the vocabulary."""

    def family_payload(self) -> tuple[object, ...]:
        """All that distinguishes the op from others of its `family`, as it is stored in files."""
        raise AssertionError(f"{self.name}: does not belong to an extension family")

    def expanded(self, at: Emitter[V], operands: Sequence[V]) -> tuple[V, ...] | None:
        """The op of a family written with ops of the vocabulary; None if it has no such form."""
        return None

    @property
    def source(self) -> bool:
        """Whether it has no operands, so that it can be computed again wherever it is read."""
        return self.n_inputs == 0

    @property
    def conjugation(self) -> Conjugation:
        """How conjugating all operands changes the result; real ones are their own conjugates."""
        return Conjugation.EXACT if self.moves else Conjugation.UNKNOWN

    @property
    def componentwise(self) -> bool:
        """Whether it acts on real and imaginary parts separately, as it does on real numbers."""
        return self.moves

    @property
    def cheap(self) -> bool:
        """Whether computing the result takes no longer than reading it from memory."""
        return (
            self.moves
            or self.repeats
            or (self.pointwise and (self.componentwise or self.commutative))
        )

    @property
    def streams(self) -> bool:
        """Whether it reads each element of its operands about once, in any order, so that a
        compiler can compute them on the way."""
        return self.inlined

    def streams_from(self, operand: TensorMeta) -> bool:
        """Whether a compiler computes an operand of this type on the way, and does not store it."""
        return self.streams

    @property
    def inlined(self) -> bool:
        """Whether an element of the result follows from few elements of the operands, so that a
        compiler can compute it where it is read."""
        return self.pointwise or self.moves

    def reads_shape_only(self, operand: int) -> bool:
        """Whether only the shape of an operand is read."""
        return False

    def axis_map(self, ranks: Sequence[int]) -> AxisMap | None:
        """Where the axes of operands of these ranks go; None if the op mixes them.

        A pointwise op keeps every axis.
        """
        return tuple(tuple(range(rank)) for rank in ranks) if self.pointwise else None

    def permuted(self, orders: Sequence[Order]) -> tuple[ExecOp, Order] | None:
        """The op on operands whose axes lie in these orders, and the order of its result.

        None if no op computes that. A pointwise op takes any order that its operands share.
        """
        if self.pointwise and len(set(orders)) == 1:
            return self, orders[0]
        return None

    def trailing(self, size: int) -> ExecOp | None:
        """The op that does the same for each entry of one more trailing axis of every operand.

        None if no op does. A pointwise op does so itself.
        """
        return self if self.pointwise else None

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, Array] | None = None
    ) -> Resolution:
        """The op for operands of these types, of constant extents.

        `scalars` has the rank-0 array of the operand that is the `size_operand`.
        """
        return Resolution(self, tuple(range(len(metas))))

    def planned(self, metas: Sequence[TensorMeta]) -> ExecOp:
        """The op that computes the same, with its plan chosen for operands of these types.

        Their extents are constant. The op is then run on operands of other sizes too.
        """
        return self

    def work(self, operands: Sequence[TensorMeta], results: Sequence[TensorMeta]) -> int:
        """About how many operations a run takes, by which transforms and passes choose.

        Sizes that are not known count as 1. By default one for each element of the results, or of
        the operands of a reduction, and none for a view. An op that runs alone may combine all
        elements along an axis for each element.
        """
        if self.view:
            return 0
        count = sum(meta.known_size for meta in results)
        if self.category is Category.BOUNDARY:
            sizes = [size for meta in operands for size in meta.static_shape or ()]
            return count * max(sizes, default=1)
        reads = (
            sum(meta.known_size for meta in operands) if self.streams and not self.inlined else 0
        )
        return max(count, reads)

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """An op that computes the live outputs and as few others as it can; None if it has none.

        Its output types are those of the outputs that it keeps. An op that holds programs is also
        asked where all outputs are live, and may leave out operands that the programs do not read.
        """
        return None

    def reached(self, active: Sequence[bool]) -> list[bool]:
        """For each output whether it depends on one of the operands that are active.

        An op that holds programs looks into them; of any other op, all outputs do.
        """
        return [any(active)] * self.n_outputs

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach | None:
        """Which elements of an operand each element of the only result depends on.

        The types have constant sizes. More may be said than is so; None says that each element may
        depend on all.
        """
        if self.pointwise:
            return Reach()
        return self.placed(operand, metas, known) if self.moves else None

    def placed(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach | None:
        """The reach of an op that puts elements into other places: it is applied to their numbers.

        None if it reads integers that are not known.
        """
        arrays: list[Array] = []
        for place, meta in enumerate(metas):
            shape = meta.static_shape
            assert shape is not None, "the sizes are constants here"
            array: Array | None = np.broadcast_to(np.int64(0), shape)
            if place == operand:
                array = np.arange(1, 1 + meta.known_size).reshape(shape)
            elif self._decides_places(place, meta):
                array = known(place)
            if array is None:
                return None
            arrays.append(array)
        (result,) = self.evaluate(arrays)
        return Reach(read=np.asarray(result).reshape(-1) - 1)

    def _decides_places(self, operand: int, meta: TensorMeta) -> bool:
        """Whether the value of an operand decides where elements of others come."""
        is_number = meta.dtype.kind in "iub" and not self.reads_shape_only(operand)
        return is_number or operand == self.size_operand

    @property
    def overwrites(self) -> Mapping[int, int]:
        """For each output that can lie where an operand lay, the position of that operand.

        A compiler writes the output over the operand if nothing else reads the operand.
        """
        return {}

    @property
    def written_inside(self) -> Collection[int]:
        """For an op that holds programs, the outputs that lie where the programs write theirs.

        By default those that go from round to round.
        """
        return self.overwrites.keys()

    @property
    def takes_whole(self) -> bool:
        """Whether each device has its operands and results whole, however they are divided."""
        return False

    def scratch(self, results: Sequence[int]) -> int:
        """Bytes that it needs beside operands, results of these sizes, and programs that it holds.

        Only an op that holds programs is asked.
        """
        return 0

    def masked(self, at: MaskSite) -> None:
        """Write the op where sizes are rounded up, so that no true element depends on padding.

        The default is right for pointwise ops, since an element does not depend on elements at
        other places. The padding of the result is zero if that of the operands is and the op maps
        zeros to zero.

        Raises:
            PadSafetyError: the op would read padding, or is not known not to read it.
        """
        metas = at.operand_metas
        if not self.pointwise:
            types = ", ".join(str(meta) for meta in metas)
            raise at.refuse(f"it may mix elements of {types} with padding")
        extents = at.result_metas[0].extents
        for meta in metas:
            if meta.rank and meta.extents != extents:
                raise at.refuse(f"{meta} does not have the shape of its result")
        zeros = False
        if all(meta.rank and at.has_zeros(i) for i, meta in enumerate(metas)):
            with np.errstate(all="ignore"):
                (result,) = self.evaluate([np.zeros((), meta.dtype) for meta in metas])
            zeros = bool(result == 0)
        at.keep(*[at.operand(i) for i in range(len(metas))], zeros=zeros)
