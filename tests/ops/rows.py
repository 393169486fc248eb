"""What a row of the table is: an op, random operands, and JAX's word for it.

The values drawn keep clear of kinks and poles; what ops do there is in the files named after them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tenferro.ops import StdTensorOp
from tenferro.shape import DType, as_dtype

Array = np.ndarray[Any, Any]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

REAL = ("f32", "f64")
CPLX = ("c64", "c128")
FIELDS = (*REAL, *CPLX)
INTS = ("i32", "i64")
ORDERED = (*REAL, *INTS)
NUMBERS = (*FIELDS, *INTS)
DOUBLE = {"f32": "f64", "c64": "c128"}


def anything(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Between -2 and 2."""
    return rng.uniform(-2, 2, shape)


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Between 0.5 and 2."""
    return rng.uniform(0.5, 2, shape)


def nonzero(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Of magnitude 1 to 4, so that integers are not zero either."""
    return rng.uniform(1, 4, shape) * rng.choice([-1, 1], shape)


def distinct(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """No two alike, whatever other operand they come from."""
    size = int(np.prod(shape))
    return (rng.permutation(size).reshape(shape) - size / 2) * 0.75 + rng.uniform(0.1, 0.2)


def low(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """About -1, where `spread` has no values."""
    return rng.uniform(-1.1, -0.9, shape)


def high(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """About 1, where `spread` has no values."""
    return rng.uniform(0.9, 1.1, shape)


def spread(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Below -1.5, about 0, or above 1.5."""
    return rng.choice([-2.0, 0.0, 2.0], shape) + rng.uniform(-0.5, 0.5, shape)


def quotients(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Far from multiples of the numbers about 1."""
    return rng.choice([-3.0, -2.0, 1.0, 2.0], shape) * 1.1 + rng.uniform(0.4, 0.6, shape)


def choice(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """True or false."""
    return rng.integers(0, 2, shape)


@dataclass(frozen=True)
class Operand:
    """A random operand; `dtype` where it is not the dtype under test.

    The extents of the axes `counted` stay numbers where others get names.
    """

    shape: tuple[int, ...] = (2, 3)
    draw: Draw = anything
    dtype: str | Callable[[DType], DType] | None = None
    differentiable: bool = True
    counted: tuple[int, ...] = ()

    def dtype_for(self, dtype: str) -> DType:
        """The operand's dtype when the row is tried with `dtype`."""
        if callable(self.dtype):
            return self.dtype(as_dtype(dtype))
        return as_dtype(dtype if self.dtype is None else self.dtype)

    def sample(self, rng: np.random.Generator, dtype: DType) -> Array:
        """An array of that dtype. The imaginary part is drawn small, off the branch cuts."""
        values = self.draw(rng, self.shape)
        if dtype.kind == "c":
            values = values + 0.5j * anything(rng, self.shape)
        return np.asarray(values).astype(dtype)


@dataclass(frozen=True)
class Case:
    """An op on random operands.

    `op` may depend on the dtype under test; `in_double` is the op in double precision, if that is
    another. `jax` is the same function, or None where JAX's derivative is known to differ, for the
    reason in `unlike_jax`. `symbolic` is the op when every extent k > 1 of its operands is called
    `nk`; by default the op itself. `output` is the one of several that is looked at.
    """

    name: str
    op: StdTensorOp | Callable[[DType], StdTensorOp]
    operands: tuple[Operand, ...]
    dtypes: tuple[str, ...] = FIELDS
    jax: Callable[..., Any] | None = None
    unlike_jax: str = ""
    symbolic: StdTensorOp | None = None
    in_double: StdTensorOp | None = None
    output: int = 0

    def op_for(self, dtype: str) -> StdTensorOp:
        """The op when tried with `dtype`."""
        return self.op if isinstance(self.op, StdTensorOp) else self.op(as_dtype(dtype))

    def smooth_dtypes(self) -> list[str]:
        """The dtypes in which a derivative can be taken."""
        return [dtype for dtype in self.dtypes if self.differentiable(dtype)]

    def arrays(self, dtype: str, variant: int = 0) -> list[Array]:
        """The operands; the same numbers, rounded, for each dtype of one kind."""
        kind = as_dtype(dtype).kind
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), ord(kind), variant])
        double = DOUBLE.get(dtype, dtype)
        return [
            operand.sample(rng, operand.dtype_for(double)).astype(operand.dtype_for(dtype))
            for operand in self.operands
        ]

    def differentiable(self, dtype: str) -> list[int]:
        """The operands that a derivative can be taken by."""
        return [
            i
            for i, operand in enumerate(self.operands)
            if operand.differentiable and operand.dtype_for(dtype).kind in "fc"
        ]


def elementwise(
    op: StdTensorOp,
    *draws: Draw,
    jax: Callable[..., Any] | None,
    dtypes: tuple[str, ...] = FIELDS,
    unlike_jax: str = "",
) -> list[Case]:
    """An elementwise op on matrices, on scalars, and on nothing."""

    def case(suffix: str, shape: tuple[int, ...], dtypes: tuple[str, ...]) -> Case:
        operands = tuple(Operand(shape, draw) for draw in draws)
        return Case(op.name + suffix, op, operands, dtypes, jax, unlike_jax)

    return [
        case("", (2, 3), dtypes),
        case(" of scalars", (), dtypes[-1:]),
        case(" of nothing", (0, 2), dtypes[-1:]),
    ]


def single(
    name: str,
    op: StdTensorOp,
    shape: tuple[int, ...],
    jax: Callable[..., Any],
    *,
    draw: Draw = anything,
    dtypes: tuple[str, ...] = FIELDS,
    symbolic: StdTensorOp | None = None,
) -> Case:
    """An op on one operand."""
    return Case(f"{op.name} {name}", op, (Operand(shape, draw),), dtypes, jax, symbolic=symbolic)


def row_id(value: object) -> str:
    """How pytest names a row."""
    return value.name.replace(" ", "_") if isinstance(value, Case) else str(value)


def for_each(
    cases: Sequence[Case], dtypes: Callable[[Case], Sequence[str]]
) -> Callable[[Callable[[Case, str], None]], Callable[[Case], None]]:
    """Make of a check of a case with a dtype the test of each case with all its dtypes."""

    def of(check: Callable[[Case, str], None]) -> Callable[[Case], None]:
        @pytest.mark.parametrize("case", [case for case in cases if dtypes(case)], ids=row_id)
        def test(case: Case) -> None:
            for dtype in dtypes(case):
                try:
                    check(case, dtype)
                except Exception as error:
                    error.add_note(f"{case.name} of {dtype}")
                    raise

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return of
