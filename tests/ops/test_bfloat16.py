"""bfloat16 on both executors against `jax.numpy`, and floats of 8 bits as storage."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError
from tenferro.ir import BFLOAT16, as_dtype

EXECUTORS = ("numpy", "xla")
RNG = np.random.default_rng(3)
X = RNG.normal(size=(3, 4)).astype(BFLOAT16)
Y = RNG.normal(size=(3, 4)).astype(BFLOAT16)


def steps_apart(x: Any, y: Any) -> float:
    """The largest distance in steps of bfloat16 at the size of y, or of half the largest y."""
    a, b = (np.asarray(each, np.float64) for each in (x, y))
    assert np.array_equal(np.isnan(a), np.isnan(b))
    size = np.abs(np.where(np.isfinite(b), b, 1))
    size = np.maximum(size, size.max(initial=2.0**-100) / 2)
    off = np.where((a == b) | np.isnan(b), 0, np.abs(a - b))
    return float(np.max(off / 2.0 ** (np.floor(np.log2(size)) - 7), initial=0))


def test_promotion_is_that_of_jax_by_its_rules_and_else_that_of_float16() -> None:
    names = ["bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))]
    names += ["bfloat16", "float16", "float32", "float64", "complex64", "complex128"]
    with jax.enable_x64(True):
        for one, other in itertools.product(names, names):
            with tn.config.using(promotion="jax"):
                assert tn.promote_types(one, other) == jnp.promote_types(one, other), (one, other)
    for name in set(names) - {"bfloat16", "float16"}:
        expected = np.result_type(np.float16, name)
        own = BFLOAT16 if expected == np.float16 else expected
        assert tn.promote_types("bfloat16", name) == tn.promote_types(name, "bfloat16") == own
    assert tn.promote_types("bfloat16", "float16") == np.float32
    for number, dtype in ((True, BFLOAT16), (2, BFLOAT16), (0.5, BFLOAT16), (1j, np.complex64)):
        assert tn.result_type(tn.bfloat16, number) == dtype
        assert (tn.asarray(X) * number).dtype == dtype
    assert tn.can_cast("bfloat16", "float32")
    assert not tn.can_cast("float32", "bfloat16")
    assert tn.isdtype(tn.bfloat16, "real floating")
    assert tn.issubdtype(tn.bfloat16, tn.floating)
    assert tn.finfo("bfloat16").eps == float(jnp.finfo("bfloat16").eps)


FUNCTIONS: list[Callable[[Any, Any, Any], Any]] = [
    lambda xp, x, y: xp.exp(x) * y + xp.log1p(abs(x)) / 3,
    lambda xp, x, y: xp.logaddexp(x, y) - xp.hypot(x, y),
    lambda xp, x, y: xp.where(x > y, xp.tanh(x), xp.arctan2(x, y)),
    lambda xp, x, y: xp.sum(x * y, axis=0) + xp.mean(x, axis=0) + xp.max(y, axis=0),
    lambda xp, x, y: x @ y.T,
    lambda xp, x, y: xp.tensordot(x, y, axes=([0], [0])),
    lambda xp, x, y: xp.concatenate([xp.sort(x, axis=0), y[::-1]]),
    lambda xp, x, y: xp.prod(x, axis=1),
    lambda xp, x, y: xp.std(x, axis=1) + xp.var(y),
    lambda xp, x, y: x.at[1, 2].set(5.0).at[0].add(y[0]) * 2,
    lambda xp, x, y: (x * 100).astype("int32") + xp.argmax(y, axis=1)[:, None].astype("int32"),
    lambda xp, x, y: xp.arange(4, dtype="int16").astype("bfloat16") * x,
    lambda xp, x, y: xp.clip(x, -0.5, 0.5) + xp.sign(y) + xp.floor(x) + xp.maximum(x, y),
    lambda xp, x, y: xp.isfinite(x) & (xp.nextafter(x, y) != x),
]


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_functions_are_those_of_jax(executor: str) -> None:
    def both(xp: Any) -> Callable[..., Any]:
        return lambda x, y: [f(xp, x, y) for f in FUNCTIONS]

    expected = jax.jit(both(jnp))(X, Y)
    for result, other in zip(tn.jit(both(tn), executor=executor)(X, Y), expected, strict=True):
        assert result.dtype == other.dtype
        assert steps_apart(result, other) <= 2


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_derivatives_batches_and_loops_are_those_of_jax(executor: str) -> None:
    def loss(xp: Any, x: Any, y: Any) -> Any:
        return xp.sum(xp.tanh(x @ y.T) * xp.exp(-xp.abs(x[:, :3]))) + xp.max(x)

    result = tn.jit(tn.value_and_grad(lambda x: loss(tn, x, Y)), executor=executor)(X)
    wide = jnp.asarray(Y, "float32")  # JAX's derivative of tanh cancels
    expected = jax.value_and_grad(lambda x: loss(jnp, x, wide))(jnp.asarray(X, "float32"))
    for one, other in zip(result, expected, strict=True):
        assert one.dtype == BFLOAT16
        assert steps_apart(one, other) <= 3
    lines = tn.jit(
        lambda x: tn.scan(lambda c, row: (c + tn.sum(row), c), tn.bfloat16(0), x), executor=executor
    )(X)
    assert steps_apart(lines[0], jnp.sum(jnp.sum(jnp.asarray(X), 1))) <= 2
    tangents = tn.jit(tn.vmap(lambda x: tn.jvp(tn.sin, (x,), (x,))[1]), executor=executor)(X)
    assert steps_apart(tangents, np.cos(X.astype("f4")) * X.astype("f4")) <= 1


@pytest.mark.parametrize("dtype", [BFLOAT16, np.float16])
def test_the_derivative_of_an_extremum_meets_the_value_that_it_is(dtype: Any) -> None:
    def loss(x: Any, y: Any) -> Any:
        return tn.sum(tn.minimum(tn.prod(x, axis=0) * 1.7, y * 1.7).astype("float32"))

    x, y = X.astype(dtype), np.array([9, -9, 9, 9], dtype)
    results = [tn.jit(tn.grad(loss), executor=name)(x, y).numpy() for name in EXECUTORS]
    assert np.any(results[0] != 0)
    assert steps_apart(results[1], results[0]) <= 1


@pytest.mark.parametrize("executor", [None, *EXECUTORS])
def test_sums_of_16_bits_accumulate_in_float32_and_order_knows_nan(executor: str | None) -> None:
    def function(x: Any) -> Any:
        return tn.sum(x, axis=0), tn.cumsum(x, axis=0)[-1], tn.mean(x, axis=0), x.T @ x

    call = function if executor is None else tn.jit(function, executor=executor)
    for dtype, total in ((BFLOAT16, 4992), (np.dtype("f2"), 5000)):
        ones = tn.ones((5000, 2), dtype=dtype)
        for result, size in zip(call(ones), (total, total, 1, total), strict=True):
            assert result.dtype == dtype
            assert np.all(result == size)

    def ordered(x: Any) -> Any:
        return tn.sort(x), tn.argsort(x), tn.max(x), tn.argmax(x), tn.nanmax(x)

    x = np.array([tn.nan, 1, -np.inf, np.nan, 2, -0.0], BFLOAT16)
    call = ordered if executor is None else tn.jit(ordered, executor=executor)
    wide = [each.numpy().astype("f4") for each in ordered(tn.asarray(x.astype("f4")))]
    for result, other in zip(call(tn.asarray(x)), wide, strict=True):
        np.testing.assert_array_equal(result.numpy().astype("f4"), other)


@pytest.mark.exhaustive
def test_random_numbers_have_the_bits_of_jax() -> None:
    for name in ("uniform", "normal", "gumbel", "exponential"):
        mine = getattr(tn.random, name)(tn.random.key(7), (40,), dtype="bfloat16")
        theirs = getattr(jax.random, name)(jax.random.key(7), (40,), dtype="bfloat16")
        if name == "uniform":
            np.testing.assert_array_equal(mine.numpy(), np.asarray(theirs))
        assert mine.dtype == BFLOAT16
        assert steps_apart(mine, theirs) <= 1


def test_values_texts_and_files_keep_bfloat16() -> None:
    x = tn.asarray([1.5, -2, np.inf], dtype="bf16")
    assert repr(x) == "Tensor([1.5, -2, inf], dtype=bfloat16)"
    assert x.tolist() == [1.5, -2.0, np.inf]
    assert (float(x[0]), int(x[1]), bool(x[2])) == (1.5, -2, True)
    program = tn.make_program(lambda x: x * tn.bfloat16(0.1), tn.TensorSpec((3,), "bf16"))
    text = str(program.exec_program)
    assert "constant[value=0.10009765625, dtype=bf16]" in text
    assert str(tn.compiler.parse(text)) == text
    loaded = tn.serialization.loads(tn.serialization.dumps(program))
    assert np.array_equal(loaded(x).numpy(), program(x).numpy())
    bits = tn.lax.bitcast_convert_type(x, "uint16")
    assert bits.tolist() == [0x3FC0, 0xC000, 0x7F80]
    assert np.array_equal(tn.lax.bitcast_convert_type(bits, "bfloat16").numpy(), x.numpy())
    assert tn.lax.reduce_precision(np.float32(0.1), 8, 7) == tn.bfloat16(0.1)
    assert jnp.asarray(x).dtype == jnp.bfloat16
    assert tn.asarray(jnp.asarray(X)).dtype == BFLOAT16
    for refused in (tn.linalg.inv, tn.fft.fft):
        with pytest.raises(DTypeError, match=r"takes single and double precision, got bf16"):
            refused(tn.asarray(X[:3, :3]))


FORMATS = ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")
STORED = [f"float8_{name}" for name in FORMATS]


def _as_integers(x: Any) -> list[Any]:
    return [x.astype(name).astype("int32") for name in ("float8_e5m2", "bfloat16")]


def test_numbers_of_8_bits_are_stored_and_converted() -> None:
    def moved(xp: Any, x: Any) -> Any:
        kept = [x.astype(name) for name in STORED]
        return [
            xp.concatenate([each.T[::-1], each.reshape(4, 3)])[1:].astype("float32")
            for each in kept
        ]

    x = (X * 3).astype("f4")
    expected = jax.jit(lambda x: moved(jnp, x))(x)
    for executor in EXECUTORS:
        results = tn.jit(lambda x: moved(tn, x), executor=executor)(x)
        for name, one, other in zip(STORED, results, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"{name} {executor}")
        back = tn.jit(_as_integers, executor=executor)(np.array([2.5, np.nan, np.inf, -8], "f4"))
        assert [each.tolist() for each in back] == [[2, 0, 2**31 - 1, -8]] * 2
    low = tn.asarray(x).astype("float8_e4m3fn")
    assert low[0].dtype == low.at[0, 0].set(1.0).dtype == as_dtype("float8_e4m3fn")
    program = tn.make_program(lambda x: x.T, tn.TensorSpec((3, 4), "float8_e5m2"))
    assert "f8e5m2[4,3] = transpose" in str(program)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x + x, "add: takes .* operands, got f8e4m3fn[4]; convert it with astype"),
        (lambda x: tn.sum(x), "got f8e4m3fn[4]; convert it with astype"),
        (lambda x: x + tn.ones(4), "f8e4m3fn and f64 have no common dtype; convert one of them"),
        (lambda x: tn.isfinite(x), "got f8e4m3fn[4]; convert it with astype"),
        (lambda x: tn.isnan(x), "got f8e4m3fn[4]; convert it with astype"),
        (lambda x: tn.sin(x), "got f8e4m3fn[4]; convert it with astype"),
        (lambda x: x @ x, "got f8e4m3fn[4]; convert it with astype"),
    ],
)
def test_arithmetic_on_8_bits_is_refused(function: Callable[..., Any], text: str) -> None:
    x = tn.ones(4).astype("float8_e4m3fn")
    pattern = re.escape(text).replace(r"\.\*", ".*")
    with pytest.raises(DTypeError, match=pattern):
        function(x)
    with pytest.raises(DTypeError, match=pattern):
        tn.jit(function)(x)


def test_derivatives_through_a_conversion_to_8_bits_are_rounded_as_in_jax() -> None:
    def rounded(xp: Any, x: Any) -> Any:
        return xp.sum(xp.sin(x.astype("float8_e5m2").astype("float32")) * x)

    x = (X[0] * 2).astype("f4")
    mine, theirs = tn.grad(lambda x: rounded(tn, x))(x), jax.grad(lambda x: rounded(jnp, x))(x)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)
