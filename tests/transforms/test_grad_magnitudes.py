"""Derivatives to third order are right at all magnitudes, also where functions saturate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import tenferro as tn
from tests.transforms.magnitudes import FEW, MAGNITUDES, ROWS, Row, derivatives

Transform = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]
SLOW = ("erf_inv", "log_ndtr", "erfcx", "dawsn")
"""Functions that mpmath takes seconds for; `test_derivatives_keep_their_digits_compiled_by_xla`
has some points of them."""
EPS = float(np.finfo(np.float64).eps)


def forward(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tn.jvp(f, (x,), (tn.ones_like(x),))[1]


def reverse(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tn.grad(lambda x: tn.sum(f(x)))(x)


def check(row: Row, magnitudes: Sequence[float], of_reverse: int) -> None:
    """Forward to third order and reverse to order `of_reverse`, at all points, un-jitted.

    Near a zero of a derivative, what rounding of x makes of it is allowed.
    """
    points = [sign * size for size in magnitudes for sign in (1, -1) if row.domain(sign * size)]
    x = np.array([*points, *row.also])
    wanted = [derivatives(row.slope, each) for each in x]
    for transform, orders in ((forward, 3), (reverse, of_reverse)):
        f = row.function
        for order in range(orders):
            f = transform(f)
            for at, actual, want in zip(x, np.asarray(f(x)), wanted, strict=True):
                slack = 16 * EPS * abs(at) * abs(want[order + 1])
                text = f"order {order + 1} at {at} is {actual}, not {float(want[order])}"
                assert _agree(float(actual), want[order], row.rtol, slack), text


def _agree(actual: float, want: Any, rtol: float, slack: Any) -> bool:
    if abs(want) > 1e290:
        return not abs(actual) < 1e280
    if abs(want) < 1e-290:
        return bool(abs(actual) <= slack + 1e-280)
    return bool(abs(actual - want) <= rtol * abs(want) + slack)


@pytest.mark.parametrize("name", [name for name in ROWS if name not in SLOW])
def test_derivatives_keep_their_digits(name: str) -> None:
    check(ROWS[name], FEW, 1)


@pytest.mark.large
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_derivatives_keep_their_digits_at_all_magnitudes(row: Row) -> None:
    check(row, MAGNITUDES, 3)


def test_derivatives_keep_their_digits_compiled_by_xla() -> None:
    names = ("expm1", "tanh", "sigmoid", "asin", "asinh", "atanh", "erfcx", "dawsn", "spence")
    points = dict.fromkeys(names, (7.1, 40.0))
    points |= dict.fromkeys(("asin", "atanh", "spence"), (0.3, 1e-10))
    points["expm1"] = (-7.1, -40.0)

    def all_of(x: dict[str, Any]) -> dict[str, Any]:
        first = {name: reverse(ROWS[name].function)(x[name]) for name in names}
        again = ("sigmoid", "asin")
        second = {name: reverse(reverse(ROWS[name].function))(x[name]) for name in again}
        return {"first": first, "second": second}

    results = tn.jit(all_of, executor="xla")({name: np.array(points[name]) for name in names})
    for order, found in enumerate((results["first"], results["second"])):
        for name, values in found.items():
            for x, actual in zip(points[name], np.asarray(values), strict=True):
                want = derivatives(ROWS[name].slope, x)[order]
                assert _agree(float(actual), want, 1e-10, 0), (name, x, order, actual, want)


def test_angles_have_derivatives_at_all_magnitudes() -> None:
    for size in (1e200, 1e-200):
        (by_y,) = [tn.grad(lambda y, size=size: tn.arctan2(y, size))(size)]
        np.testing.assert_allclose(by_y.item(), 0.5 / size, rtol=1e-14)
    angle = tn.grad(tn.angle)(1e-200 + 1e-200j).item()
    np.testing.assert_allclose(angle, (-5 + 5j) * 1e199, rtol=1e-14)


def test_what_entropy_does_at_0() -> None:
    assert tn.grad(tn.scipy.special.entr)(0.0).item() == np.inf
    assert tn.grad(tn.grad(tn.scipy.special.entr))(0.0).item() == -np.inf
    assert tn.grad(tn.xlogy, argnums=1)(0.0, 0.0).item() == 0.0


def test_the_dilogarithm_has_derivatives_at_1() -> None:
    spence = tn.scipy.special.spence
    f, values = spence, []
    for _ in range(4):
        f = tn.grad(f)
        values.append(f(1.0).item())
    np.testing.assert_allclose(values, [-1.0, 1 / 2, -2 / 3, 3 / 2], rtol=1e-14)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_norms_and_their_derivatives_at_all_magnitudes(executor: str) -> None:
    norm = tn.linalg.norm
    rows = np.array([[3.0, 4.0], [3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0], [1e200, 1.0]])

    def all_of(x: Any, z: Any, f: Any) -> Any:
        return (
            norm(x, axis=1),
            tn.grad(lambda x: tn.sum(norm(x, axis=1)))(x),
            norm(z),
            tn.grad(norm)(f),
        )

    small = np.array([1e20, 1], "float32")
    values, slopes, of_complex, of_float = tn.jit(all_of, executor=executor)(
        rows, rows[1] * (0.6 + 0.8j), small
    )
    np.testing.assert_allclose(values, [5.0, 5e200, 5e-200, 0.0, 1e200], rtol=1e-15)
    np.testing.assert_allclose(np.asarray(slopes)[:3], [[0.6, 0.8]] * 3, rtol=1e-15)
    np.testing.assert_allclose(np.asarray(slopes)[4], [1.0, 1e-200], rtol=1e-15)
    np.testing.assert_allclose(of_complex, 5e200, rtol=1e-15)
    np.testing.assert_allclose(of_float, [1.0, 1e-20], rtol=1e-6)
    assert norm(small).item() == np.float32(1e20)
    np.testing.assert_allclose(tn.hessian(norm)(rows[0]), [[0.128, -0.096], [-0.096, 0.072]])


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [3, 40])
def test_norms_are_precise_wherever_they_are_numbers(size: int, dtype: str, executor: str) -> None:
    kind = np.dtype(dtype).type(0).real.dtype
    info = np.finfo(kind)
    unit = np.linspace(0.5, 1.0, size) * ((0.6 + 0.8j) if np.dtype(dtype).kind == "c" else 1)
    scales = [1.0, info.max / 8 / size, info.tiny * 16, info.max**0.5, info.tiny**0.5]
    rows = np.stack([unit * float(scale) for scale in (*scales, 0.0)]).astype(dtype)
    strange = np.stack([rows[0], rows[0]])
    strange[0, 1], strange[1, 1] = np.nan, np.inf
    norm = tn.jit(lambda x: tn.linalg.norm(x, axis=1), executor=executor)
    want = [float(np.linalg.norm(unit)) * float(scale) for scale in (*scales, 0.0)]
    np.testing.assert_allclose(norm(rows), np.array(want, kind), rtol=64 * info.eps, atol=0)
    if np.dtype(dtype).kind == "f":
        np.testing.assert_array_equal(norm(strange), np.array([np.nan, np.inf], kind))


@pytest.mark.exhaustive
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_differences_of_digamma_functions_do_not_cancel(executor: str) -> None:
    betaln, b = tn.scipy.special.betaln, 2.5

    def both(a: Any) -> Any:
        slope = reverse(lambda a: betaln(a, b))
        return slope(a), reverse(slope)(a), reverse(lambda a: betaln(b, a))(a)

    small, large = np.array([1e-5, 0.3, 1.5, 7.0, 300.0]), np.array([1e10, 1e20, 1e100])
    slopes, curves, others = map(
        np.asarray, tn.jit(both, executor=executor)(np.concatenate([small, large]))
    )
    for place, a in enumerate(small):
        for order, values in ((0, slopes), (1, curves), (0, others)):
            want = mp.psi(order, a) - mp.psi(order, mp.mpf(a) + b)
            np.testing.assert_allclose(values[place], float(want), rtol=1e-12)
    np.testing.assert_allclose(slopes[5:], -b / large, rtol=1e-9)
    np.testing.assert_allclose(curves[5:], b / large**2, rtol=1e-9)
