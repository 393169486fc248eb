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
    **dict.fromkeys(("j0", "j1", "rgamma", "erfcinv"), (U * 2,)),
    **dict.fromkeys(("y0", "y1"), (P * 8,)),
    **dict.fromkeys(("jn", "yn"), (N, P * 8)),
    "hyp1f1": (P, Q, X * 4),
    "hyp2f1": (P, Q, P + Q * 0.7, 1 - P),
}
ONLY: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("polygamma", "expn", "zeta", "jn", "yn"), (1,)),
    "betainc": (2,),
    "hyp1f1": (2,),
    "hyp2f1": (3,),
}
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


@pytest.mark.exhaustive
def test_bessel_and_hypergeometric_functions_on_xla() -> None:
    n = np.array([0.0, 1, 4, 40, -3, 2, 0, 0.5, 200, 300])
    x = np.array([30.0, 3, 2, 30, 7, 0, np.inf, 1, 1, 0.1])
    a, b = np.array([0.5, -2.0, 2.5, -3.5, 1.0, 0.0]), np.array([1.5, 3.0, 0.7, 2.2, -1.0, 2.0])
    z = np.array([-700.0, 2.0, 40.0, -12.0, 0.5, 3.0])
    c, u = a + b + 0.8, np.array([-50.0, 0.3, 0.9999, -0.4, 0.99, 1.0])
    cases = {"jn": (n, x), "yn": (n, x), "hyp1f1": (a, b, z), "hyp2f1": (a, b, c, u)}

    def values(operands: Any) -> Any:
        return {name: ours(name)(*each) for name, each in operands.items()}

    expected = tn.jit(values, executor="numpy")(cases)
    for name, found in tn.jit(values)(cases).items():
        np.testing.assert_allclose(found, expected[name], 1e-10, 1e-15, err_msg=name)
    np.testing.assert_allclose(expected["hyp1f1"][:2], sp.hyp1f1(a, b, z)[:2])


def test_functions_beyond_those_of_jax() -> None:
    s = np.array([-3.0, -2.0, -50.3, -0.5, 0.0, 0.5, 0.99, 1.0, 2.5, -170.5])
    np.testing.assert_allclose(tn.scipy.special.zeta(s), sp.zeta(s), 1e-11)
    z = np.array([0.3 + 0.2j, -2 + 1j, 1e-20j, 3 - 4j, -0.1, 0.9 - 0.9j])
    for name in ("erf", "erfc"):
        np.testing.assert_allclose(ours(name)(z), getattr(sp, name)(z), 1e-12)
    poles = np.array([-3.0, -2.0, 0.0, 200.0])  # where the derivative is ±n!
    value, slope = tn.jvp(tn.scipy.special.rgamma, (poles,), (np.ones(4),))
    np.testing.assert_array_equal(value, np.zeros(4))
    np.testing.assert_allclose(slope, [-6.0, 2.0, 1.0, 0.0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_next_to_zero_and_far_on_the_left(dtype: str) -> None:
    """`mpmath` gives these values of zeta; at even numbers it is 0, as is 1/gamma at poles."""
    s = np.array([-1e-10, -1e-5, -0.3, -0.5, -0.7, -1000.0], dtype)
    expected = [-0.4999999999081062, -0.4999908107149848, -0.29381306812972124]
    expected += [-0.20788622497735457, -0.14623719172590807, 0.0]
    found = tn.scipy.special.zeta(s)
    np.testing.assert_allclose(found, expected, rtol=1e-12 if dtype == "float64" else 2e-5)
    assert tn.scipy.special.rgamma(s[-1:]).tolist() == [0.0]


def test_infinities_of_the_hypergeometric_function_have_its_sign() -> None:
    b, c = np.array([10.0, 10.0, 3.0, -0.5]), np.array([0.5, 2.0, -0.5, -1.5])
    a = np.array([-0.5, 2.0, 3.0, 2.0])
    found = tn.jit(tn.scipy.special.hyp2f1)(a, b, c, 1.0)
    assert found.tolist() == [-np.inf, np.inf, -np.inf, -np.inf]
