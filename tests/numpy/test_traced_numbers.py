"""A Python number gives the same result and dtype, whether it is known or traced."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import TenferroError

sp, st, rng, lax, nn = tn.scipy.special, tn.scipy.stats, tn.random, tn.lax, tn.nn
KEY = rng.key(0)
Call = Callable[[Any, Any], Any]

BINARY: list[Any] = [
    *(tn.add, tn.subtract, tn.multiply, tn.divide, tn.floor_divide, tn.remainder, tn.fmod),
    *(tn.pow, tn.maximum, tn.minimum, tn.fmax, tn.fmin, tn.hypot, tn.arctan2, tn.logaddexp),
    *(tn.logaddexp2, tn.copysign, tn.nextafter, tn.heaviside, tn.float_power, tn.ldexp),
    *(tn.equal, tn.not_equal, tn.less, tn.less_equal, tn.greater, tn.greater_equal),
    *(tn.logical_and, tn.logical_or, tn.logical_xor, tn.bitwise_and, tn.bitwise_or),
    *(tn.bitwise_xor, tn.bitwise_left_shift, tn.bitwise_right_shift, tn.gcd, tn.lcm),
    *(tn.divmod, tn.isclose, tn.allclose, tn.array_equal),
    *(tn.outer, tn.kron, tn.searchsorted, tn.isin, tn.digitize, tn.append, tn.polyval),
    *(sp.xlogy, sp.xlog1py, sp.beta, sp.gammainc, sp.gammaincc, sp.betaln, sp.zeta),
    *(sp.rel_entr, sp.kl_div),
]
CASES: dict[str, Call] = {f"{f.__name__}": f for f in BINARY}
CASES |= {f"{f.__name__} of a number": (lambda x, s, f=f: f(s, x)) for f in BINARY[:39]}
CASES |= {
    "where": lambda x, s: tn.where(x.real > 1, x, s),
    "where both": lambda x, s: tn.where(x.real > 1, s, 2),
    "clip below": lambda x, s: tn.clip(x, s, 100),
    "clip above": lambda x, s: tn.clip(x, 0, s),
    "clip": lambda x, s: tn.clip(x, s, None),
    "method clip": lambda x, s: tn.asarray(x).clip(None, s),
    "operators": lambda x, s: (s * 2 + 1) * tn.asarray(x),
    "quotient": lambda x, s: tn.asarray(x) / (s + 1),
    "full_like": lambda x, s: tn.full_like(x, s),
    "full": lambda x, s: tn.full((2,), s),
    "full of a dtype": lambda x, s: tn.full((2,), s, dtype=x.dtype),
    "asarray": lambda x, s: tn.asarray(s),
    "asarray of a list": lambda x, s: tn.asarray([s, s]) + x[:2],
    "isin a list": lambda x, s: tn.isin(x, tn.asarray([s])),
    "update": lambda x, s: tn.asarray(x).at[0].set(s),
    "update add": lambda x, s: tn.asarray(x).at[0].add(s),
    "update max": lambda x, s: tn.asarray(x).at[0].max(s),
    "pad": lambda x, s: tn.pad(x, 1, constant_values=s),
    "pad with pairs": lambda x, s: tn.pad(x, 1, constant_values=(s, 1)),
    "nan_to_num": lambda x, s: tn.nan_to_num(x, nan=s, posinf=s),
    "isclose rtol": lambda x, s: tn.isclose(x, x + 1, rtol=s),
    "isclose atol": lambda x, s: tn.isclose(x, x + 1, atol=s),
    "linspace": lambda x, s: tn.linspace(x, s, 3),
    "linspace of numbers": lambda x, s: tn.linspace(0, s, 3),
    "logspace": lambda x, s: tn.logspace(0, 1, 3, base=s),
    "interp": lambda x, s: tn.interp(s, np.arange(3.0), x),
    "interp left": lambda x, s: tn.interp(x, np.arange(3.0), np.arange(3.0), left=s),
    "interp period": lambda x, s: tn.interp(x, np.arange(3.0), np.arange(3.0), period=s + 1),
    "trapezoid": lambda x, s: tn.trapezoid(x, dx=s),
    "gradient": lambda x, s: tn.gradient(x, s),
    "unwrap": lambda x, s: tn.unwrap(x, period=s),
    "diff": lambda x, s: tn.diff(x, prepend=s),
    "insert": lambda x, s: tn.insert(x, 1, s),
    "average": lambda x, s: tn.average(x, weights=x * 0 + 1) * s,
    "quantile": lambda x, s: tn.quantile(x, s * 0 + 0.5),
    "softmax": lambda x, s: nn.softmax(x / s),
    "leaky_relu": lambda x, s: nn.leaky_relu(x, s),
    "elu": lambda x, s: nn.elu(x, s),
    "norm.pdf": lambda x, s: st.norm.pdf(x, s, 2),
    "norm.logcdf": lambda x, s: st.norm.logcdf(x, 0, s),
    "uniform.pdf": lambda x, s: st.uniform.pdf(x, s, 500),
    "poisson.pmf": lambda x, s: st.poisson.pmf(x, s),
    "gamma.logpdf": lambda x, s: st.gamma.logpdf(x, s),
    "random.uniform": lambda x, s: rng.uniform(KEY, (3,), minval=s, maxval=500),
    "random.uniform f32": lambda x, s: rng.uniform(KEY, (3,), "float32", -500, s),
    "random.randint": lambda x, s: rng.randint(KEY, (3,), s, 500),
    "random.randint u8": lambda x, s: rng.randint(KEY, (3,), 0, s, "uint8"),
    "random.truncated_normal": lambda x, s: rng.truncated_normal(KEY, 0 - s, s, (3,)),
    "random.gamma": lambda x, s: rng.gamma(KEY, s, (3,)),
    "random.bernoulli": lambda x, s: rng.bernoulli(KEY, 0.5 + 0.0 * s, (3,)),
    "lax.add": lambda x, s: lax.add(x, s),
    "lax.select": lambda x, s: lax.select(x.real > 1, x, tn.full_like(x, 1)) * s,
    "lax.pow": lambda x, s: lax.pow(x, s),
    "lax.clamp": lambda x, s: lax.clamp(s, x, 100),
    "scan": lambda x, s: tn.scan(lambda c, y: (c + 1, y / c), s, x)[1],
    "fori_loop": lambda x, s: tn.fori_loop(0, 3, lambda i, c: c + x / (s + i), 0.0),
    "cond": lambda x, s: tn.cond(True, lambda a: x / a, lambda a: x * 1.0 / a, s),
    "checkpoint": lambda x, s: tn.checkpoint(lambda a, b: a / b)(x, s),
    "vmap": lambda x, s: tn.vmap(lambda a, b: a / b, in_axes=(0, None))(x, s),
}
DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]
NUMBERS: list[Any] = [2, -3, 300, 2**40, 0.5, -1.5, 1 + 2j, True]


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """The leaves of the result as arrays, or the error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(leaf) for leaf in tn.tree_util.tree_leaves(call(*args))]
        except TenferroError as error:
            return error


def disagreement(name: str, dtype: str, number: Any, executor: str = "numpy") -> str | None:
    """What differs between the known and the traced number, or None."""
    call, x = CASES[name], np.array([1, 2, 100]).astype(dtype)
    known = outcome(call, x, number)
    traced = outcome(tn.jit(call, executor=executor), x, number)
    where = f"{name}({dtype}, {number})"
    if isinstance(known, TenferroError):
        if "does not fit" in str(known) or "negative power" in str(known):
            return None if not isinstance(traced, Exception) else f"{where}: {traced}"
        same = type(known) is type(traced)
        return None if same else f"{where}: known is refused: {known}; traced {traced}"
    if isinstance(traced, TenferroError):
        return f"{where}: traced is refused: {traced}"
    for left, right in zip(known, traced, strict=True):
        if left.dtype != right.dtype:
            return f"{where}: {left.dtype} and {right.dtype}"
        single = left.dtype.name in ("float32", "complex64")
        rtol = 1e-2 if left.dtype == np.float16 else 1e-4 if single else 1e-9
        atol = 1e-5 if left.dtype == np.float16 else 0.0
        if not np.allclose(left, right, rtol, atol, equal_nan=True):
            return f"{where}: {left} and {right}"
    return None


ALL = list(itertools.product(CASES, DTYPES, NUMBERS))


def test_a_traced_number_gives_what_a_known_one_gives() -> None:
    some = random.Random(0).sample(ALL, 400)
    assert [text for case in some if (text := disagreement(*case))] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_every_traced_number_gives_what_a_known_one_gives(name: str) -> None:
    every = itertools.product(DTYPES, NUMBERS)
    assert [text for case in every if (text := disagreement(name, *case))] == []
