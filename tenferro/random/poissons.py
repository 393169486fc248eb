"""The Poisson distribution: by counting up to a mean of 10, by rejection from there."""

from __future__ import annotations

import math
from typing import Any

from tenferro import loops
from tenferro import namespace as tn
from tenferro.dispatch import create
from tenferro.namespace import lax
from tenferro.random import blocks, formulas
from tenferro.random.continuous import AnyKey
from tenferro.random.keys import words_of
from tenferro.random.parameters import element, real_array, sizes
from tenferro.shape import FLOAT32, INT64, DType
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike, Shape


def poisson(
    key: AnyKey, lam: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Integers of the Poisson distribution. Where the mean is no number, the result is -1.

    Args:
        key: a key.
        lam: the mean, not negative; broadcasts to the shape. It is rounded to float32, as in JAX.
        shape: of the result; by default that of lam.
        dtype: an integer type; int64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not of integers, or lam is complex.
        ShapeError: it is an array of keys, or lam does not broadcast to the shape.

    >>> bool((tn.random.poisson(tn.random.key(0), 3.0, (4,)) >= 0).all())
    True
    """
    name = "random.poisson"
    kind, result = element(name, dtype, "iu", INT64), sizes(name, shape, lam)
    words = words_of(name, key)
    mean: Any = lax.stop_gradient(tn.broadcast_to(real_array(name, "lam", lam, FLOAT32), result))
    few = tn.isnan(mean) | (mean < 10)
    zero = tn.zeros_like(mean)
    counted = _counted(words, tn.where(few, mean, zero), kind)
    drawn = _rejection(words, tn.where(few, zero + 1e5, mean)).astype(kind)
    return tn.where(mean == 0, tn.zeros_like(drawn), tn.where(few, counted, drawn))


def _counted(words: Any, mean: Any, dtype: DType) -> Any:
    """How many exponential distances fit below the mean: Knuth's method."""

    def again(state: Any) -> Any:
        count, key, total = state
        two = create(blocks.split, key, shape=(2,))
        fractions = _unit(two[1], mean)
        return tn.where(total > -mean, count + 1, count), two[0], total + tn.log(fractions)

    start = (tn.zeros_like(mean).astype(dtype), words, tn.zeros_like(mean))
    count, _, _ = loops.while_loop(lambda state: tn.any(state[2] > -mean), again, start)
    return (count - 1).astype(dtype)


def _unit(words: Any, like: Any) -> Any:
    return create(formulas.uniform, words, 0.0, 1.0, shape=like.shape, dtype=like.dtype)


def _rejection(words: Any, mean: Any) -> Any:
    """Transformed rejection: Hörmann, Insurance: Mathematics and Economics 12, 1993."""
    finite, log_mean = tn.isfinite(mean), tn.log(mean)
    b = 0.931 + 2.53 * tn.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def again(state: Any) -> Any:
        result, accepted, key = state
        # Not a second use of the key: for each mean, one of the two methods counts.
        three = create(blocks.split, key, shape=(3,), purpose="fold_in")
        u, v = _unit(three[1], mean) - 0.5, _unit(three[2], mean)
        from_edge = 0.5 - tn.abs(u)
        k = tn.floor((2 * a / from_edge + b) * u + mean + 0.43)
        s = tn.log(v * inv_alpha / (a / (from_edge * from_edge) + b))
        density = -mean + k * log_mean - _log_factorial(k)
        surely = finite & (from_edge >= 0.07) & (v <= v_r)
        never = (k < 0) | ((from_edge < 0.013) & (v > from_edge))
        accept = surely | (finite & ~never & (s <= density))
        return tn.where(accept, k, result), accepted | accept, three[0]

    start = (tn.zeros_like(mean) - 1, ~finite, words)
    result, _, _ = loops.while_loop(lambda state: ~tn.all(state[1]), again, start)
    return result


def _log_factorial(k: Any) -> Any:
    """log k!, by the series of Lanczos, as XLA computes it."""
    total = tn.zeros_like(k) + _LANCZOS[0]
    for place, coefficient in enumerate(_LANCZOS[1:]):
        total = total + coefficient / (k + (place + 1))
    shifted = k + 7.5
    log_shifted = math.log(7.5) + tn.log1p(k / 7.5)
    power = (k + 0.5 - shifted / log_shifted) * log_shifted
    return 0.5 * math.log(2 * math.pi) + power + tn.log(total)


_LANCZOS = (
    0.99999999999980993227684700473478,
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)
