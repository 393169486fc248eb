"""Distributions against SciPy, and their gradients against differences of it."""

from __future__ import annotations

import importlib
import inspect
import pickle
from typing import Any

import jax
import numpy as np
import pytest
import scipy.stats

import tenferro as tn
from tenferro.errors import DTypeError, ShapeError
from tenferro.scipy import stats

X = np.array([-1.3, 0.2, 0.45, 0.8, 1.7, 4.2])
Q = np.array([0.05, 0.3, 0.5, 0.95])
K = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 7.0])
PLACED = {"loc": 0.1, "scale": 1.5}
SHAPES: dict[str, tuple[tuple[float, ...], dict[str, float]]] = {
    **dict.fromkeys(("norm", "uniform", "expon", "laplace", "logistic", "cauchy"), ((), PLACED)),
    **dict.fromkeys(("gumbel_l", "gumbel_r"), ((), PLACED)),
    "gamma": ((2.3,), PLACED),
    "beta": ((2.3, 1.4), PLACED),
    "chi2": ((3.2,), PLACED),
    "truncnorm": ((-1.0, 2.5), PLACED),
    "pareto": ((2.3,), {"loc": 0.1, "scale": 0.4}),
    "t": ((3.1,), PLACED),
    "gennorm": ((1.7,), {}),
    "vonmises": ((1.7,), {}),
    "wrapcauchy": ((0.3,), {}),
    "bernoulli": ((0.3,), {}),
    "binom": ((5.0, 0.3), {}),
    "nbinom": ((3.0, 0.3), {}),
    "geom": ((0.3,), {}),
    "poisson": ((1.4,), {}),
    "betabinom": ((5.0, 1.2, 2.3), {}),
}  # fmt: skip
CASES = [
    (name, f, (Q if f in ("ppf", "isf") else K if hasattr(getattr(stats, name), "pmf") else X))
    for name in SHAPES
    for f in getattr(stats, name).__all__
    if f != "entropy"
]
SAMPLES = ["ModeResult", "gaussian_kde", "mode", "rankdata", "sem"]
VECTORS = ["dirichlet", "multinomial", "multivariate_normal"]


def test_every_function_is_scipys() -> None:
    assert sorted([*SHAPES, *VECTORS, *SAMPLES]) == sorted(stats.__all__)

    def every(points: list[Any]) -> list[Any]:
        return [
            getattr(getattr(stats, name), f)(x, *SHAPES[name][0], **SHAPES[name][1])
            for (name, f, _), x in zip(CASES, points, strict=True)
        ]

    found = tn.jit(every, executor="numpy")([x for *_, x in CASES])
    for (name, f, x), value in zip(CASES, found, strict=True):
        if (name, f) == ("wrapcauchy", "pdf") or name != "wrapcauchy":
            shapes, placed = SHAPES[name]
            expected = getattr(getattr(scipy.stats, name), f)(x, *shapes, **placed)
            np.testing.assert_allclose(value, expected, 1e-10, 1e-13, err_msg=f"{name}.{f}")


@pytest.mark.parametrize(
    "name", ["gamma", "beta", "t", "pareto", "norm", "poisson", "binom", "truncnorm"]
)
def test_the_gradient_of_all_parameters_is_the_difference(name: str) -> None:
    shapes, placed = SHAPES[name]
    discrete = hasattr(getattr(stats, name), "pmf")
    f = getattr(stats, name).logpmf if discrete else getattr(stats, name).logpdf
    x = K[1:3] if discrete else X[2:4]

    def total(params: Any) -> Any:
        values = f(np.concatenate([x, [-2.0]]), *params, **placed)
        return tn.sum(tn.where(tn.isfinite(values), values, 0.0))

    params = np.array(shapes or (0.0,))[0 if shapes else 1 :]
    start = 1 if name in ("binom",) else 0
    found = np.asarray(tn.grad(lambda p: total([p[i] for i in range(len(params))]))(params))
    for i in range(start, len(params)):
        h = 1e-6 * np.eye(len(params))[i]
        expected = (total(params + h).item() - total(params - h).item()) / 2e-6
        np.testing.assert_allclose(found[i], expected, 1e-6, err_msg=f"{name} by {i}")


def test_the_normal_distribution_of_vectors_is_scipys() -> None:
    cov = np.array([[2.0, 0.3], [0.3, 1.0]])
    x, mean = np.array([[0.1, 0.2], [1.0, -1.0], [3.0, 2.0]]), np.array([0.5, -0.5])
    for f in ("pdf", "logpdf"):
        expected = getattr(scipy.stats.multivariate_normal, f)(x, mean, cov)
        for each in (cov, np.stack([cov] * 3)):
            found = getattr(stats.multivariate_normal, f)(x, mean, each)
            np.testing.assert_allclose(found, expected, 1e-12)
    slope = tn.grad(lambda m: stats.multivariate_normal.logpdf(x[0], m, cov))(mean)
    np.testing.assert_allclose(slope, np.linalg.solve(cov, x[0] - mean), 1e-12)
    with pytest.raises(ShapeError, match=r"^multivariate_normal.logpdf: takes vectors, vectors"):
        stats.multivariate_normal.logpdf(1.0, 2.0, 3.0)


def test_distributions_are_imported_as_those_of_jax_are() -> None:
    assert dir(stats) == sorted(stats.__all__)
    module: object = importlib.import_module("tenferro.scipy.stats.norm")
    assert module is stats.norm
    assert sorted(stats.norm.__all__) == [
        "cdf",
        "isf",
        "logcdf",
        "logpdf",
        "logsf",
        "pdf",
        "ppf",
        "sf",
    ]
    assert pickle.loads(pickle.dumps(stats.beta.sf)) is stats.beta.sf
    for name in SHAPES:
        ours, theirs = getattr(stats, name), getattr(jax.scipy.stats, name)
        for f in set(ours.__all__) & set(dir(theirs)):
            names = list(inspect.signature(getattr(theirs, f)).parameters)[1:]
            assert list(inspect.signature(getattr(ours, f)).parameters)[1:][: len(names)] == names


def test_arguments_have_the_names_of_jax() -> None:
    assert "concentrations `[n]`" in (stats.dirichlet.logpdf.__doc__ or "")
    assert stats.norm.ppf(q=0.5, loc=1.0).item() == 1
    assert stats.gamma.pdf(x=0.0, a=1.0, scale=2.0).item() == 0.5
    assert stats.poisson.entropy(mu=0.0).item() == 0
    incomplete: Any = stats.gamma.pdf
    with pytest.raises(TypeError, match=r"gamma\(\) missing 1 required positional argument: 'a'"):
        incomplete(1.0)
    with pytest.raises(DTypeError, match=r"^norm.cdf: takes real operands, got c128\[\]"):
        stats.norm.cdf(1j)
    with pytest.raises(AttributeError, match=r"stats.chi2' has no attribute 'ppf'; did you mean"):
        stats.chi2.ppf(0.5, 1.0)


def test_a_variance_stands_for_a_covariance() -> None:
    normal = tn.scipy.stats.multivariate_normal
    x, mean = np.array([1.0, 2.0, 0.5]), np.zeros(3)
    expected = scipy.stats.multivariate_normal.logpdf(x, mean, 2.5)
    np.testing.assert_allclose(normal.logpdf(x, mean, 2.5), expected)
    np.testing.assert_allclose(normal.logpdf(x, cov=2.5), expected)


def test_a_covariance_may_be_singular() -> None:
    ours, theirs = tn.scipy.stats.multivariate_normal, scipy.stats.multivariate_normal
    root = np.array([[1.0, 0.5], [0.2, -1.0], [0.7, 0.1]])
    cov, inside = root @ root.T, root @ np.array([0.3, -0.2])

    @tn.jit
    def found(x: Any, cov: Any) -> Any:
        return ours.logpdf(x, cov=cov, allow_singular=True), ours.entropy(None, cov)

    for x in (inside, inside + np.array([0.1, 0.0, 0.0])):
        for each in (cov, np.eye(3)):
            expected = theirs.logpdf(x, cov=each, allow_singular=True), theirs.entropy(cov=each)
            np.testing.assert_allclose(found(x, each), expected, 1e-10)
    assert ours.entropy().item() == theirs.entropy()
    point = np.array([0.01, -0.01], "float32")
    assert ours.logpdf(point, cov=np.ones((2, 2), "float32"), allow_singular=True) == -np.inf
    for wrong in (np.full((3, 3), np.nan), -np.eye(3)):
        assert np.isnan(found(inside, wrong)).all()
    assert np.isnan(found(inside * np.nan, cov)[0])

    def of_scale(scale: Any) -> Any:  # along matrices of one rank
        return ours.logpdf(inside, cov=cov * scale, allow_singular=True)

    square = inside @ np.linalg.pinv(cov) @ inside
    np.testing.assert_allclose(tn.grad(of_scale)(1.0), (square - 2) / 2, 1e-10)
    np.testing.assert_allclose(tn.grad(lambda s: ours.entropy(cov=cov * s))(1.0), 1.0, 1e-10)
