"""Sizes that must be equal are checked also where nothing reads the value that needs them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import GuardViolationError, ShapeError, TracingError

VECTORS = {"x": ("n",), "y": ("m",)}
SQUARE = {"x": ("n", "n"), "y": ("m", "k")}
SYSTEM = {"x": ("n", "n"), "y": ("m",)}
OBLONG = {"x": ("n", "m"), "y": ("k",)}
ARRAYS: dict[int, tuple[Any, Any]] = {
    id(VECTORS): (np.ones(2), np.ones(3)),
    id(SQUARE): (np.eye(2), np.eye(3)),
    id(SYSTEM): (np.eye(2), np.zeros(3, "int32")),
    id(OBLONG): (np.ones((2, 3)), np.ones(2)),
}

CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "einsum": (lambda x, y: tn.einsum("i,i->i", x, y), VECTORS),
    "einsum in order": (lambda x, y: tn.einsum("i,i->", x, y, optimize=False), VECTORS),
    "einsum, diagonal": (lambda x, y: tn.einsum("ii->i", x), OBLONG),
    "einsum, grad": (
        lambda x, y: tn.grad(lambda z: tn.einsum("i,i->", z, y))(x),
        VECTORS,
    ),
    "einsum, vmap": (
        lambda x, y: tn.vmap(lambda a: tn.einsum("i,i->", x * a, y))(tn.ones(4)),
        VECTORS,
    ),
    "multi_dot": (lambda x, y: tn.linalg.multi_dot([x[None], y[:, None]]), VECTORS),
    "tensordot": (lambda x, y: tn.tensordot(x, y, 1), VECTORS),
    "matmul, batch": (lambda x, y: x[:, None, None] @ y[:, None, None], VECTORS),
    "searchsorted": (lambda x, y: tn.searchsorted(x, 1.0, sorter=tn.argsort(y)), VECTORS),
    "interp": (lambda x, y: tn.interp(0.5, x, y), VECTORS),
    "average": (lambda x, y: tn.average(x, weights=y), VECTORS),
    "average of rows": (lambda x, y: tn.average(x[:, None], axis=0, weights=y), VECTORS),
    "solve": (lambda x, y: tn.linalg.solve(x, y), SQUARE),
    "lstsq": (lambda x, y: tn.linalg.lstsq(x, y).x, SQUARE),
    "solve_sylvester": (lambda x, y: tn.linalg.solve_sylvester(x, x, y), SQUARE),
    "solve_continuous_lyapunov": (
        lambda x, y: tn.linalg.solve_continuous_lyapunov(x, y),
        SQUARE,
    ),
    "expm_frechet": (lambda x, y: tn.linalg.expm_frechet(x, y).derivative, SQUARE),
    "tridiagonal_solve": (lambda x, y: tn.linalg.tridiagonal_solve(x, y, x, x), VECTORS),
    "lu_solve": (lambda x, y: tn.linalg.lu_solve((x, y), x), SYSTEM),
    "inv": (lambda x, y: tn.linalg.inv(x), OBLONG),
    "det": (lambda x, y: tn.linalg.det(x), OBLONG),
    "eigh": (lambda x, y: tn.linalg.eigh(x).eigenvalues, OBLONG),
    "eigvals": (lambda x, y: tn.linalg.eigvals(x), OBLONG),
    "cholesky": (lambda x, y: tn.linalg.cholesky(x), OBLONG),
    "expm": (lambda x, y: tn.linalg.expm(x), OBLONG),
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_that_must_be_equal_are_checked_where_the_value_is_dropped(case: str) -> None:
    function, sizes = CASES[case]
    arrays = ARRAYS[id(sizes)]
    for reads in (tn.zeros_like, lambda value: value.shape[0] if value.ndim else value.size):
        called = tn.jit(
            lambda x, y, reads=reads: reads(function(x, y)), symbolic=sizes, executor="numpy"
        )
        with pytest.raises(GuardViolationError, match=r"assumed \w+ == \w+, but \d != \d"):
            called(*arrays)


def test_equal_sizes_and_constant_sizes_of_one_pass() -> None:
    x, y = np.arange(3.0), np.arange(3.0) + 1

    def run(function: Any, symbolic: Any, *arrays: Any) -> Any:
        return tn.jit(function, symbolic=symbolic, executor="numpy")(*arrays).numpy()

    product = run(lambda x, y: tn.einsum("i,i->i", x, y), VECTORS, x, y)
    np.testing.assert_array_equal(product, x * y)
    repeated = {"x": ("n",), "y": (1,)}
    product = run(lambda x, y: tn.einsum("i,i->i", x, y), repeated, x, y[:1])
    np.testing.assert_array_equal(product, x)
    np.testing.assert_allclose(
        run(lambda x, y: tn.average(x, weights=y), VECTORS, x, y), np.average(x, weights=y)
    )
    np.testing.assert_allclose(
        run(lambda x, y: tn.interp(1.5, x, y), VECTORS, x, y), np.interp(1.5, x, y)
    )
    assert run(lambda x, y: tn.linalg.det(x), OBLONG, 2 * np.eye(3), y) == pytest.approx(8)


def test_a_contraction_refuses_sizes_that_certainly_differ() -> None:
    with pytest.raises(ShapeError, match=r"einsum: .* size n on .* and size n \+ 1 on"):
        tn.make_program(
            lambda x: tn.einsum("i,i->", x, tn.concat([x, tn.ones(1)])),
            tn.TensorSpec(("n",)),
        )


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("bincount: length", lambda n, x: tn.bincount(tn.astype(x, "int64"), length=n)),
        (
            "polyfit: the size of x, unless rcond is given,",
            lambda n, x: tn.polyfit(x, x, 1),
        ),
        ("hanning: M", lambda n, x: tn.hanning(n)),
        ("tril: k", lambda n, x: tn.tril(x[:, None], n - 2)),
    ],
)
def test_a_number_that_must_be_constant_is_refused_as_a_named_size(
    name: str, function: Callable[..., Any]
) -> None:
    with pytest.raises(TracingError, match=f"{name} must be a constant, got the named size n"):
        tn.make_program(lambda x: function(x.shape[0], x), tn.TensorSpec(("n",)))


def test_points_of_interp_and_the_sorter_of_searchsorted_fit() -> None:
    with pytest.raises(ShapeError, match="interp: xp and fp must not be empty"):
        tn.interp(1.0, [], [])
    with pytest.raises(ShapeError, match=r"searchsorted: .* must have equal sizes"):
        tn.searchsorted([1.0, 2.0], 1.0, sorter=[0, 1, 2])


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("endpoint", [True, False])
def test_geomspace_takes_a_named_number(size: int, endpoint: bool) -> None:
    x = np.zeros(size)

    def spaced(x: Any) -> Any:
        return tn.geomspace(1.0, 100.0, x.shape[0], endpoint)

    expected = np.geomspace(1.0, 100.0, size, endpoint)
    late = tn.jit(spaced, symbolic={"x": ("n",)}, executor="numpy")(x)
    np.testing.assert_allclose(late.numpy(), expected)
    np.testing.assert_allclose(spaced(x).numpy(), expected)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("norm: ord", lambda x, n: tn.linalg.norm(x, ord=n)),
        ("vector_norm: ord", lambda x, n: tn.linalg.vector_norm(x, ord=n)),
        ("random.choice: a", lambda x, n: tn.random.choice(tn.random.key(0), n)),
        ("random.permutation: x", lambda x, n: tn.random.permutation(tn.random.key(0), n)),
    ],
)
def test_a_traced_option_is_refused_by_its_name(name: str, function: Callable[..., Any]) -> None:
    with pytest.raises(TracingError, match=f"{name} must be known while tracing"):
        tn.jit(function, executor="numpy")(np.ones(3), 2)
