"""`ExecOp`: name, payload, shape rule, NumPy meaning, and what passes ask of an op.

`OpCore` is what every op has. Further questions come in facets, each with its vocabulary and its
defaults, which are safe for any op: `Layout`, `DynamicShape`, `Memory`, `Sparsity`, `Programs`,
`Family`. Few ops answer them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar, dataclass_transform

import numpy as np

from tenferro.core import Emitter, V
from tenferro.errors import GraphError, PadSafetyError, counted
from tenferro.ir.dims import InputDim, Leaf
from tenferro.ir.dtypes import BFLOAT16, FLOAT32, DType, dtype_kind
from tenferro.ir.payloads import (
    Body,
    NumpyArray,
    Sizes,
    bind_payload,
    encode,
    payload_text,
    symbols_of,
)
from tenferro.ir.types import TensorMeta

__all__ = [
    "AxisMap",
    "AxisOrder",
    "Category",
    "Conjugation",
    "ExecOp",
    "Known",
    "MaskSite",
    "Pruned",
    "Reach",
    "Resolution",
    "fields_of_bodies",
    "in_float32",
    "numbered",
    "payload",
    "places_of",
]


# A name and a payload: the identity of an op.

T = TypeVar("T")


class Payload:
    """A name and a payload; the payload is the fields of the subclass, which is a dataclass.

    Two are equal if their names and payloads are, and the classes of the extension ops that they
    are or hold: a class that is defined again is another op. Identity, text, file form and symbols
    all follow from the fields, by the table of `payloads`.
    """

    name: ClassVar[str]
    body_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that hold programs."""
    added_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the last fields, if they came after files with the op had been written.

    Each has a default, with which the op is what it was before: its identity is the same.
    """
    identity: bytes
    """Name, payload, and `classes`: what tells ops apart in this process."""
    classes: bytes = b""
    """Tokens at the end of the identity: of its class, if its name was defined before, and of the
    classes of extension ops that it is or holds."""
    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.name = name

    def __post_init__(self) -> None:
        values = [getattr(self, field) for field in self._fields]
        for field in reversed(self.added_fields):
            if encode(values[-1]) != encode(getattr(type(self), field)):
                break
            values.pop()
        identity = self.name.encode() + encode(tuple(values))
        if self.body_fields:  # computed once, so that no caller walks all nested programs
            classes = b"".join([self.classes, *[body.classes for body in self.bodies.values()]])
            object.__setattr__(self, "classes", classes)
            object.__setattr__(self, "_symbols", self._mentioned())
        object.__setattr__(self, "identity", identity + self.classes)

    @property
    def encoded(self) -> bytes:
        """Name and payload as bytes: the same in every process and version."""
        return self.identity.removesuffix(self.classes)

    @classmethod
    def payload_fields(cls) -> tuple[str, ...]:
        """Names of the payload's fields."""
        return cls._fields

    def symbols(self) -> set[Leaf]:
        """The symbols of the program that the payload mentions, without sizes of operands."""
        if not self._fields:
            return set()
        known: set[Leaf] | None = getattr(self, "_symbols", None)
        return self._mentioned() if known is None else known

    def _mentioned(self) -> set[Leaf]:
        names = self.payload_fields()
        mentioned = {leaf for name in names for leaf in symbols_of(getattr(self, name))}
        return {leaf for leaf in mentioned if not isinstance(leaf, InputDim)}

    def bind(self, sizes: Sizes) -> Self:
        """The op with symbols of its payload replaced by sizes."""
        if not self.symbols():
            return self
        return type(self)(
            **{name: bind_payload(getattr(self, name), sizes) for name in self.payload_fields()}
        )

    def bind_outside(self, sizes: Sizes) -> Self:
        """The op with symbols replaced, but not those in the programs inside it."""
        if not self.body_fields:
            return self.bind(sizes)
        names = [name for name in self.payload_fields() if name not in self.body_fields]
        bound = {name: bind_payload(getattr(self, name), sizes) for name in names}
        if all(bound[name] is getattr(self, name) for name in names):
            return self
        return replace(self, **bound)  # type: ignore[type-var]  # every op is a dataclass

    @property
    def bodies(self) -> dict[str, Body]:
        """The programs inside the op, in order, by their label.

        The label is the name of the field; if the field holds a tuple of programs, that of the
        first one is `field[0]`.
        """
        labelled: dict[str, Body] = {}
        for name in self.body_fields:
            value: Body | tuple[Body, ...] = getattr(self, name)
            if isinstance(value, tuple):
                labelled |= {f"{name}[{number}]": body for number, body in enumerate(value)}
            else:
                labelled[name] = value
        return labelled

    def with_bodies(self, bodies: Mapping[str, Body]) -> Self:
        """The op with its programs replaced, by their label."""
        return replace(self, **fields_of_bodies(bodies))  # type: ignore[type-var]  # as above

    @property
    def label(self) -> str:
        """The name of the op in short expressions, without the payload."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payload) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def stored_fields(self) -> tuple[str, ...]:
        """Names of the fields that a file holds: those that are not at their default.

        So a field with a default can be added to an op without changing existing files; see also
        `added_fields`.
        """
        return tuple(
            field.name
            for field in fields(self)  # type: ignore[arg-type]  # every op is a dataclass
            if field.default is MISSING
            or encode(getattr(self, field.name)) != encode(field.default)
        )

    def printed_fields(self) -> tuple[str, ...]:
        """Names of the fields that the text shows: those that are not at their default."""
        return tuple(
            field.name
            for field in fields(self)  # type: ignore[arg-type]  # every op is a dataclass
            if field.default is MISSING or getattr(self, field.name) != field.default
        )

    def __str__(self) -> str:
        names = [name for name in self.printed_fields() if name not in self.body_fields]
        if not names:
            return self.name
        values = ", ".join(f"{name}={payload_text(getattr(self, name))}" for name in names)
        return f"{self.name}[{values}]"

    def __repr__(self) -> str:
        return str(self)


def fields_of_bodies(bodies: Mapping[str, T]) -> dict[str, T | tuple[T, ...]]:
    """The fields of an op whose programs have these labels, which are in order; see `bodies`.

    >>> fields_of_bodies({"cond": 1, "branches[0]": 2, "branches[1]": 3})
    {'cond': 1, 'branches': (2, 3)}
    """
    values: dict[str, T | tuple[T, ...]] = {}
    for label, body in bodies.items():
        name, bracket, _ = label.partition("[")
        before = values.get(name, ())
        values[name] = (*before, body) if bracket and isinstance(before, tuple) else body
    return values


_defined: dict[str, int] = {}
"""How often a class of a name was defined again: it does not run the code of the one before."""


@dataclass_transform(frozen_default=True)
def payload(cls: type[T]) -> type[T]:
    """Make an op class a frozen dataclass whose equality is its identity."""
    if "_fields" in vars(cls):  # it is one: a row makes itself one
        return cls
    frozen = dataclass(frozen=True, eq=False, repr=False)(cls)
    frozen._fields = tuple([field.name for field in fields(frozen)])  # type: ignore[attr-defined,arg-type]
    name = vars(frozen).get("name")
    if isinstance(name, str):
        times = _defined[name] = _defined.get(name, -1) + 1
        frozen.classes = b"@%s.%d" % (name.encode(), times) if times else b""  # type: ignore[attr-defined]
    return frozen


# What every op has: its meaning, and facts about it.


class Category(enum.Enum):
    """How an instruction is dispatched."""

    SESSION = "session"
    """Runs in a backend session; neighbours run as one segment."""
    HOST = "host"
    """Runs without a backend kernel."""
    BOUNDARY = "boundary"
    """Runs alone, through the backend or an extension's runtime."""


class Conjugation(enum.Enum):
    """The result of an op on the complex conjugates of its operands."""

    UNKNOWN = "nothing is known"
    EXACT = "the conjugate of its result"
    ZERO_SIGNS = "the conjugate of its result, up to the signs of zeros"
    SAME = "its result"
    NEGATED = "the negative of its result"


def in_float32(compute: Callable[..., Any], *inputs: NumpyArray) -> Any:
    """`compute` on arrays of bfloat16 as float32; its results of float32 are rounded to bfloat16.

    The result is an array, or a tuple of arrays. Where no array is of bfloat16 nothing is rounded.
    """
    if all(x.dtype != BFLOAT16 for x in inputs):
        return compute(*inputs)
    results = compute(*[x.astype(FLOAT32) if x.dtype == BFLOAT16 else x for x in inputs])
    return tuple(map(_rounded, results)) if type(results) is tuple else _rounded(results)


def _rounded(x: NumpyArray) -> NumpyArray:
    return np.asarray(x).astype(BFLOAT16) if x.dtype == FLOAT32 else x


class OpCore(Payload):
    """A name and a payload, a shape rule, the meaning on NumPy arrays, and facts.

    An op states only facts that do not follow from others.
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

    def numpy(self, *arrays: Any, **_: Any) -> NumpyArray:
        """The meaning of a single-output op: what every executor must compute."""
        raise AssertionError(f"{self.name}: has neither numpy nor evaluate")

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        """The outputs on NumPy arrays; those of bfloat16 are computed in float32 and rounded."""
        for x in inputs:
            if x.dtype == BFLOAT16 and not self.own_precision:
                return (in_float32(self.numpy, *inputs),)
        return (self.numpy(*inputs),)

    def kernel(self, dtypes: Collection[DType | None]) -> Callable[..., NumpyArray]:
        """What `evaluate` does for operands of these dtypes, of an op with one result."""
        alone = BFLOAT16 not in dtypes or self.own_precision
        return self.numpy if alone else partial(in_float32, self.numpy)

    def check_arity(self, count: int) -> None:
        """Raise GraphError unless the op takes `count` operands."""
        if self.n_inputs is not None and count != self.n_inputs:
            raise GraphError(f"{self.name}: takes {counted(self.n_inputs, 'operand')}, got {count}")

    @property
    def own_precision(self) -> bool:
        """Whether `numpy` takes bfloat16 as it is: it moves elements, or the dtype decides."""
        return self.moves

    pointwise: bool = False
    """Whether each element of the result depends on the elements at its own place alone, and the
    operands have the result's shape."""

    transparent: bool = False
    """Whether the simplification of a reader may use the operands of this op."""

    commutative: bool = False
    """Whether its two operands may be exchanged."""

    contracts: bool = False
    """Whether it multiplies its operands and sums over axes."""

    moves: bool = False
    """Whether each element of the result is an element of an operand, without any computation."""

    repeats: bool = False
    """Whether it repeats the elements of its operand along new axes, and does nothing else."""

    for_derivatives: bool = False
    """Whether the result is the operand, and the op is there for derivatives only."""

    @property
    def source(self) -> bool:
        """Whether it has no operands, so that it can be computed again wherever it is read.

        An op that holds programs is not.
        """
        return self.n_inputs == 0 and not self.body_fields

    @property
    def conjugation(self) -> Conjugation:
        """How conjugating all operands changes the result; real ones are their own conjugates."""
        return Conjugation.EXACT if self.moves else Conjugation.UNKNOWN

    @property
    def componentwise(self) -> bool:
        """Whether it acts on real and imaginary parts separately, as it does on real numbers."""
        return self.moves


# Where axes go.

AxisOrder = tuple[int, ...]
"""For each place in memory, outermost first, the axis of the value that lies there."""

AxisMap = tuple[tuple[int | None, ...], ...]
"""For each operand and each of its axes, the axis of the result that it becomes; None if it does
not appear in the result."""


class Layout(OpCore):
    """Where the axes of operands go, and the op on operands whose axes lie otherwise."""

    keeps_axes: bool = False
    """Whether axis i of each operand becomes axis i of the result, as of any pointwise op."""

    def axis_map(self, ranks: Sequence[int]) -> AxisMap | None:
        """Where the axes of operands of these ranks go; None if the op mixes them."""
        if self.pointwise or self.keeps_axes:
            return tuple(tuple(range(rank)) for rank in ranks)
        return None

    axis_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that are axes."""

    entry_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that have an entry for each axis."""

    def permuted(self, orders: Sequence[AxisOrder]) -> tuple[ExecOp, AxisOrder] | None:
        """The op on operands whose axes lie in these orders, and the order of its result.

        None if no op computes that. A pointwise op takes any order that its operands share, and an
        op that keeps axes has the same axes and entries in that order; scalars have no order.
        """
        if self.pointwise and len(set(orders)) == 1:
            return self, orders[0]  # type: ignore[return-value]  # every op is an ExecOp
        if not self.keeps_axes or len({order for order in orders if order}) > 1:
            return None
        order = orders[0]
        fields: dict[str, Any] = {}
        for name in self.entry_fields:
            entries = getattr(self, name)
            fields[name] = tuple([entries[axis] for axis in order])
        for name in self.axis_fields:
            axes = getattr(self, name)
            fields[name] = order.index(axes) if isinstance(axes, int) else places_of(axes, order)
        return replace(self, **fields), order  # type: ignore[type-var,return-value]  # as above

    def trailing(self, size: int) -> ExecOp | None:
        """The op that does the same for each entry of one more trailing axis of every operand.

        None if no op does. A pointwise op does so itself.
        """
        return self if self.pointwise else None  # type: ignore[return-value]  # as above

    @property
    def divides(self) -> Sequence[Sequence[str]] | None:
        """For each axis of the result the axes of a mesh by which it is divided.

        None if the op does not say how its result is divided.
        """
        return None

    @property
    def takes_whole(self) -> bool:
        """Whether each device has its operands and results whole, however they are divided."""
        return False


def places_of(axes: Sequence[int], order: AxisOrder) -> tuple[int, ...]:
    """The places of the axes in an order of axes, in ascending order."""
    return tuple([place for place, axis in enumerate(order) if axis in axes])


# Sizes that are not known until the program runs.


class Resolution(NamedTuple):
    """The op that replaces an op of data-dependent sizes once these are known.

    Attributes:
        op: an op whose result has constant extents.
        operands: for each operand of `op` the position of an operand of the old op, or an op
            without operands that computes it.
    """

    op: ExecOp
    operands: tuple[int | ExecOp, ...]


class MaskSite(Protocol):
    """What `ExecOp.masked` sees: one instruction of a program whose sizes are rounded up.

    An axis whose size is rounded up holds, after its true elements, elements without a meaning: its
    *padding*.
    """

    @property
    def rounded(self) -> frozenset[Leaf]:
        """The sizes that are rounded up."""

    @property
    def operand_metas(self) -> Sequence[TensorMeta]:
        """Types of the operands."""

    @property
    def result_metas(self) -> Sequence[TensorMeta]:
        """Types of the results."""

    def padded(self, operand: int) -> Mapping[int, Leaf]:
        """The axes of an operand that have padding, and their true sizes."""

    def padded_axes(self, meta: TensorMeta) -> Mapping[int, Leaf]:
        """The axes of a type that have padding, and their true sizes."""

    def has_zeros(self, operand: int) -> bool:
        """Whether all padding of an operand is known to be zero."""

    def operand(self, position: int) -> int:
        """An operand, padding included."""

    def filled(self, position: int, fill: NumpyArray) -> int:
        """An operand whose padding is replaced by the rank-0 array `fill`."""

    def zeroed(self, position: int) -> int:
        """An operand whose padding is zero."""

    def true_size(self, leaf: Leaf) -> int:
        """The true size, as a rank-0 int64."""

    def keep(self, *operands: int, zeros: bool = False) -> None:
        """Write the op on these operands; `zeros` if the padding of its results is zero."""

    def define(self, *results: int, zeros: bool = False) -> None:
        """Let these values be the results."""

    def refuse(self, reason: str, leaf: Leaf | None = None) -> PadSafetyError:
        """The error, which names the op and the size; the default is a size of the instruction."""


class DynamicShape(OpCore):
    """Sizes that data or shapes of operands decide, and sizes that are rounded up."""

    follows_shapes: bool = False
    """Whether sizes of the payload follow those of operands, so that it is resolved before it is
    run; see `resolved`."""

    size_operand: int | None = None
    """The operand whose number decides a size of the result, if there is one."""

    def reads_shape_only(self, operand: int) -> bool:
        """Whether only the shape of an operand is read."""
        return False

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray] | None = None
    ) -> Resolution:
        """The op for operands of these types, of constant extents.

        `scalars` has the rank-0 array of the operand that is the `size_operand`.
        """
        return Resolution(self, tuple(range(len(metas))))  # type: ignore[arg-type]  # as above

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


# What an op takes of memory and time.


class Memory(OpCore):
    """Whether a value is stored, computed where it is read, or written over an operand; work."""

    view: bool = False
    """Whether the result is its operand in memory, element by element."""

    @property
    def cheap(self) -> bool:
        """Whether computing the result takes no longer than reading it from memory."""
        return (
            self.moves
            or self.repeats
            or self.for_derivatives
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

    @property
    def overwrites(self) -> Mapping[int, int]:
        """For each output that can lie where an operand lay, the position of that operand.

        A compiler writes the output over the operand if nothing else reads the operand.
        """
        return {}

    @property
    def written_inside(self) -> Collection[int]:
        """For an op that holds programs, the outputs that lie where the programs write theirs.

        By default those that go from iteration to iteration.
        """
        return self.overwrites.keys()

    def scratch(self, results: Sequence[int]) -> int:
        """Bytes that it needs, without operands, results of these sizes, and programs inside.

        Only an op that holds programs is asked.
        """
        return 0

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


# Which elements of an operand the elements of a result depend on.

Known = Callable[[int], NumpyArray | None]
"""The number of an operand to its value, or to None if that is not known yet."""


class Reach(NamedTuple):
    """The elements of an operand are in groups; each element of the result depends on one group.

    Elements are numbered in C order.

    Attributes:
        groups: for each element of the operand the number of its group, -1 if nothing depends on
            it; None if each is a group of its own.
        read: for each element of the result the number of the group that it depends on, -1 if on
            none; None if that is its own number.
    """

    groups: NumpyArray | None = None
    read: NumpyArray | None = None


def numbered(shape: Sequence[int], axes: Iterable[int]) -> NumpyArray:
    """For each element of an array of this shape, the number of its coordinates along `axes`.

    >>> numbered((2, 3), (1,))
    array([0, 1, 2, 0, 1, 2])
    """
    numbers = np.zeros((1,) * len(shape), np.int64)
    for axis in axes:
        place = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        numbers = numbers * shape[axis] + place
    return np.broadcast_to(numbers, shape).reshape(-1)


class Sparsity(DynamicShape):
    """Which elements depend on which, for sparse Jacobians."""

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
        arrays: list[NumpyArray] = []
        for place, meta in enumerate(metas):
            shape = meta.static_shape
            assert shape is not None, "the sizes are constants here"
            array: NumpyArray | None = np.broadcast_to(np.int64(0), shape)
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
        is_number = dtype_kind(meta.dtype) in "iub" and not self.reads_shape_only(operand)
        return is_number or operand == self.size_operand


# Programs inside an op, and extension families.


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


class Programs(OpCore):
    """What is asked of ops that hold programs, or have outputs that nobody may read."""

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


class Family(OpCore):
    """Ops of an extension family, which its runtimes and lowerings run."""

    family: str | None = None
    """The extension family whose runtime or lowering runs it; None for an op of the vocabulary."""

    def family_payload(self) -> tuple[object, ...]:
        """All that distinguishes the op from others of its `family`, as it is stored in files."""
        raise AssertionError(f"{self.name}: does not belong to an extension family")

    def expanded(self, at: Emitter[V], operands: Sequence[V]) -> tuple[V, ...] | None:
        """The op of a family written with ops of the vocabulary; None if it has no such form."""
        return None

    def planned(self, metas: Sequence[TensorMeta]) -> ExecOp:
        """The op that computes the same, with its plan chosen for operands of these types.

        Their extents are constant. The op is then run on operands of other sizes too.
        """
        return self  # type: ignore[return-value]  # as above


class ExecOp(Layout, Memory, Sparsity, Programs, Family):
    """An op. Passes ask it; they do not contain lists of ops.

    Subclasses are made with `@payload` and name themselves in the class statement: `class Neg(…,
    name="negate")`.
    """
