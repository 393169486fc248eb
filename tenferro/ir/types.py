"""The type of a value: dtype, and what is known of the size of each axis.

A symbol shows that two axes have equal sizes before the size is known. No op holds one in its
payload. An op infers symbols that refer to its own operands; `name_sizes` replaces them
by symbols that refer to values of the whole graph or program.

`dim` is the guarantee; extents are equal if their kinds and their `dim` are. `size` is an
expression for the size itself, or None. It only serves to tell whether two axes have equal sizes;
no op takes it as a target size.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tenferro.core import Derived, GlobalValKey, GraphOp, Input, op_key
from tenferro.errors import ExtentError, ShapeError, UnsupportedDynamicShapeError
from tenferro.ir.dims import Dim, Leaf, at_most, bind, dim, leaves, product, substitute, symbol
from tenferro.ir.dtypes import DType, as_dtype, short_name

__all__ = [
    "MAX_EXTENT",
    "Exact",
    "RuntimeAxis",
    "RuntimeScalar",
    "ShapeDtypeStruct",
    "ShapeExtent",
    "Source",
    "TensorMeta",
    "TensorSpec",
    "Unknown",
    "UpperBound",
    "describe",
    "implies",
    "make_meta",
    "name_sizes",
    "runtime_dims",
    "same_size",
]


# Data-dependent sizes: symbols whose values are known only while the program runs.


@dataclass(frozen=True, slots=True)
class Source:
    """An axis of a graph value with a data-dependent size.

    `made_by` is the input, or the primitive, inputs and site of the op that computes the value: the
    metadata of a value must not refer to the value, or neither would be freed.
    """

    made_by: Input | tuple[GraphOp, tuple[GlobalValKey, ...], str | None]
    slot: int
    axis: int

    @classmethod
    def of(cls, value: Input | Derived, axis: int) -> Source:
        """The axis `axis` of a value."""
        if isinstance(value, Input):
            return cls(value, 0, axis)
        op = value.op
        return cls((op.primitive, op.inputs, op.site), value.slot, axis)

    @property
    def value(self) -> GlobalValKey:
        """The value."""
        if isinstance(self.made_by, Input):
            return self.made_by
        primitive, inputs, site = self.made_by
        return op_key(primitive, inputs, site=site).output(self.slot)


@dataclass(frozen=True, slots=True)
class RuntimeScalar:
    """The size that `semantics` makes of a scalar value; it is at most `limit`.

    `scalar` is the number of the value: while `local`, of an operand of the op that infers the
    size; later, of a value of the graph or a slot of the program.
    """

    scalar: int
    limit: Dim
    semantics: str
    local: bool = True
    source: Source | None = field(default=None, compare=False)

    def __str__(self) -> str:
        kind = "operand" if self.local else "value"
        return f"min({self.semantics}({kind} {self.scalar}), {self.limit})"


@dataclass(frozen=True, slots=True)
class RuntimeAxis:
    """The size of an axis of a value; nothing else is known about it."""

    value: int
    axis: int
    source: Source | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"size(value {self.value}, {self.axis})"


RuntimeDim = RuntimeScalar | RuntimeAxis


def runtime_dims(size: Dim) -> list[RuntimeDim]:
    """The data-dependent symbols of a size, in the order of their text."""
    symbols = [leaf for leaf in leaves(size) if isinstance(leaf, RuntimeScalar | RuntimeAxis)]
    return sorted(symbols, key=str)


def has_local(size: Dim) -> bool:
    """Whether a size refers to an operand of an op, and so has a meaning for that op only."""
    return any(isinstance(leaf, RuntimeScalar) and leaf.local for leaf in leaves(size))


# Extents: what is guaranteed of the size of one axis.


@dataclass(frozen=True, slots=True)
class Exact:
    """The size is exactly `dim`, a constant or an expression of symbols."""

    dim: Dim

    @property
    def size(self) -> Dim:
        """The size."""
        return self.dim

    def __str__(self) -> str:
        return str(self.dim)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The size is at most `dim`; never use `dim` as the size."""

    dim: Dim
    size: Dim | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"<={self.dim}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known about the size."""

    size: Dim | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "?"


ShapeExtent = Exact | UpperBound | Unknown


def same_size(a: ShapeExtent, b: ShapeExtent) -> bool:
    """Whether two axes certainly have equal sizes; equal bounds do not imply that.

    >>> same_size(UpperBound(8), UpperBound(8)), same_size(Exact(8), Exact(8))
    (False, True)
    """
    return a.size is not None and a.size == b.size and not has_local(a.size)


def implies(known: ShapeExtent, claimed: ShapeExtent) -> bool:
    """Whether `claimed` holds for every axis for which `known` holds."""
    match claimed:
        case Unknown():
            return True
        case UpperBound(bound):
            return not isinstance(known, Unknown) and at_most(known.dim, bound)
        case Exact():
            return known == claimed


def describe(extent: ShapeExtent) -> str:
    """The extent in words, for errors: `symbolic n`, `at most n (upper bound)`, `unknown`.

    >>> describe(UpperBound(8))
    'at most 8 (upper bound)'
    """
    match extent:
        case Exact(int(size)):
            return str(size)
        case Exact(dim):
            return f"symbolic {dim}"
        case UpperBound(dim):
            return f"at most {dim} (upper bound)"
        case Unknown():
            return "unknown"


# Metadata of one value: its dtype, its rank, and an extent for each axis.

MAX_EXTENT = 2**63 - 1


class TensorMeta:
    """Dtype and extents of a value.

    There is no attribute `shape`: call `exact_shape()` or `bound_shape()`. If the value is a scalar
    known to be the size of an axis, `as_size` is the extent of that axis; like the `size` of an
    extent, it is not part of the type.

    Attributes:
        dtype: the element type.
        extents: for each axis, what is guaranteed of its size.
        rank: the number of axes; always exact.
        dims: the exact sizes, constant or symbolic, or None if some extent is not exact.
        static_shape: the shape, if every extent is a known integer; else None.

    >>> meta = TensorMeta.of("f64", ("n", 3))
    >>> print(meta, meta.rank, meta.exact_shape())
    f64[n,3] 2 (dim('n'), 3)
    """

    __slots__ = ("_hash", "as_size", "dims", "dtype", "extents", "rank", "static_shape")

    def __init__(
        self, dtype: DType, extents: Iterable[ShapeExtent], as_size: ShapeExtent | None = None
    ) -> None:
        self.dtype = dtype
        self.as_size = as_size
        self._hash: int | None = None
        self.extents: tuple[ShapeExtent, ...] = tuple(extents)
        self.rank = len(self.extents)
        exact = [extent.dim for extent in self.extents if isinstance(extent, Exact)]
        self.dims: tuple[Dim, ...] | None = tuple(exact) if len(exact) == self.rank else None
        static = self.dims is not None and all(type(size) is int for size in self.dims)
        self.static_shape: tuple[int, ...] | None = self.dims if static else None  # type: ignore[assignment]

    @classmethod
    def of(cls, dtype: object, dims: Sequence[int | str | Dim]) -> TensorMeta:
        """Metadata with exact extents.

        Raises:
            ExtentError: an extent is negative or does not fit 64 bits.
            ShapeError: `dims` is not a list of sizes.
        """
        if not isinstance(dims, Iterable) or isinstance(dims, str):
            raise ShapeError(f"shape: takes a list of sizes, got {dims!r}; write ({dims!r},)")
        sizes = tuple([_checked(size) for size in dims])
        return make_meta(as_dtype(dtype), sizes)

    @property
    def known_size(self) -> int:
        """The number of elements; sizes that are not known constants count as 1."""
        if self.static_shape is not None:
            return math.prod(self.static_shape)
        sizes = [extent.dim for extent in self.extents if isinstance(extent, Exact)]
        return math.prod([size for size in sizes if isinstance(size, int)])

    def exact_shape(self, primitive: str = "shape", field: str = "shape") -> tuple[Dim, ...]:
        """The exact sizes, constant or symbolic.

        Raises:
            UnsupportedDynamicShapeError: an extent is an upper bound or unknown; names `primitive`
                and the axis.
        """
        if self.dims is None:
            axis = next(i for i, extent in enumerate(self.extents) if not isinstance(extent, Exact))
            raise UnsupportedDynamicShapeError(
                primitive, f"{field}[{axis}]", describe(self.extents[axis])
            )
        return self.dims

    def bound_shape(self, primitive: str = "shape", field: str = "shape") -> tuple[Dim, ...]:
        """For each axis, a size that it does not exceed.

        Raises:
            UnsupportedDynamicShapeError: an extent is unknown.
        """
        bounds: list[Dim] = []
        for axis, extent in enumerate(self.extents):
            if not isinstance(extent, Exact | UpperBound):
                raise UnsupportedDynamicShapeError(primitive, f"{field}[{axis}]", describe(extent))
            bounds.append(extent.dim)
        return tuple(bounds)

    def with_dtype(self, dtype: DType) -> TensorMeta:
        """The metadata with another dtype."""
        if dtype is self.dtype:
            return self
        return (
            make_meta(dtype, self.static_shape)
            if self.static_shape is not None
            else TensorMeta(dtype, self.extents)
        )

    def with_extents(self, extents: Iterable[ShapeExtent]) -> TensorMeta:
        """The metadata with other extents."""
        return TensorMeta(self.dtype, extents)

    def bind(self, sizes: Mapping[Leaf, Dim]) -> TensorMeta:
        """The metadata with symbols replaced by the sizes they are bound to.

        An extent whose size becomes a number becomes exact.
        """
        if self.static_shape is not None:
            return self
        if self.dims is not None:
            return make_meta(self.dtype, tuple(bind(size, sizes) for size in self.dims))
        return TensorMeta(self.dtype, [_bound(extent, sizes) for extent in self.extents])

    def symbols(self) -> set[Leaf]:
        """The symbols that the extents mention."""
        if self.static_shape is not None:
            return set()
        return {
            leaf
            for extent in self.extents
            if isinstance(extent, Exact | UpperBound)
            for leaf in leaves(extent.dim)
        }

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, TensorMeta)
            and self.dtype == other.dtype
            and self.extents == other.extents
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.dtype, self.extents))
        return self._hash

    def __str__(self) -> str:
        return f"{short_name(self.dtype)}[{','.join(str(extent) for extent in self.extents)}]"

    def __repr__(self) -> str:
        return f"TensorMeta({self})"


def name_sizes(
    meta: TensorMeta, value: int, operands: Sequence[int], source: Callable[[int], Source | None]
) -> TensorMeta:
    """The metadata with a name, unique in its graph or program, for each data-dependent size.

    Args:
        meta: the metadata that an op inferred for a result.
        value: the number of the result.
        operands: the numbers of the operands.
        source: maps an axis of the result to a value that has this size, or to None.
    """
    if meta.dims is not None:
        return meta

    def named(axis: int, extent: ShapeExtent) -> ShapeExtent:
        if isinstance(extent, Exact):
            return extent

        def leaf_of(leaf: Leaf) -> Dim:
            if isinstance(leaf, RuntimeScalar) and leaf.local:
                number = operands[leaf.scalar]
                leaf = RuntimeScalar(number, leaf.limit, leaf.semantics, False, source(axis))
            return symbol(leaf)

        if extent.size is None:
            size: Dim = symbol(RuntimeAxis(value, axis, source(axis)))
        else:
            size = substitute(extent.size, leaf_of)
        return UpperBound(extent.dim, size) if isinstance(extent, UpperBound) else Unknown(size)

    return meta.with_extents(named(axis, extent) for axis, extent in enumerate(meta.extents))


def _bound(extent: ShapeExtent, sizes: Mapping[Leaf, Dim]) -> ShapeExtent:
    if isinstance(extent, Exact):
        return Exact(bind(extent.dim, sizes))
    size = None if extent.size is None else bind(extent.size, sizes)
    if isinstance(size, int):
        return Exact(size)
    return UpperBound(bind(extent.dim, sizes), size) if isinstance(extent, UpperBound) else extent


@functools.lru_cache(maxsize=4096)
def make_meta(dtype: DType, dims: tuple[Dim, ...]) -> TensorMeta:
    """Metadata with exact extents that have been checked; values of one type share it."""
    return TensorMeta(dtype, [Exact(size) for size in dims])


def _checked(value: int | str | Dim) -> Dim:
    size = dim(value)
    if isinstance(size, int) and not 0 <= size <= MAX_EXTENT:
        raise ExtentError(f"shape: extent {size} is not between 0 and 2**63 - 1")
    return size


class TensorSpec:
    """The type of an input: a shape of integers and names, and a dtype.

    Raises:
        ShapeError: the shape is not a sequence of sizes.

    >>> print(TensorSpec(("n", 3), "float64").meta)
    f64[n,3]
    """

    __slots__ = ("meta",)

    def __init__(self, shape: Sequence[int | str | Dim], dtype: object = "float64") -> None:
        if isinstance(shape, str) or not isinstance(shape, Iterable):
            raise ShapeError(
                f"TensorSpec: {shape!r} is not a shape; pass a tuple of sizes and names, such as "
                '("n", 3)'
            )
        self.meta = TensorMeta.of(dtype, shape)

    @classmethod
    def of(cls, meta: TensorMeta) -> TensorSpec:
        """The spec with this type."""
        spec = cls.__new__(cls)
        spec.meta = meta
        return spec

    @classmethod
    def like(cls, x: Any) -> TensorSpec:
        """That of an object that says of which shape and dtype it is.

        >>> import numpy as np
        >>> TensorSpec.like(np.zeros(3))
        TensorSpec(f64[3])
        """
        return cls(x.shape, x.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.meta.rank

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The size of each axis; symbolic sizes are expressions."""
        return self.meta.exact_shape()

    @property
    def sharding(self) -> None:
        """None: a type does not say how an array is divided among devices."""
        return None

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return product(self.shape)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.meta.dtype

    def update(
        self, *, shape: Sequence[int | str | Dim] | None = None, dtype: object = None
    ) -> Self:
        """The spec with another shape or dtype."""
        return type(self)(
            self.shape if shape is None else shape, self.dtype if dtype is None else dtype
        )

    def __len__(self) -> int:
        if not self.meta.rank or not isinstance(self.shape[0], int):
            raise TypeError(f"len: {self.meta} has no first axis whose size is a number")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self.meta == other.meta

    def __hash__(self) -> int:
        return hash(self.meta)

    def __repr__(self) -> str:
        return f"TensorSpec({self.meta})"


ShapeDtypeStruct = TensorSpec
"""JAX's name of it."""
