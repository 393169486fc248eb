"""Rows for the functions beyond arithmetic: inverse, special, rounding, bits, scans."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special

from tenferro import ops
from tests.ops.rows import (
    FIELDS,
    INTS,
    NUMBERS,
    REAL,
    Case,
    Operand,
    anything,
    choice,
    elementwise,
    nonzero,
    positive,
    single,
)

_BITS = (*INTS, "bool")


def inside(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Between -0.8 and 0.8, where the inverse functions are smooth."""
    return rng.uniform(-0.8, 0.8, shape)


def above_one(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Between 1.5 and 3."""
    return rng.uniform(1.5, 3, shape)


def places(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """How far to shift bits."""
    return rng.integers(0, 8, shape)


def words(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Any 32 bits."""
    return rng.integers(0, 1 << 32, shape)


def sample(x: Any, a: Any) -> Any:
    """x, whatever a is: its derivative by a is that of a distribution, not of this function."""
    return x + 0 * a


CONSTANT = Operand(draw=positive, differentiable=False)


def orders(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Of derivatives."""
    return rng.integers(0, 4, shape)


def halves(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Off the integers and the halves between them, so that nearby numbers round alike."""
    return rng.integers(-3, 3, shape) + rng.choice([0.3, 0.7], shape)


def with_zeros(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers of which a third are zero."""
    return rng.uniform(0.5, 2, shape) * rng.choice([-1, 0, 1], shape)


def recurrence(a: Any, b: Any, *, reverse: bool = False) -> Any:
    """hᵢ = aᵢ·hᵢ₋₁ + bᵢ along axis 1, step by step."""
    columns = range(a.shape[1])
    steps: dict[int, Any] = {}
    h = jnp.zeros_like(b[:, 0])
    for i in reversed(columns) if reverse else columns:
        h = steps[i] = a[:, i] * h + b[:, i]
    return jnp.stack([steps[i] for i in columns], axis=1)


FUNCTIONS: list[Case] = [
    *elementwise(ops.TAN, inside, jax=lax.tan),
    *elementwise(ops.SINH, anything, jax=lax.sinh),
    *elementwise(ops.COSH, anything, jax=lax.cosh),
    *elementwise(ops.ASIN, inside, jax=lax.asin),
    *elementwise(ops.ACOS, inside, jax=lax.acos),
    *elementwise(ops.ATAN, inside, jax=lax.atan),
    *elementwise(ops.ASINH, inside, jax=lax.asinh),
    *elementwise(ops.ACOSH, above_one, jax=lax.acosh),
    *elementwise(ops.ATANH, inside, jax=lax.atanh),
    *elementwise(ops.ATAN2, nonzero, nonzero, jax=lax.atan2, dtypes=REAL),
    *elementwise(ops.CBRT, nonzero, jax=lax.cbrt, dtypes=REAL),
    *elementwise(ops.ERF, anything, jax=lax.erf, dtypes=REAL),
    *elementwise(ops.ERFC, anything, jax=lax.erfc, dtypes=REAL),
    *elementwise(ops.ERF_INV, inside, jax=lax.erf_inv, dtypes=REAL),
    *elementwise(ops.LOGISTIC, anything, jax=lax.logistic),
    *elementwise(ops.LOG_ADD_EXP, anything, anything, jax=jnp.logaddexp, dtypes=REAL),
    *(
        Case(
            f"special {name}",
            ops.Special(name),
            tuple(Operand(draw=draw, differentiable=fixed != i) for i, draw in enumerate(draws)),
            REAL,
            call,
            "" if call else "JAX has no derivative of it",
        )
        for name, draws, call, fixed in (
            ("lgamma", (nonzero,), lax.lgamma, None),
            ("digamma", (above_one,), lax.digamma, None),
            ("polygamma", (orders, above_one), lax.polygamma, 0),
            ("zeta", (above_one, above_one), None, 0),
            ("i1e", (nonzero,), lax.bessel_i1e, None),
            ("xlogy", (anything, above_one), special.xlogy, None),
        )
    ),
    *elementwise(ops.FLOOR, halves, jax=lax.floor, dtypes=REAL),
    *elementwise(ops.CEIL, halves, jax=lax.ceil, dtypes=REAL),
    *elementwise(ops.ROUND, halves, jax=jnp.rint, dtypes=REAL),
    *elementwise(ops.SIGN_BIT, nonzero, jax=jnp.signbit, dtypes=REAL),
    *elementwise(ops.STOP_GRADIENT, anything, jax=None, dtypes=INTS),
    *elementwise(ops.CheckpointName("h"), anything, jax=None, dtypes=INTS),
    Case(
        "cotangent where",
        ops.CotangentWhere(),
        (Operand(), Operand(draw=positive, dtype="bool")),
        jax=lambda x, taken: x,
    ),
    *elementwise(ops.AND, nonzero, nonzero, jax=lax.bitwise_and, dtypes=_BITS),
    *elementwise(ops.OR, nonzero, nonzero, jax=lax.bitwise_or, dtypes=_BITS),
    *elementwise(ops.XOR, nonzero, nonzero, jax=lax.bitwise_xor, dtypes=_BITS),
    *elementwise(ops.NOT, nonzero, jax=lax.bitwise_not, dtypes=_BITS),
    *elementwise(ops.SHIFT_LEFT, nonzero, places, jax=lax.shift_left, dtypes=INTS),
    *elementwise(ops.SHIFT_RIGHT, nonzero, places, jax=lax.shift_right_arithmetic, dtypes=INTS),
    *(
        Case(
            f"threefry, word {word}",
            ops.Threefry2x32(),
            (Operand(draw=words),) * 4,
            ("u32",),
            output=word,
        )
        for word in range(2)
    ),
    Case("gamma_sample", ops.GammaSample(), (Operand(draw=positive), CONSTANT), REAL, sample),
    Case("log gamma_sample", ops.GammaSample(True), (Operand(), CONSTANT), REAL, sample),
    Case("gamma_grad", ops.GAMMA_GRAD, (CONSTANT, CONSTANT), REAL, lax.random_gamma_grad),
    Case("power of integers", ops.POW, (Operand(draw=nonzero), Operand(draw=places)), INTS),
    Case("iota", lambda dtype: ops.Iota(dtype, 4), (), NUMBERS),
    Case("iota of nothing", lambda dtype: ops.Iota(dtype, 0), (), ("i64",)),
    *(
        single(name, op((1,)), shape, call, draw=choice, dtypes=("bool",))
        for op, call in (
            (ops.ReduceAnd, lambda x: jnp.all(x, axis=1)),
            (ops.ReduceOr, lambda x: jnp.any(x, axis=1)),
        )
        for name, shape in (("over one axis", (2, 3)), ("of no elements", (2, 0)))
    ),
]

SCANS: list[Case] = (
    [
        case
        for op, scan, draw in (
            (ops.CumulativeSum, lax.cumsum, anything),
            (ops.CumulativeProd, lax.cumprod, nonzero),
        )
        for reverse, way in ((False, "forward"), (True, "backward"))
        for case in (
            single(
                way,
                op(1, reverse),
                (2, 5),
                lambda x, scan=scan, reverse=reverse: scan(x, axis=1, reverse=reverse),
                draw=draw,
                dtypes=(*FIELDS, "i64"),
            ),
            single(
                f"{way} of nothing",
                op(0, reverse),
                (0, 2),
                lambda x, scan=scan, reverse=reverse: scan(x, axis=0, reverse=reverse),
                dtypes=("f64",),
            ),
        )
    ]
    + [
        case
        for op, scan, dtypes in (
            (ops.CumulativeMax, lax.cummax, (*REAL, "i64")),
            (ops.CumulativeMin, lax.cummin, (*REAL, "i64")),
            (ops.CumulativeLogSumExp, lax.cumlogsumexp, REAL),
        )
        for reverse, way in ((False, "forward"), (True, "backward"))
        for case in (
            single(
                f"{way} {op.name}",
                op(1, reverse),
                (2, 5),
                lambda x, scan=scan, reverse=reverse: scan(x, axis=1, reverse=reverse),
                dtypes=dtypes,
            ),
            single(
                f"{way} {op.name} of many",
                op(1, reverse),
                (2, 143),
                lambda x, scan=scan, reverse=reverse: scan(x, axis=1, reverse=reverse),
                dtypes=("f64",),
            ),
            single(
                f"{way} {op.name} of nothing",
                op(0, reverse),
                (0, 2),
                lambda x, scan=scan, reverse=reverse: scan(x, axis=0, reverse=reverse),
                dtypes=("f64",),
            ),
        )
    ]
    + [
        single(
            "of zeros",
            ops.CumulativeProd(0),
            (5, 2),
            lambda x: jnp.stack([jnp.prod(x[: i + 1], axis=0) for i in range(5)]),
            draw=with_zeros,
        ),
        *(
            Case(
                f"linear_recurrence {'backward' if reverse else 'forward'}",
                ops.LinearRecurrence(1, reverse),
                (Operand((2, 4)), Operand((2, 4))),
                FIELDS,
                lambda a, b, reverse=reverse: recurrence(a, b, reverse=reverse),
            )
            for reverse in (False, True)
        ),
        Case(
            "linear_recurrence of integers",
            ops.LinearRecurrence(0),
            (Operand((4,)), Operand((4,))),
            INTS,
        ),
        Case(
            "linear_recurrence of nothing",
            ops.LinearRecurrence(0),
            (Operand((0, 2)), Operand((0, 2))),
            ("f64",),
            lambda a, b: b,
        ),
    ]
)
