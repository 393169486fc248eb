"""The family of Fourier transforms: its contract, its adjoints, and what it refuses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError, InvalidConfigError, ShapeError
from tenferro.extension import apply
from tenferro.fft.op import KINDS, SCALES, Fft
from tenferro.shape import dim
from tenferro.testing import check_extension
from tenferro_xla.lowering.extensions import transform

Array = np.ndarray[Any, Any]
LENGTHS = (1, 2, 3, 4, 7, 8)


def random(*shape: int, dtype: str = "complex128") -> Array:
    rng = np.random.default_rng(sum(shape))
    real = rng.normal(size=shape)
    values = real + 1j * rng.normal(size=shape) if dtype.startswith("c") else real
    return values.astype(dtype)


def inputs_of(op: Fft, *shape: int) -> list[Array]:
    """Inputs of an op whose real or complex signal has this shape."""
    if op.kind == "r2c":
        return [random(*shape, dtype="float64")]
    if op.kind == "c2r":
        return [random(*shape[:-1], shape[-1] // 2 + 1), np.zeros(shape[-1], bool)]
    return [random(*shape)]


def inner(a: Any, b: Any) -> float:
    return float(np.vdot(np.asarray(a), np.asarray(b)).real)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    "op",
    [
        Fft("c2c", 2),
        Fft("c2c inverse", 1, "inverse"),
        Fft("r2c", 2, "root"),
        Fft("c2r", 1, "none"),
        Fft("c2r", 2, "inverse"),
    ],
    ids=str,
)
def test_the_family_keeps_the_contract(op: Fft) -> None:
    named = [("b", dim("n//2 + 1")), ("n",)] if op.kind == "c2r" else None
    report = check_extension(
        op,
        inputs=inputs_of(op, 2, 5),
        symbolic_shapes=named,
        different=[Fft("c2c", 3)],
        rules=tn.fft.ad_rules(),
        register_runtime=tn.fft.register_runtime,
        register_xla=lambda to: to.register(Fft.FAMILY_ID, transform),
        skip={"processes"},
    )
    unchecked = {
        line.strip() for line in str(report).splitlines() if line.endswith(": not checked")
    }
    assert unchecked == {
        "§8 standard ops: lower_to_standard_ops is eager_execute: not checked",
        "§11 files: a program is read as it was written: not checked",  # codecs are known always
    }


def test_the_identity_is_one_in_every_process() -> None:
    check_extension(Fft("c2c"), inputs=[random(3)], rules=tn.fft.ad_rules(), skip={"xla"})


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES)
def test_the_transpose_is_the_adjoint(kind: str, scale: str) -> None:
    for n, axes in itertools.product(LENGTHS, (1, 2, 3)):
        op = Fft(kind, axes, scale)
        x, *source = inputs_of(op, 2, 3, n)

        def f(x: Any, op: Fft = op, source: list[Array] = source) -> Any:
            return apply(op, x, *source)

        tangent = np.roll(x, 1) * (2 - 1j if np.iscomplexobj(x) else 2)
        y, pull = tn.vjp(f, x)
        ct = random(*y.shape, dtype=y.dtype.name)
        _, moved = tn.jvp(f, (x,), (tangent,))
        (pulled,) = pull(ct)
        scale_of_both = np.linalg.norm(ct) * np.linalg.norm(np.asarray(moved))
        assert abs(inner(ct, moved) - inner(pulled, tangent)) <= 1e-12 * scale_of_both, op
        assert pulled.dtype == x.dtype


@pytest.mark.parametrize("kind", KINDS)
def test_a_transform_is_its_own_derivative(kind: str) -> None:
    op = Fft(kind)
    x, *source = inputs_of(op, 2, 6)
    y, moved = tn.jvp(lambda x: apply(op, x, *source), (x,), (x,))
    np.testing.assert_array_equal(y, moved)


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives(kind: str) -> None:
    """Of Σ |y|⁴ / 4 in two directions, against central differences of the gradient."""
    op = Fft(kind, 1, "root")
    x, *source = inputs_of(op, 2, 6)

    def loss(x: Any) -> Any:
        y = apply(op, x, *source)
        square = tn.real(y * tn.conj(y))
        return tn.sum(square * square) / 4

    direction = np.roll(x, 2)
    gradient = tn.jit(tn.grad(loss), executor="numpy")
    step = 1e-5
    expected = (
        np.asarray(gradient(x + step * direction)) - np.asarray(gradient(x - step * direction))
    ) / (2 * step)
    found = np.asarray(tn.hvp(loss, x, direction))
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_a_source_of_the_length_is_not_read() -> None:
    z = random(2, 4)
    for n in (6, 7):
        nothing = np.full(n, np.nan)
        np.testing.assert_allclose(
            apply(Fft("c2r", 1, "inverse"), z, nothing), np.fft.irfft(z, n), atol=1e-12
        )
    assert (
        tn.grad_optional(lambda z, like: tn.sum(apply(Fft("c2r"), z, like)), (0, 1))(
            z, np.zeros(7)
        )[1]
        is None
    )


def test_gradients_where_data_decide_the_size_of_a_batch() -> None:
    def loss(x: Any, count: Any) -> Any:
        y = tn.fft.rfft(tn.dynamic_truncate(x, count, 0), n=5)
        return tn.sum(tn.real(y * tn.conj(y)))

    x = random(3, 4, dtype="float64")
    found = tn.jit(tn.grad(loss), executor="numpy")(x, np.int64(2))
    expected = np.zeros((3, 4))
    for k in range(3):
        wave = np.exp(-2j * np.pi * k * np.arange(4) / 5)
        expected[:2] += 2 * np.real(np.outer(x[:2] @ wave, wave.conj()))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("op", "arrays", "error", "text"),
    [
        (
            Fft("c2c"),
            [np.ones(3)],
            DTypeError,
            "c2c takes complex64 or complex128, got f",
        ),
        (
            Fft("r2c"),
            [np.ones(3, complex)],
            DTypeError,
            "r2c takes float32 or float64, got c",
        ),
        (Fft("c2c", 2), [np.ones(3, complex)], ShapeError, r"takes at least 2 axes, got c128\[3\]"),
        (
            Fft("r2c", 2),
            [np.ones((0, 3))],
            ShapeError,
            r"fft: n must be at least 1, got 0 \(axis -2 of f64\[0,3\]\)",
        ),
        (
            Fft("c2r"),
            [np.ones(3, complex), np.ones(6)],
            ShapeError,
            r"c2r of length 6 takes 4 frequencies along the last axis, got c128\[3\]",
        ),
        (
            Fft("c2r"),
            [np.ones(3, complex), np.float64(1)],
            ShapeError,
            "the second input, the source of the length, has no axis",
        ),
    ],
)
def test_what_the_family_refuses(
    op: Fft, arrays: list[Array], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        apply(op, *arrays)


@pytest.mark.parametrize("payload", [("c2",), ("c2c", 4), ("c2c", 0), ("c2c", 1, "twice")])
def test_a_payload_that_means_nothing_is_refused(payload: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidConfigError, match="kind must be one of"):
        Fft(*payload)
