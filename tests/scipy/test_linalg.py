"""`tn.scipy.linalg`: SciPy's defaults."""

import numpy as np
import pytest
import scipy.linalg

import tenferro as tn
from tenferro.errors import ConfigError

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
TALL = np.arange(6.0).reshape(3, 2) ** 2


@pytest.mark.parametrize("lower", [False, True])
def test_factors_and_values_are_scipys(lower: bool) -> None:
    sl, tl = scipy.linalg, tn.scipy.linalg
    np.testing.assert_allclose(tl.cholesky(A, lower), sl.cholesky(A, lower), atol=1e-14)
    values = tl.eigh(np.tril(A) if lower else np.triu(A), lower=lower, eigvals_only=True)
    np.testing.assert_allclose(values, sl.eigh(A, eigvals_only=True), atol=1e-14)
    w, v = tl.eigh(A, lower=lower)
    np.testing.assert_allclose((v * w) @ v.mT, A, atol=1e-14)


@pytest.mark.parametrize("mode", ["full", "economic", "r"])
def test_modes_of_qr(mode: str) -> None:
    ours = tn.scipy.linalg.qr(TALL, mode=mode)
    expected = scipy.linalg.qr(TALL, mode=mode)
    assert isinstance(ours, tuple)
    assert [x.shape for x in ours] == [x.shape for x in expected]
    np.testing.assert_allclose(np.abs(ours[-1].numpy()), np.abs(expected[-1]), atol=1e-13)


def test_other_modes_are_refused() -> None:
    with pytest.raises(ConfigError, match="qr: mode must be one of full, economic, r"):
        tn.scipy.linalg.qr(TALL, mode="raw")


def test_complex_schur_forms_of_a_batch() -> None:
    forms = [scipy.linalg.schur(np.random.default_rng(i).normal(size=(4, 4))) for i in range(2)]
    t, z = (np.stack(each) for each in zip(*forms, strict=True))
    for basis in (z, z[0]):
        results = tn.scipy.linalg.rsf2csf(t, basis)
        for i in range(2):
            own = basis if basis.ndim == 2 else basis[i]
            for actual, reference in zip(results, scipy.linalg.rsf2csf(t[i], own), strict=True):
                np.testing.assert_allclose(actual[i], reference, atol=1e-10)
