"""Functions of Hermitian matrices: values, and derivatives where eigenvalues are equal."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError
from tenferro.extension import Extension
from tenferro.linalg.matrix_functions import scalar_function
from tenferro.ops.functions import apply
from tests.linalg.derivative_checks import (
    Array,
    Derivatives,
    assert_right,
    direction,
    gaussian,
    hermitian,
    invariant,
)

POINTS = {
    "identity": [1, 1, 1, 1, 1, 1],
    "Kronecker": [2, 2, 2, 3, 3, 3],
    "mixed": [1, 1, 1, 2, 2, 4],
    "near": [1, 1 + 1e-11, 1 - 1e-11, 2, 2, 2 + 1e-11],
    "close": [1, 1 + 1e-4, 1 + 2.1e-4, 1.003, 1.001, 1.6],
    "simple": [0.5, 1, 2, 2.5, 3.3, 4],
}
FUNCTIONS: list[tuple[str, float | None]] = [
    ("abs", None),
    ("exp", None),
    ("inverse", None),
    ("log", None),
    ("power", 2.5),
    ("power", -2),
    ("power", 3),
    ("rsqrt", None),
    ("sign", None),
    ("sqrt", None),
    ("xlogx", None),
]
SCALAR = {
    "abs": np.abs,
    "exp": np.exp,
    "inverse": lambda w: 1 / w,
    "log": np.log,
    "rsqrt": lambda w: w**-0.5,
    "sign": np.sign,
    "sqrt": np.sqrt,
    "xlogx": lambda w: w * np.log(w),
}
INDEFINITE = ("abs", "exp", "inverse", "power", "sign")


def points(kind: str, name: str, parameter: float | None) -> Array:
    """A batch of matrices; of both signs where the function is defined for these."""
    signed = name in INDEFINITE and parameter != 2.5
    rows = [
        np.array(values, float) * ([1, 1, 1, -1, -1, 1] if signed else 1)
        for values in POINTS.values()
    ]
    return np.stack([hermitian(row, kind) for row in rows])


@pytest.mark.exhaustive(but=6)
@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize(("name", "parameter"), FUNCTIONS)
def test_derivatives_are_right_where_eigenvalues_are_equal(
    name: str, parameter: float | None, kind: str
) -> None:
    x = points(kind, name, parameter)
    w, v = np.linalg.eigh(x)
    h = w**parameter if parameter is not None else SCALAR[name](w)
    y = tn.linalg.funm_hermitian(x, name, parameter)
    np.testing.assert_allclose(
        y, (v * h[:, None]) @ np.conj(v.swapaxes(-1, -2)), rtol=1e-11, atol=1e-11
    )
    losses = Derivatives(lambda x: invariant(tn.linalg.funm_hermitian(x, name, parameter), kind))
    assert_right(losses.errors(x, direction(x, kind)))


@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize("name", ["step", "keep"])
def test_projectors_have_derivatives_across_the_cut_only(name: str, kind: str) -> None:
    x = np.stack([hermitian(POINTS[point], kind) for point in ("Kronecker", "mixed", "near")])
    for count in (3, -3):
        losses = Derivatives(
            lambda x, c=count: invariant(tn.linalg.funm_hermitian(x, name, c), kind)
        )
        assert_right(losses.errors(x, direction(x, kind)))


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "rsqrt", "power"])
def test_the_third_derivative_is_right(name: str) -> None:
    parameter = 1.5 if name == "power" else None
    x, d = hermitian(POINTS["mixed"], "f"), direction(np.eye(6), "f")

    def along(function: Any) -> Any:
        return lambda t: tn.jvp(function, (t,), (1.0,))[1]

    def total(t: Any) -> Any:
        y = tn.linalg.funm_hermitian(x + t * d, name, parameter)
        return tn.sum(y * gaussian((6, 6), "f", 1))

    second = along(along(total))
    step = 1e-3
    expected = (float(second(step)) - float(second(-step))) / (2 * step)
    np.testing.assert_allclose(float(along(second)(0.0)), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_value_gradient_and_hessian_product_use_one_factorization(executor: str) -> None:
    def loss(x: Any) -> Any:
        return tn.sum(tn.linalg.sqrtm(x, assume_a="her") ** 3) + tn.sum(
            tn.linalg.logm(x, assume_a="her") ** 2
        )

    def everything(x: Any, d: Any) -> Any:
        return loss(x), tn.grad(loss)(x), tn.hvp(loss, x, d), tn.linalg.eigvalsh(x)

    spec = tn.TensorSpec(("n", "n"), "float64")
    steps = tn.make_program(everything, spec, spec).exec_program.instructions
    labels = [step.op.label for step in steps if isinstance(step.op, Extension)]
    assert labels.count("eigh") == 1
    x, d = hermitian(POINTS["mixed"], "f"), direction(np.eye(6), "f")
    results = tn.jit(everything, executor=executor)(x, d)
    eager = everything(x, d)
    for result, expected in zip(results, eager, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-10)


def test_a_zero_eigenvalue_has_a_root_but_no_derivative() -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_allclose(
        tn.linalg.sqrtm(singular, assume_a="her"), singular / 5**0.5, atol=1e-15
    )
    assert np.isinf(tn.grad(lambda x: tn.sum(tn.linalg.sqrtm(x, assume_a="her")))(np.zeros((1, 1))))
    gradient = tn.grad(lambda x: tn.sum(tn.linalg.sqrtm(x, assume_a="her")))
    both = gradient(np.stack([singular, np.eye(2)]))
    assert not np.isfinite(both[0]).any()
    np.testing.assert_array_equal(both[1], gradient(np.stack([np.eye(2)]))[0])


@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [("sign", None, [0, 0, 1]), ("abs", None, [0, 1, 1]), ("step", 1, [1, 1, 2])],
)
def test_where_there_is_no_derivative_it_is_nan(
    name: str, parameter: float | None, values: list[float]
) -> None:
    x = np.stack([hermitian(values, "f"), hermitian([-1, 1, 3], "f")])
    gradient = tn.grad(
        lambda x: tn.sum(tn.linalg.funm_hermitian(x, name, parameter) * gaussian((3, 3), "f", 1))
    )(x)
    assert np.isnan(gradient[0]).all()
    assert np.isfinite(gradient[1]).all()


def test_negative_eigenvalues_have_no_real_logarithm_or_root() -> None:
    x = np.diag([1.0, -1.0])
    for name, parameter in (("log", None), ("sqrt", None), ("power", 0.3), ("xlogx", None)):
        assert np.isnan(tn.linalg.funm_hermitian(x, name, parameter)).all()
        gradient = tn.grad(lambda x, n=name, p=parameter: tn.sum(tn.linalg.funm_hermitian(x, n, p)))
        assert np.isnan(gradient(x)).all()


def entropy(rho: Any) -> Any:
    """−tr ρ log ρ."""
    return -tn.sum(tn.diagonal(tn.linalg.funm_hermitian(rho, "xlogx")))


def fidelity(rho: Any, sigma: Array) -> Any:
    """(tr √(√σ ρ √σ))²."""
    root = tn.linalg.sqrtm(sigma, assume_a="her")
    return tn.sum(tn.diagonal(tn.linalg.sqrtm(root @ rho @ root, assume_a="her"))) ** 2


def test_entropy_and_fidelity_at_the_maximally_mixed_state() -> None:
    n = 4
    mixed, d = np.eye(n) / n, direction(np.eye(n), "f")
    d = d + d.T
    np.testing.assert_allclose(entropy(mixed), np.log(n), rtol=1e-14)
    np.testing.assert_allclose(tn.grad(entropy)(mixed), (np.log(n) - 1) * np.eye(n), atol=1e-14)
    np.testing.assert_allclose(tn.hvp(entropy, mixed, d), -n * d, atol=1e-13)
    # with σ = 1/n, F(ρ) = (tr √ρ)² / n
    loss = lambda rho: fidelity(rho, mixed)  # noqa: E731
    np.testing.assert_allclose(loss(mixed), 1.0, rtol=1e-14)
    np.testing.assert_allclose(tn.grad(loss)(mixed), np.eye(n), atol=1e-13)
    trace = np.trace(d)
    np.testing.assert_allclose(
        tn.hvp(loss, mixed, d), trace / 2 * np.eye(n) - n * d / 2, atol=1e-12
    )


def test_errors_say_what_is_wrong() -> None:
    x = np.eye(2)
    with pytest.raises(ConfigError, match=r"there is no function 'tan'; there are abs, exp, inv"):
        tn.linalg.funm_hermitian(x, "tan")
    with pytest.raises(ConfigError, match="power takes an exponent, got None"):
        tn.linalg.funm_hermitian(x, "power")
    with pytest.raises(ConfigError, match="exp takes no parameter, got 2"):
        tn.linalg.funm_hermitian(x, "exp", 2)
    with pytest.raises(ConfigError, match=r"step takes a number of eigenvalues, got 0\.5"):
        tn.linalg.funm_hermitian(x, "step", 0.5)
    with pytest.raises(ConfigError, match="logm: assume_a must be 'gen' or 'her', got 'x'"):
        tn.linalg.logm(x, assume_a="x")
    with pytest.raises(ShapeError, match=r"funm_hermitian: takes square matrices, got f64\[2,3\]"):
        tn.linalg.funm_hermitian(np.ones((2, 3)), "exp")


SPECTRUM = np.sort([*POINTS["close"], *POINTS["near"], 1 + 7e-4, 30.0])


@pytest.mark.parametrize(
    ("name", "parameter", "w"),
    [
        ("exp", None, SPECTRUM),
        ("log", None, SPECTRUM),
        ("power", 0.3, SPECTRUM),
        ("power", 2.5, np.concatenate([[0.0, 0, 1e-13, 1e-6], SPECTRUM])),
        ("power", 3, np.concatenate([[-2.0, -1, -1 + 1e-9, 0, 0, 1e-13], SPECTRUM])),
        ("power", -2, np.concatenate([[-2.0, -1, -1 + 1e-9], SPECTRUM])),
        ("xlogx", None, np.concatenate([[1e-9, 1e-9 + 1e-13, 1e-6], SPECTRUM])),
        ("sign", None, np.array([-2.0, -2, -1, 1e-3, 1, 1, 4])),
        ("abs", None, np.array([-2.0, -2, -1, 1e-3, 1, 1, 4])),
        ("step", 3, np.array([-2.0, -2, -1, 1e-3, 1, 1, 4])),
    ],
)
def test_the_second_differences_are_sums_of_products(
    name: str, parameter: float | None, w: Array
) -> None:
    function = scalar_function(name, parameter)

    def both(given: Any) -> Any:
        ones = given * 0 + np.ones((len(w), 1))
        terms = [ones if x is None else x for term in function.second(given) for x in term]
        return (function.table(given, 2), *terms)

    table, *factors = (np.asarray(x) for x in apply(both, w))
    triples = [np.broadcast_arrays(*factors[at : at + 3]) for at in range(0, len(factors), 3)]
    found = sum(np.einsum("ij,jk,ik->ijk", *triple) for triple in triples)
    half = (w[:, None] <= w)[:, None, :]
    np.testing.assert_allclose(found * half, table * half, rtol=0, atol=1e-11 * np.abs(table).max())


@pytest.mark.parametrize(("name", "parameter"), [("power", 0.3), ("xlogx", None), ("abs", None)])
def test_the_second_derivative_needs_the_memory_of_matrices(
    name: str, parameter: float | None
) -> None:
    def loss(x: Any) -> Any:
        return tn.sum(tn.linalg.funm_hermitian(x, name, parameter) ** 2)

    n = 48
    product = tn.jit(lambda x, d: tn.hvp(loss, x, d), executor="numpy")
    x, d = hermitian(np.linspace(1, 2, n), "f"), np.ones((n, n))
    product(x, d)
    tracemalloc.start()
    product(x, d)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes * n
