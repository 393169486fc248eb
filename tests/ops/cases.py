"""One row, or several, for each op of the vocabulary."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tenferro import ops
from tenferro.shape import DType, as_dtype, dim, real_dtype
from tests.ops.dynamic_cases import DYNAMIC
from tests.ops.function_cases import FUNCTIONS, SCANS
from tests.ops.indexing_cases import INDEXING
from tests.ops.rows import (
    CPLX,
    DOUBLE,
    FIELDS,
    INTS,
    NUMBERS,
    ORDERED,
    REAL,
    Case,
    Draw,
    Operand,
    anything,
    choice,
    distinct,
    elementwise,
    high,
    low,
    nonzero,
    positive,
    quotients,
    single,
    spread,
)


def converts(source: str, target: str, draw: Draw = anything) -> Case:
    """A conversion; its derivative is defined between floating-point and complex."""
    dtype = as_dtype(target)
    return Case(
        f"convert {source} to {target}",
        ops.Convert(dtype),
        (Operand((2, 3), draw),),
        (source,),
        lambda x: lax.convert_element_type(lax.real(x) if _drops(x, dtype) else x, dtype),
        in_double=ops.Convert(as_dtype(DOUBLE.get(target, target))),
    )


def _drops(x: Any, dtype: DType) -> bool:
    return jnp.iscomplexobj(x) and dtype.kind != "c"


SCALARS: list[Case] = [
    *elementwise(ops.ADD, anything, anything, jax=lax.add, dtypes=(*INTS, *FIELDS)),
    *elementwise(ops.SUB, anything, anything, jax=lax.sub, dtypes=(*INTS, *FIELDS)),
    *elementwise(ops.MUL, anything, anything, jax=lax.mul, dtypes=(*INTS, *FIELDS)),
    *elementwise(ops.NEG, anything, jax=lax.neg, dtypes=(*INTS, *FIELDS)),
    *elementwise(ops.CONJ, anything, jax=jnp.conj, dtypes=(*INTS, *FIELDS)),
    *elementwise(ops.DIV, anything, nonzero, jax=lax.div, dtypes=(*INTS, *FIELDS)),
    *elementwise(ops.REM, quotients, high, jax=lax.rem, dtypes=REAL),
    Case("remainder of integers", ops.REM, (Operand(), Operand(draw=nonzero)), INTS, lax.rem),
    *elementwise(ops.ABS, nonzero, jax=lax.abs, dtypes=(*INTS, *FIELDS)),
    *elementwise(ops.SIGN, nonzero, jax=lax.sign, dtypes=ORDERED),
    Case(
        "sign of complex",
        ops.SIGN,
        (Operand(draw=nonzero),),
        CPLX,
        unlike_jax="JAX takes it to be constant",
    ),
    *elementwise(ops.MAXIMUM, distinct, distinct, jax=lax.max, dtypes=ORDERED),
    *elementwise(ops.MINIMUM, distinct, distinct, jax=lax.min, dtypes=ORDERED),
    *elementwise(ops.CLAMP, low, spread, high, jax=lax.clamp, dtypes=ORDERED),
    *elementwise(ops.EXP, anything, jax=lax.exp),
    *elementwise(ops.LOG, positive, jax=lax.log),
    *elementwise(ops.SIN, anything, jax=lax.sin),
    *elementwise(ops.COS, anything, jax=lax.cos),
    *elementwise(ops.TANH, anything, jax=lax.tanh),
    *elementwise(ops.SECH_SQUARED, anything, jax=lambda x: 1 / lax.cosh(x) ** 2),
    *elementwise(ops.InversePower(3), nonzero, jax=lambda x: lax.integer_pow(x, -3)),
    *elementwise(ops.SQRT, positive, jax=lax.sqrt),
    *elementwise(ops.RSQRT, positive, jax=lax.rsqrt),
    *elementwise(ops.POW, positive, anything, jax=lax.pow),
    *elementwise(ops.EXPM1, anything, jax=lax.expm1),
    *elementwise(ops.LOG1P, positive, jax=lax.log1p),
    *(
        Case(
            f"compare {name}",
            ops.Compare(name),
            (Operand(), Operand()),
            (*NUMBERS, "bool") if name in ("EQ", "NE") else ORDERED,
            getattr(lax, name.lower()),
        )
        for name in ("EQ", "NE", "LT", "LE", "GT", "GE")
    ),
    Case(
        "select",
        ops.SELECT,
        (Operand(draw=choice, dtype="bool"), Operand(), Operand()),
        (*NUMBERS, "bool"),
        lambda p, x, y: lax.select(p, x, y),
    ),
]

_SOURCES = (*FIELDS, *INTS, "bool")
CONVERSIONS: list[Case] = [
    *(converts(source, target) for source in _SOURCES for target in _SOURCES),
    Case(
        "constant",
        lambda dtype: ops.Constant(np.arange(6).reshape(2, 3), dtype),
        (),
        (*NUMBERS, "bool"),
    ),
    Case("constant of nothing", lambda dtype: ops.Constant(np.zeros((0, 2)), dtype), (), ("f64",)),
    Case(
        "a value after others",
        ops.After(2),
        (Operand(), Operand(differentiable=False), Operand(differentiable=False)),
        jax=lambda x, *_: x,
    ),
    Case("set bits", ops.POPULATION_COUNT, (Operand(),), INTS, lax.population_count),
    Case("leading zeros", ops.COUNT_LEADING_ZEROS, (Operand(),), INTS, lax.clz),
    *(
        Case(
            f"bits of {source}",
            ops.BitcastConvert(as_dtype(target)),
            (Operand(),),
            (source,),
            lambda x, target=target: lax.bitcast_convert_type(x, as_dtype(target)),
        )
        for source, target in (("i32", "f32"), ("i64", "f64"), ("u32", "i32"))
    ),
    Case("real", ops.REAL, (Operand(),), CPLX, lax.real),
    Case("imag", ops.IMAG, (Operand(),), CPLX, lax.imag),
    Case(
        "complex",
        ops.COMPLEX,
        (Operand(dtype=real_dtype), Operand(dtype=real_dtype)),
        CPLX,
        lax.complex,
    ),
    Case("complex of scalars", ops.COMPLEX, (Operand(()), Operand(())), ("f64",), lax.complex),
]

_MOVED = (*FIELDS, "i32", "bool")
LAYOUT: list[Case] = [
    single(
        "of a cube",
        ops.Transpose((2, 0, 1)),
        (2, 3, 4),
        lambda x: lax.transpose(x, (2, 0, 1)),
        dtypes=_MOVED,
    ),
    single("of nothing", ops.Transpose((1, 0)), (0, 2), lambda x: x.T, dtypes=("f64",)),
    single(
        "to one axis",
        ops.Reshape((6,)),
        (2, 3),
        lambda x: lax.reshape(x, (6,)),
        dtypes=_MOVED,
        symbolic=ops.Reshape((dim("n2*n3"),)),
    ),
    single("to a scalar", ops.Reshape(()), (1, 1), lambda x: lax.reshape(x, ())),
    single("of nothing", ops.Reshape((3, 0)), (0, 2), lambda x: lax.reshape(x, (3, 0))),
    single(
        "of two axes",
        ops.Reverse((0, 2)),
        (2, 3, 4),
        lambda x: lax.rev(x, (0, 2)),
        dtypes=_MOVED,
    ),
    single("named", ops.ShardingConstraint((("data",), None)), (2, 3), lambda x: x),
    single("of nothing", ops.Reverse((1,)), (0, 2), lambda x: lax.rev(x, (1,))),
    single(
        "of a vector",
        ops.BroadcastInDim((2, 3, 4), (1,)),
        (3,),
        lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1,)),
        dtypes=_MOVED,
        symbolic=ops.BroadcastInDim((2, dim("n3"), 4), (1,)),
    ),
    single(
        "of axes of size 1",
        ops.BroadcastInDim((2, 3, 4), (0, 1, 2)),
        (2, 1, 4),
        lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 1, 2)),
        symbolic=ops.BroadcastInDim((dim("n2"), 3, dim("n4")), (0, 1, 2)),
    ),
    single(
        "of a scalar",
        ops.BroadcastInDim((2, 0), ()),
        (),
        lambda x: lax.broadcast_in_dim(x, (2, 0), ()),
    ),
]

REDUCTIONS: list[Case] = [
    case
    for op, jax, draw, dtypes in (
        (ops.ReduceSum, jnp.sum, anything, (*FIELDS, "i64")),
        (ops.ReduceProd, jnp.prod, anything, (*FIELDS, "i64")),
        (ops.ReduceMax, jnp.max, distinct, (*REAL, *INTS)),
        (ops.ReduceMin, jnp.min, distinct, (*REAL, *INTS)),
    )
    for case in (
        single(
            "over two axes",
            op((0, 2)),
            (2, 3, 4),
            lambda x, jax=jax: jax(x, axis=(0, 2)),
            draw=draw,
            dtypes=dtypes,
        ),
        single(
            "over the last axis",
            op((1,)),
            (3, 5),
            lambda x, jax=jax: jax(x, axis=1),
            draw=draw,
            dtypes=REAL,
        ),
        single("over no axis", op(()), (2, 3), lambda x: x, draw=draw, dtypes=REAL),
        single("of nothing", op((1,)), (0, 2), lambda x, jax=jax: jax(x, axis=1), dtypes=("f64",)),
    )
] + [
    single("of no elements", ops.ReduceSum((0,)), (0, 2), lambda x: jnp.sum(x, axis=0)),
    single(
        "over two axes",
        ops.ReduceNorm((0, 2)),
        (2, 3, 4),
        lambda x: jnp.sqrt(jnp.sum(jnp.abs(x) ** 2, axis=(0, 2))),
    ),
    single("over no axis", ops.ReduceNorm(()), (2, 3), jnp.abs, draw=positive),
    single("of no elements", ops.ReduceProd((0,)), (0, 2), lambda x: jnp.prod(x, axis=0)),
]

WINDOWS: list[Case] = [
    single(
        "with strides",
        ops.Slice((1, 0, 1), (4, 2, 2), (2, 1, 3)),
        (5, 3, 2),
        lambda x: lax.slice(x, (1, 0, 1), (4, 2, 2), (2, 1, 3)),
        dtypes=_MOVED,
        symbolic=ops.Slice(
            (1, 0, dim("n2 - 1")), (dim("n5 - 1"), dim("n3 - 1"), dim("n2")), (2, 1, 3)
        ),
    ),
    single(
        "of nothing",
        ops.Slice((1, 0), (1, 2), (2, 1)),
        (3, 2),
        lambda x: lax.slice(x, (1, 0), (1, 2), (2, 1)),
        symbolic=ops.Slice((1, 0), (dim("n3 - 2"), dim("n2")), (2, 1)),
    ),
    Case(
        "pad around and between",
        ops.Pad((1, 0), (2, 1), (0, 2)),
        (Operand((2, 3)), Operand(())),
        _MOVED,
        lambda x, v: lax.pad(x, v, [(1, 2, 0), (0, 1, 2)]),
        symbolic=ops.Pad((1, 0), (dim("n2"), 1), (0, 2)),
    ),
    Case(
        "pad by less than nothing",
        ops.Pad((-1, 2), (0, -3), (1, 2)),
        (Operand((4, 3)), Operand(())),
        FIELDS,
        lambda x, v: lax.pad(x, v, [(-1, 0, 1), (2, -3, 2)]),
        symbolic=ops.Pad((-1, 2), (0, dim("-n3")), (1, 2)),
    ),
    Case(
        "pad nothing",
        ops.Pad((1, 0), (2, 1), (2, 0)),
        (Operand((0, 3)), Operand(())),
        FIELDS,
        lambda x, v: lax.pad(x, v, [(1, 2, 2), (0, 1, 0)]),
    ),
    Case(
        "concatenate",
        ops.Concatenate(1),
        (Operand((2, 3)), Operand((2, 1)), Operand((2, 0)), Operand((2, 2))),
        _MOVED,
        lambda *xs: lax.concatenate(xs, 1),
    ),
    Case("concatenate one", ops.Concatenate(0), (Operand((2,)),), ("f64",), lambda x: x),
]

DIAGONALS: list[Case] = [
    single(
        "of the outer axes",
        ops.ExtractDiag(0, 2),
        (3, 2, 3),
        lambda x: jnp.moveaxis(jnp.diagonal(x, axis1=0, axis2=2), -1, 0),
        dtypes=_MOVED,
    ),
    single(
        "between other axes",
        ops.EmbedDiag(1, 3),
        (2, 3, 4),
        lambda x: jnp.where(jnp.eye(3, dtype=bool)[:, None, :], x[..., None], 0).astype(x.dtype),
        dtypes=_MOVED,
    ),
    single("of nothing", ops.EmbedDiag(0, 1), (0,), lambda x: jnp.diag(x), dtypes=("f64",)),
    single("of nothing", ops.ExtractDiag(0, 1), (0, 0), jnp.diagonal, dtypes=("f64",)),
    *(
        single(name, op, (2, 3, 4), jax, dtypes=_MOVED)
        for name, op, jax in (
            ("", ops.Tril(), jnp.tril),
            ("above", ops.Tril(1), lambda x: jnp.tril(x, 1)),
            ("", ops.Triu(), jnp.triu),
            ("below", ops.Triu(-1), lambda x: jnp.triu(x, -1)),
        )
    ),
    single("of nothing", ops.Tril(), (0, 3), jnp.tril, dtypes=("f64",)),
    single("of nothing", ops.Triu(-1), (2, 0), lambda x: jnp.triu(x, -1), dtypes=("f64",)),
]


def contraction(
    name: str,
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    op: ops.DotGeneral,
    dtypes: tuple[str, ...] = (*FIELDS, "i64"),
) -> Case:
    """A contraction of operands of those shapes."""
    numbers = (op.lhs_contract, op.rhs_contract), (op.lhs_batch, op.rhs_batch)
    return Case(
        f"dot_general {name}",
        op,
        (Operand(lhs), Operand(rhs)),
        dtypes,
        lambda x, y: lax.dot_general(x, y, numbers, precision=lax.Precision.HIGHEST),
    )


CONTRACTIONS: list[Case] = [
    contraction("of matrices", (2, 3), (3, 4), ops.DotGeneral((1,), (0,))),
    contraction("over crossed axes", (2, 3, 4), (5, 4, 3), ops.DotGeneral((1, 2), (2, 1))),
    contraction(
        "in batches", (3, 2, 4, 5), (4, 5, 2, 3), ops.DotGeneral((3,), (1,), (1, 0), (2, 3))
    ),
    contraction(
        "over two axes in a batch",
        (2, 3, 5, 4),
        (4, 2, 3),
        ops.DotGeneral((3, 1), (0, 2), (0,), (1,)),
        FIELDS,
    ),
    contraction("outer", (2,), (3,), ops.DotGeneral((), ()), FIELDS),
    contraction("of scalars", (), (), ops.DotGeneral((), ()), ("f64",)),
    contraction("inner", (3,), (3,), ops.DotGeneral((0,), (0,)), FIELDS),
    contraction("over nothing", (2, 0), (0, 3), ops.DotGeneral((1,), (0,)), ("f64", "c128")),
    contraction("to nothing", (0, 2), (2, 3), ops.DotGeneral((1,), (0,)), ("f64",)),
]

CASES: list[Case] = [
    *SCALARS, *FUNCTIONS, *CONVERSIONS, *LAYOUT, *REDUCTIONS, *SCANS, *WINDOWS, *DIAGONALS,
    *CONTRACTIONS, *INDEXING, *DYNAMIC,
]  # fmt: skip
ROWS = [(case, dtype) for case in CASES for dtype in case.dtypes]
