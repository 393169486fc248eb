"""Special functions: NumPy and XLA against SciPy, gradients against differences of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import tenferro as tn
from tenferro.errors import ADRuleError, DTypeError

rng = np.random.default_rng(0)
X = rng.uniform(-4.3, 4.3, 24)
P = rng.uniform(0.1, 6, 24)
Q = rng.uniform(0.1, 6, 24)
U = rng.uniform(0.02, 0.98, 24)
N = np.arange(24.0) % 5
ENDS = np.array([0.0, 1.0, -1.0, -2.0, 0.5, -1.5, 30.0, -30.0, np.inf, -np.inf, np.nan])
A, B = (grid.ravel() for grid in np.meshgrid(ENDS, ENDS))

UNARY = "gammaln digamma i0 i0e i1 i1e ndtr log_ndtr gamma gammasgn expi spence dawsn erfcx"
AT: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(UNARY.split(), (X,)),
    **dict.fromkeys(("ndtri", "logit", "entr", "erfinv"), (U,)),
    **dict.fromkeys(("exp1", "factorial"), (P,)),
    **dict.fromkeys(("gammainc", "gammaincc", "beta", "betaln", "poch", "xlogy"), (P, Q)),
    **dict.fromkeys(("xlog1py", "kl_div", "rel_entr", "boxcox", "boxcox1p"), (P, Q)),
    **dict.fromkeys(("polygamma", "expn"), (N, P)),
    "zeta": (P + 1.1, Q),
    "owens_t": (X, Q),
    "betainc": (P, Q, U),
    "spence": (P,),
    "comb": (P + 6, Q),
}
ONLY: dict[str, tuple[int, ...]] = {"polygamma": (1,), "expn": (1,), "zeta": (1,), "betainc": (2,)}
CONSTANT = {"gammasgn", "comb"}
EDGES = "digamma gammaln i0e i1e ndtri log_ndtr ndtr gamma gammasgn expi exp1 spence dawsn erfcx"
PAIRS = "xlogy xlog1py rel_entr kl_div"


def ours(name: str) -> Callable[..., Any]:
    return getattr(tn.scipy.special, name)  # type: ignore[no-any-return]


@pytest.mark.parametrize("executor", ["numpy", pytest.param("xla", marks=pytest.mark.exhaustive)])
def test_values_are_scipys_at_random_and_special_points(executor: str) -> None:
    cases = list(AT.items())
    cases += [(name, (ENDS,)) for name in EDGES.split()] + [
        (name, (A, B)) for name in PAIRS.split()
    ]
    found = tn.jit(lambda a: [ours(n)(*x) for (n, _), x in zip(cases, a, strict=True)],
                   executor=executor)([x for _, x in cases])  # fmt: skip
    for (name, operands), value in zip(cases, found, strict=True):
        with np.errstate(all="ignore"):
            expected = getattr(sp, name)(*operands)
        np.testing.assert_allclose(value, expected, 2e-11, 1e-13, err_msg=name)


def test_gradients_are_differences_of_scipys_values() -> None:
    cases = [
        (name, i)
        for name, x in AT.items()
        if name not in CONSTANT
        for i in ONLY.get(name, range(len(x)))
    ]
    h = 1e-5

    def slopes(operands: dict[str, Any]) -> list[Any]:
        return [
            tn.grad(lambda *x, name=name: tn.sum(ours(name)(*x)), argnums=i)(*operands[name])
            for name, i in cases
        ]

    found = tn.jit(slopes, executor="numpy")(AT)
    for (name, i), slope in zip(cases, found, strict=True):
        steps = [
            getattr(sp, name)(*(x + d * (j == i) for j, x in enumerate(AT[name]))) for d in (h, -h)
        ]
        expected = (steps[0] - steps[1]) / (2 * h)
        scale = float(np.abs(expected).max())
        np.testing.assert_allclose(slope, expected, 1e-6, 2e-8 * scale, err_msg=f"{name} by {i}")


def test_second_derivatives_are_differences_of_the_first() -> None:
    h = 1e-5
    for name in ("gammaln", "i0e", "i1", "log_ndtr", "ndtri", "exp1", "spence", "logit"):
        x = np.array([0.31, 0.77])
        first = tn.grad(lambda x, name=name: tn.sum(ours(name)(x)))
        second = tn.grad(lambda x, f=first: tn.sum(f(x)))(x)
        difference = (np.asarray(first(x + h)) - np.asarray(first(x - h))) / (2 * h)
        np.testing.assert_allclose(second, difference, 1e-6, err_msg=name)


def test_dtypes_and_refusals() -> None:
    assert tn.lgamma([1, 2]).dtype == np.float64
    assert tn.lgamma(np.float32([1, 2])).dtype == np.float32
    assert tn.nextafter(np.float32(1), 2).item() == np.nextafter(np.float32(1), np.float32(2))
    with pytest.raises(DTypeError, match=r"^gammainc: takes floating-point operands, got c128"):
        tn.scipy.special.gammainc(1j, 1.0)
    with pytest.raises(DTypeError, match=r"^entr: takes real operands, got c128"):
        tn.scipy.special.entr(1j)
    with pytest.raises(ADRuleError, match=r"^polygamma: has no derivative by operand 0"):
        tn.grad(tn.polygamma)(2.0, 1.0)
    assert sorted(tn.gammaln is f for f in (tn.lgamma, tn.scipy.special.gammaln)) == [True, True]


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_derivatives_of_log_ndtr_do_not_cancel(executor: str) -> None:
    f = tn.jit(
        lambda x: [tn.derivative(tn.scipy.special.log_ndtr, n)(x) for n in (1, 2)],
        executor=executor,
    )
    for x, slope, curvature, tolerance in (
        (-100.0, 100.00999800099926, -0.99990005995005174, 1e-11),
        (-30.0, 30.033259667433677, -0.99889622848810991, 1e-12),
        (-3.0, 3.2830986549304365, -0.92944081321473188, 1e-13),
        (0.0, 0.79788456080286536, -0.63661977236758134, 1e-14),
        (6.0, 6.0758828558176764e-9, -3.6455297171822411e-8, 1e-14),
        (40.0, 0.0, 0.0, 0.0),
    ):
        first, second = (value.item() for value in f(x))
        assert first == pytest.approx(slope, rel=1e-14)
        assert second == pytest.approx(curvature, rel=tolerance)
