"""Systems of equations and inverses: values of NumPy, gradients of JAX, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError, TenferroError
from tenferro.runtime import NUMPY_EXECUTOR
from tests.in_jax import in_jax
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64", "complex64", "complex128")
RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float64") -> Array:
    values = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.normal(size=shape)
    return values.astype(dtype)


def regular(*shape: int, dtype: str = "float64") -> Array:
    return normal(*shape, dtype=dtype) + 3 * np.eye(shape[-1], dtype=dtype)


SHAPES = [
    ((3, 3), (3,)),
    ((3, 3), (3, 2)),
    ((2, 3, 3), (2, 3, 2)),
    ((2, 3, 3), (3,)),
    ((3, 3), (2, 2, 3, 1)),
    ((2, 1, 3, 3), (4, 3, 2)),
    ((1, 1), (1,)),
    ((0, 0), (0, 2)),
    ((2, 0, 0), (2, 0, 1)),
    ((0, 3, 3), (0, 3, 2)),
    ((3, 3), (3, 0)),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve_and_inv_are_those_of_numpy(dtype: str) -> None:
    for left, right in SHAPES:
        a, b = regular(*left, dtype=dtype), normal(*right, dtype=dtype)
        x = np.asarray(tn.linalg.solve(a, b))
        assert x.dtype == dtype
        assert_close(x, np.linalg.solve(a, b), rounding(dtype), f"{left} {right}")
        inverse = np.asarray(tn.linalg.inv(a))
        assert inverse.dtype == dtype
        assert_close(inverse, np.linalg.inv(a), rounding(dtype), f"{left}")


@pytest.mark.exhaustive
def test_xla_computes_the_same_for_all_shapes() -> None:
    matrices = [(regular(*left), normal(*right)) for left, right in SHAPES]

    def solved(pairs: Any) -> Any:
        return [(tn.linalg.solve(a, b), tn.linalg.inv(a)) for a, b in pairs]

    found = jax.tree.leaves(tn.jit(solved)(matrices))
    wanted = [x for a, b in matrices for x in (np.linalg.solve(a, b), np.linalg.inv(a))]
    for one, other in zip(found, wanted, strict=True):
        assert_close(np.asarray(one), other, rounding("float64"))


def test_integers_become_float64() -> None:
    x = tn.linalg.solve([[2, 0], [0, 4]], [2, 2])
    assert np.asarray(x).tolist() == [1.0, 0.5]
    assert np.asarray(tn.linalg.inv(np.eye(2, dtype=bool))).dtype == np.float64


def weighted(x: Any) -> Any:
    """A real number of an array of any dtype, with different weights for its elements."""
    library = jnp if isinstance(x, jax.Array) else tn
    weights = np.cos(np.arange(np.prod(x.shape))).reshape(x.shape)
    return (library.real(x * x) * weights + library.imag(x) * weights).sum()


Losses = Callable[[Any], Callable[[Any, Any], Any]]
LOSSES: dict[str, Losses] = {
    "solve": lambda library: lambda a, b: weighted(library.linalg.solve(a, b)),
    "inv": lambda library: lambda a, b: weighted(library.linalg.inv(a) @ b),
    "tensorsolve": lambda library: (
        lambda a, b: weighted(library.linalg.tensorsolve(a[0].reshape(3, 3), b[0, :, 0]))
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "dtype", [pytest.param("float64", marks=pytest.mark.exhaustive), "complex128"]
)
def test_gradients_are_the_conjugates_of_those_of_jax(name: str, dtype: str) -> None:
    a, b = regular(2, 3, 3, dtype=dtype), normal(2, 3, 2, dtype=dtype)
    found = tn.jit(tn.grad(LOSSES[name](tn), (0, 1)), executor=NUMPY_EXECUTOR)(a, b)
    theirs = in_jax(jax.grad(LOSSES[name](jnp), (0, 1)), a, b)
    for one, other in zip(found, theirs, strict=True):
        assert_close(np.asarray(one), np.conj(other), 10 * rounding(dtype))


def test_one_matrix_is_not_repeated_for_a_batch_of_right_sides() -> None:
    a, b = regular(3, 3), normal(4, 5, 3, 2)
    program = tn.make_program(
        tn.linalg.solve, tn.TensorSpec(("n", "n")), tn.TensorSpec(("k", "l", "n", "m"))
    )
    (x,) = tn.GraphExecutor(tn.NumpyBackend()).run(
        program, dict(zip([each.name for each in program.inputs], (a, b), strict=True))
    )
    assert_close(x, np.linalg.solve(a, b), rounding("f8"))
    assert "f64[k,l,n,n]" not in str(program.exec_program)


ASSUMED = ["sym", "her", "pos", "upper triangular", "lower triangular"]


def of_the_kind(kind: str, a: Any) -> Any:
    """The matrix that the assumption says."""
    match kind:
        case "sym":
            return (a + a.swapaxes(-1, -2)) / 2
        case "upper triangular":
            return tn.triu(a)
        case "lower triangular":
            return tn.tril(a)
    return (a + tn.conj(a).swapaxes(-1, -2)) / 2


@pytest.mark.parametrize("kind", ASSUMED)
def test_what_is_assumed_is_the_matrix_that_is_solved_and_differentiated(kind: str) -> None:
    a = normal(2, 3, 3, dtype="complex128") + 8 * np.eye(3)
    b = normal(2, 3, 2, dtype="complex128")

    def assumed(a: Any, b: Any) -> Any:
        return weighted(tn.linalg.solve(a, b, assume_a=kind))

    def plain(a: Any, b: Any) -> Any:
        return weighted(tn.linalg.solve(of_the_kind(kind, a), b))

    found = tn.jit(tn.value_and_grad(assumed, (0, 1)), executor=NUMPY_EXECUTOR)(a, b)
    wanted = tn.jit(tn.value_and_grad(plain, (0, 1)), executor=NUMPY_EXECUTOR)(a, b)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert_close(np.asarray(one), np.asarray(other), rounding("f8"))


def test_the_factor_of_what_is_not_positive_definite_is_nan_in_its_triangle() -> None:
    for n in (1, 2, 3, 5, 40):
        a = np.stack([np.eye(n), -np.eye(n)])
        expected = np.stack([np.eye(n), np.tril(np.full((n, n), np.nan))])
        for executor in ("numpy", "xla"):
            lower = tn.jit(tn.linalg.cholesky, executor=executor)(a)
            np.testing.assert_array_equal(lower, expected)
            upper = tn.jit(lambda a: tn.linalg.cholesky(a, upper=True), executor=executor)(a)
            np.testing.assert_array_equal(upper, np.swapaxes(expected, 1, 2))


def test_what_is_not_positive_definite_has_no_solution_by_cholesky() -> None:
    a = np.array([[[1.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [0.0, 4.0]]])
    for executor in (NUMPY_EXECUTOR, "xla"):
        solve = tn.jit(lambda a: tn.linalg.solve(a, np.ones(2), assume_a="pos"), executor=executor)
        x = np.asarray(solve(a))
        assert np.isnan(x[0]).all()
        assert_close(x[1], [0.5, 0.25], rounding("f8"))


def test_a_batch_of_right_sides_is_one_of_vectors_only_for_rank_1() -> None:
    with pytest.raises(ShapeError, match=r"differ in rows \(axis -2: 3 and 2\)"):
        tn.linalg.solve(np.ones((2, 3, 3)), np.ones((2, 3)))


def test_second_derivatives_are_right() -> None:
    a, e, b, h = regular(3, 3), normal(3, 3), normal(3, 2), 1e-5

    def gradient(a: Any) -> Any:
        return tn.grad(lambda a: weighted(tn.linalg.solve(a, b)) + weighted(tn.linalg.inv(a)))(a)

    found = np.asarray(tn.jvp(gradient, (a,), (e,))[1])
    slope = (np.asarray(gradient(a + h * e)) - np.asarray(gradient(a - h * e))) / (2 * h)
    assert_close(found, slope, 1e-7)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_a_traced_pivot_out_of_range_makes_its_own_matrix_nan(executor: str) -> None:
    a, b = regular(2, 3, 3), normal(2, 3, 1)
    factors = tn.linalg.lu_factor(a)
    wrong = np.array(factors.piv)
    wrong[1, 0] = 3

    def loss(packed: Any, pivots: Any, right: Any) -> Any:
        return tn.sum(tn.linalg.lu_solve((packed, pivots), right))

    gradients = tn.jit(tn.grad(loss, argnums=(0, 2)), executor=executor)
    good, bad = (gradients(factors.lu, pivots, b) for pivots in (factors.piv, wrong))
    for one, other in zip(good, bad, strict=True):
        np.testing.assert_array_equal(np.asarray(one)[0], np.asarray(other)[0])
        assert np.isfinite(one).all()
        assert np.isnan(np.asarray(other)[1]).any()


def test_tensorsolve_and_tensorinv_are_those_of_numpy() -> None:
    a, b = normal(2, 3, 6, 1), normal(2, 3)
    assert_close(tn.linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b), 1e-11)
    moved, axes = normal(3, 2, 6), (1, 0)
    right = np.linalg.tensorsolve(moved, np.ones(6), axes=axes)
    assert_close(tn.linalg.tensorsolve(moved, np.ones(6), axes), right, 1e-11)
    assert_close(tn.linalg.tensorinv(a, 2), np.linalg.tensorinv(a, 2), 1e-11)
    assert_close(tn.linalg.tensorinv(normal(4, 2, 2)[:], 1).shape, (2, 2, 4), 0)


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
def test_held_factors_solve_as_in_scipy(trans: Any) -> None:
    a, b = normal(3, 3, dtype="complex128"), normal(3, 2, dtype="complex128")
    factors = tn.linalg.lu_factor(a)
    assert np.asarray(factors.piv).tolist() == scipy.linalg.lu_factor(a)[1].tolist()
    code = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    wanted = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, trans=code)
    assert_close(tn.linalg.lu_solve(factors, b, trans), wanted, rounding("f8"))
    stack = tn.linalg.lu_solve(factors, normal(2, 3, 1), trans)
    assert stack.shape == (2, 3, 1)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 2)])
def test_lu_is_that_of_scipy(shape: tuple[int, ...]) -> None:
    a = normal(*shape)
    found = tn.linalg.lu(a)
    for one, other in zip(found, scipy.linalg.lu(a), strict=True):
        assert_close(np.asarray(one), other, rounding("f8"))
    pl, u = tn.linalg.lu(a, permute_l=True)
    assert_close(np.asarray(pl @ u), a, rounding("f8"))
    p, lower, upper = tn.jit(tn.linalg.lu)(a)
    assert_close(np.asarray(p @ lower @ upper), a, rounding("f8"))


def test_the_permutation_of_rows_without_columns_has_their_size() -> None:
    p, lower, upper = tn.linalg.lu(np.ones((2, 0)))
    assert (p.shape, lower.shape, upper.shape) == ((2, 2), (2, 0), (0, 0))


@pytest.mark.parametrize("lower", [False, True])
def test_held_factors_have_derivatives(lower: bool) -> None:
    a, b = regular(3, 3, dtype="complex128"), normal(3, dtype="complex128")
    a = a @ a.conj().T

    def by_lu(a: Any) -> Any:
        return weighted(tn.linalg.lu_solve(tn.linalg.lu_factor(a), b, 2 * lower))

    def by_cholesky(a: Any) -> Any:
        return weighted(tn.linalg.cho_solve(tn.linalg.cho_factor(a, lower), b))

    def direct(a: Any) -> Any:
        return weighted(tn.linalg.solve(tn.conj(a).T if lower else a, b))

    def positive(a: Any) -> Any:
        return weighted(tn.linalg.solve(a, b, assume_a="pos"))

    for one, other in ((by_lu, direct), (by_cholesky, positive)):
        found, wanted = (np.asarray(tn.grad(each)(a)) for each in (one, other))
        assert_close(found, wanted, 10 * rounding("f8"))


def test_tridiagonal_systems_are_solved() -> None:
    for n in (0, 1, 2, 5):
        dl, d, du = normal(2, n), normal(2, n) + 5, normal(n)
        b = normal(n, 3)
        t = np.zeros((2, n, n))
        for i in range(n):
            t[:, i, i] = d[:, i]
            if i:
                t[:, i, i - 1], t[:, i - 1, i] = dl[:, i], du[i - 1]
        for executor in (NUMPY_EXECUTOR, "xla"):
            x = tn.jit(tn.linalg.tridiagonal_solve, executor=executor)(dl, d, du, b)
            assert_close(x, np.linalg.solve(t, np.stack([b, b])), rounding("f8"), f"{n}")
    singular = tn.linalg.tridiagonal_solve(np.zeros(3), np.zeros(3), np.zeros(3), np.ones(3))
    assert np.isnan(np.asarray(singular)).all()


TWO = np.ones((2, 2))
COLUMN = np.ones((3, 1))
HALF = np.ones((2, 2), np.float16)
ERRORS: dict[str, tuple[Callable[[], Any], type[TenferroError], str]] = {
    "inv of a wide matrix": (
        lambda: tn.linalg.inv(np.ones((2, 3))),
        ShapeError,
        "inv: takes square matrices, got f64[2,3]",
    ),
    "inv of a vector": (
        lambda: tn.linalg.inv(np.ones(3)),
        ShapeError,
        "inv: takes matrices [..., m, n], got f64[3]",
    ),
    "inv of half precision": (
        lambda: tn.linalg.inv(HALF),
        DTypeError,
        "inv: takes single and double precision, got f16; convert it with astype(tn.float32)",
    ),
    "rows": (
        lambda: tn.linalg.solve(np.ones((3, 3)), np.ones((4, 2))),
        ShapeError,
        "solve: lhs f64[3,3] and rhs f64[4,2] differ in rows (axis -2: 3 and 4)",
    ),
    "a number": (
        lambda: tn.linalg.solve(TWO, 1.0),
        ShapeError,
        "solve: the right side must have an axis, got f64[]",
    ),
    "assume_a": (
        lambda: tn.linalg.solve(TWO, TWO, assume_a="x"),
        ConfigError,
        "solve: assume_a must be one of 'gen', 'sym', 'her', 'pos', 'upper triangular', "
        "'lower triangular', got 'x'",
    ),
    "trans": (
        lambda: tn.linalg.lu_solve(tn.linalg.lu_factor(TWO), TWO, trans=3),
        ConfigError,
        "lu_solve: trans must be 0, 1, 2, 'N', 'T' or 'C', got 3",
    ),
    "pivots": (
        lambda: tn.linalg.lu_solve((TWO, np.ones(2)), TWO),
        DTypeError,
        "lu_solve: pivots must be int32, got f64[2]; convert them with astype(tn.int32)",
    ),
    "a pivot out of range": (
        lambda: tn.linalg.lu_solve((TWO, np.array([0, 5], np.int32)), TWO),
        ConfigError,
        "lu_solve: pivots i32[2] of f64[2,2] must be from 0 to 1, got 5; pass what lu_factor",
    ),
    "a negative pivot": (
        lambda: tn.linalg.lu_solve((TWO, tn.asarray([-1, 1], dtype="int32")), TWO),
        ConfigError,
        "lu_solve: pivots i32[2] of f64[2,2] must be from 0 to 1, got -1; pass what lu_factor",
    ),
    "too few pivots": (
        lambda: tn.linalg.lu_solve((TWO, np.zeros(1, np.int32)), TWO),
        ShapeError,
        "lu_solve: lu f64[2,2] has 2 rows, but piv i32[1] has 1 pivot",
    ),
    "batches": (
        lambda: tn.linalg.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1))),
        ShapeError,
        "solve: operands have types f64[2,3,3] and f64[4,3,1]; their batch axes [2] and [4] do not "
        "broadcast",
    ),
    "batches of vectors": (
        lambda: tn.linalg.toeplitz(np.ones((2, 3)), np.ones((4, 3))),
        ShapeError,
        "toeplitz: operands have types f64[2,3] and f64[4,3]; their batch axes [2] and [4] do not",
    ),
    "batches of pivots": (
        lambda: tn.linalg.lu_solve((np.ones((2, 3, 3)), np.zeros((5, 3), np.int32)), COLUMN),
        ShapeError,
        "lu_solve: operands have types f64[2,3,3] and f64[3,1] and i32[5,3]; their batch axes [2] "
        "and [] and [5] do not broadcast",
    ),
    "tensorsolve": (
        lambda: tn.linalg.tensorsolve(np.ones((2, 3)), np.ones(2)),
        ShapeError,
        "tensorsolve: lhs f64[2,3] has 3 unknowns for 2 equations; they must be equally many",
    ),
    "tensorsolve, shapes": (
        lambda: tn.linalg.tensorsolve(np.ones((2, 2)), np.ones(3)),
        ShapeError,
        "tensorsolve: lhs f64[2,2] must begin with the shape of rhs f64[3]",
    ),
    "tensorinv": (
        lambda: tn.linalg.tensorinv(np.ones((2, 3, 5))),
        ShapeError,
        "tensorinv: the first 2 axes of f64[2,3,5] have 6 elements, the others 5; they must be "
        "equally many",
    ),
    "diagonals": (
        lambda: tn.linalg.tridiagonal_solve(np.ones(3), np.ones(3), np.ones(2), np.ones(3)),
        ShapeError,
        "tridiagonal_solve: diagonals and right side f64[3], f64[3], f64[2], f64[3] differ in rows",
    ),
    "ind": (
        lambda: tn.linalg.tensorinv(TWO, 0),
        ConfigError,
        "tensorinv: ind must be a positive integer, got 0",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_names_the_function_and_the_operands(case: str) -> None:
    call, kind, text = ERRORS[case]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_a_named_size_is_that_of_a_right_side_of_constant_size() -> None:
    y = np.array([1.0, 2.0])
    gradient = tn.grad(lambda a: tn.sum(tn.linalg.solve(a, y) ** 2))
    program = tn.make_program(gradient, tn.TensorSpec(("n", "m")))
    a = np.array([[4.0, 2.0], [2.0, 5.0]])
    (found,) = tn.GraphExecutor(tn.NumpyBackend()).run(program, {"a": a})
    np.testing.assert_allclose(found, gradient(a))
