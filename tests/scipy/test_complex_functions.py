"""Special functions of complex numbers, Bessel functions and harmonics are SciPy's."""

from __future__ import annotations

from typing import Any

import jax
import jax.scipy.special
import numpy as np
import pytest
import scipy.special as sp

import tenferro as tn
from tenferro.errors import DTypeError, ShapeError, TracingError
from tests.in_jax import in_jax

ts: Any = tn.scipy.special
rng = np.random.default_rng(0)
SIZES = 10 ** rng.uniform(-3, 1.4, (2, 200)) * rng.choice([-1, 1], (2, 200))
Z = np.concatenate([SIZES[0] + 1j * SIZES[1], [2.0, 1.0, 0.5, 3j, -2.5 + 0j, 1e-9 + 1e-9j]])


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", ["gamma", "loggamma", "wofz", "erfcx"])
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_functions_of_complex_numbers_are_scipys(name: str, executor: str) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(sp, name)(Z)
    usual = np.isfinite(expected) & (abs(expected) > 1e-280)
    found = tn.jit(getattr(ts, name), executor=executor)(Z).numpy()
    np.testing.assert_allclose(found[usual], expected[usual], 1e-11, 1e-13)
    narrow = getattr(ts, name)(Z[:4].astype("complex64"))
    assert narrow.dtype == np.complex64
    np.testing.assert_allclose(narrow, expected[:4], 1e-5)


def test_derivatives_of_complex_functions() -> None:
    z = 1.2 + 0.7j
    slope = tn.grad(ts.wofz, holomorphic=True)(z)
    assert complex(slope) == pytest.approx(-2 * z * sp.wofz(z) + 2j / np.sqrt(np.pi), rel=1e-11)
    slope = tn.grad(ts.loggamma, holomorphic=True)(z)
    assert complex(slope) == pytest.approx(sp.digamma(z), rel=1e-11)
    mapped = tn.vmap(ts.gamma)(Z[:3])
    np.testing.assert_allclose(mapped, sp.gamma(Z[:3]), 1e-11)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_complex_exponentials_are_those_of_jax(name: str) -> None:
    x, y = Z[:9] * 0.3, Z[9:18] * 0.3
    expected = in_jax(lambda: getattr(jax.numpy, name)(x, y))
    for executor in ("numpy", "xla"):
        np.testing.assert_allclose(tn.jit(getattr(tn, name), executor=executor)(x, y), expected)
    slope = tn.grad(lambda x: tn.sum(tn.real(getattr(tn, name)(x, y))))(x)
    theirs = in_jax(jax.grad(lambda x: getattr(jax.numpy, name)(x, y).real.sum()), x)
    np.testing.assert_allclose(slope, np.conj(theirs), 1e-10)
    assert complex(tn.logaddexp(-np.inf + 0j, -np.inf + 0j)).real == -np.inf


@pytest.mark.exhaustive
def test_derivatives_of_zeta_by_both_operands() -> None:
    s, q = rng.uniform(1.2, 12, 20), rng.uniform(0.1, 9, 20)
    expected = in_jax(jax.vmap(jax.grad(jax.scipy.special.zeta, (0, 1))), s, q)
    for executor in ("numpy", "xla"):
        run = tn.jit(tn.grad(lambda s, q: tn.sum(ts.zeta(s, q)), (0, 1)), executor=executor)
        for one, other in zip(run(s, q), expected, strict=True):
            np.testing.assert_allclose(one, other, 1e-12)
    second = tn.grad(tn.grad(ts.zeta))(3.0, 2.0)
    step = (tn.grad(ts.zeta)(3.001, 2.0) - tn.grad(ts.zeta)(2.999, 2.0)) / 0.002
    np.testing.assert_allclose(second, step, 1e-5)


def test_bessel_functions_harmonics_and_numbers_are_scipys() -> None:
    x = np.array([0.01, 0.5, 2.0, 30.0, -3.0, 0.0])
    found = ts.bessel_jn(x, v=5, n_iter=80)
    np.testing.assert_allclose(found, [sp.jv(k, x) for k in range(6)], 1e-11, 1e-14)
    assert tn.grad(lambda x: ts.bessel_jn(x, v=2)[1])(1.5).item() == pytest.approx(sp.jvp(1, 1.5))
    assert ts.bessel_jn(x.astype("float32"), v=1).dtype == np.float32
    n, m = np.array([0, 1, 2, 3, 3, 5, 5, 7]), np.array([0, -1, 2, -3, 0, 5, -4, 3])
    theta, phi = rng.uniform(-4, 4, (2, 8))
    expected = sp.sph_harm_y(n, m, theta, phi)
    np.testing.assert_allclose(ts.sph_harm_y(n, m, theta, phi), expected, 1e-12, 1e-14)
    traced = tn.jit(lambda n: ts.sph_harm_y(n, m, theta, phi, n_max=7))(n)
    np.testing.assert_allclose(traced, expected, 1e-12, 1e-14)
    np.testing.assert_allclose(ts.bernoulli(16), sp.bernoulli(16), 1e-10)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(DTypeError, match="degrees and orders must be integers"):
        ts.sph_harm_y(1.0, 0, 0.1, 0.2)
    with pytest.raises(TracingError, match="pass n_max"):
        tn.jit(lambda n: ts.sph_harm_y(n, 0, 0.1, 0.2))(np.array([1]))
    with pytest.raises(ShapeError, match="v must be an integer of at least 0"):
        ts.bessel_jn(1.0, v=-1)
