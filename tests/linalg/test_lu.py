"""The families of LU: the contract, factors that are shared, and matrices that are singular."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.extension import ExtensionOp
from tenferro.linalg.cholesky import Cholesky
from tenferro.linalg.determinant import Adjugate, Determinant
from tenferro.linalg.lu import Lu, PivotsToPermutation
from tenferro.linalg.solve import Inverse, LuSolve
from tenferro.linalg.triangular_solve import TridiagonalSolve
from tenferro.ops.extension import Extension
from tenferro.runtime import NUMPY_EXECUTOR
from tenferro.testing import check_extension
from tenferro_xla.lowering.linalg import LOWERINGS
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
PIVOTS = np.array([[2, 1, 2], [0, 2, 2]], np.int32)


def normal(*shape: int, dtype: str = "f8") -> Array:
    values = RNG.normal(size=shape)
    return values + 1j * RNG.normal(size=shape) if dtype == "c16" else values


def factored(op: ExtensionOp, dtype: str, *further: tuple[int, ...]) -> tuple[Any, list[Array]]:
    """An op with a batch of matrices, their factors, and further random inputs."""
    a = normal(2, 3, 3, dtype=dtype)
    factors = Lu().eager_execute([a])[::2]
    if op == LuSolve(kind="pos"):
        a = a @ a.swapaxes(-1, -2).conj() + np.eye(3)
        factors = Cholesky().eager_execute([a])
    return op, [a, *factors, *(normal(*shape, dtype=dtype) for shape in further)]


CASES = [
    (Lu(), [normal(2, 3, 3, dtype="c16")]),
    (Lu(), [normal(4, 2)]),
    (Lu(), [normal(2, 2, 4)]),
    (PivotsToPermutation(), [PIVOTS]),
    factored(LuSolve(), "f8", (2, 3, 2)),
    factored(LuSolve("t"), "c16", (2, 3, 2)),
    factored(LuSolve("c"), "f8", (2, 3, 2)),
    factored(LuSolve(kind="pos"), "c16", (2, 3, 2)),
    factored(Inverse(), "c16"),
    factored(Determinant(), "f8"),
    factored(Determinant("slogdet"), "c16"),
    factored(Adjugate(), "f8"),
    factored(Adjugate(1), "c16", (2, 3, 3)),
    (
        TridiagonalSolve(),
        [*(normal(2, 4, dtype="c16") + k % 2 * 3 for k in range(3)), normal(2, 4, 3) + 0j],
    ),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("op", "inputs"), CASES, ids=[str(op) for op, _ in CASES])
def test_the_contract_of_extension_ops_is_kept(op: ExtensionOp, inputs: list[Array]) -> None:
    report = check_extension(
        op,
        inputs=inputs,
        rules=tn.linalg.ad_rules(),
        register_runtime=tn.linalg.register_runtime,
        register_xla=lambda registry: [
            registry.register(each.FAMILY_ID, lowering) for each, lowering in LOWERINGS.items()
        ],
        skip={"processes"},
    )
    assert report["adjoint" if op != PivotsToPermutation() else "reference"].word == "holds"


def loss(a: Any, b: Any) -> Any:
    solved = tn.sum(tn.linalg.solve(a, b) * b)
    return solved + tn.linalg.slogdet(a).logabsdet + tn.sum(tn.linalg.inv(a)) + tn.linalg.det(a)


def count(function: Any, *specs: tn.TensorSpec) -> list[str]:
    """The families in the program of a function, sorted."""
    program = tn.make_program(function, *specs)
    steps = program.exec_program.instructions
    return sorted(step.op.label for step in steps if isinstance(step.op, Extension))


@pytest.mark.parametrize("n", [3, "n"])
def test_value_gradient_and_hessian_have_one_factorization(n: int | str) -> None:
    specs = (tn.TensorSpec((n, n)), tn.TensorSpec((n,)))
    names = count(tn.value_and_grad(loss), *specs)
    assert names.count("lu") == 1
    assert names.count("inverse") == 1  # of inv, and of the gradient of slogdet
    assert names.count("lu_solve") == 2

    def product(a: Any, b: Any) -> Any:
        return tn.jvp(tn.grad(loss), (a, b), (a, b))

    assert count(product, *specs).count("lu") == 1


def test_an_lu_factorization_has_derivatives_of_any_sizes() -> None:
    """One program, traced for names of sizes, on both sides of m = n."""

    def total(a: Any) -> Any:
        p, lower, upper = tn.linalg.lu(a)
        return tn.sum(lower**3) + tn.sum(upper**2) + tn.sum(p)

    gradient = tn.jit(tn.grad(total), executor=NUMPY_EXECUTOR, symbolic={"a": ("m", "n")})
    for shape in ((3, 3), (4, 2), (2, 4), (0, 2), (1, 1)):
        a = normal(*shape)
        step, h = normal(*shape), 1e-5
        slope = (np.asarray(total(a + h * step)) - np.asarray(total(a - h * step))) / (2 * h)
        assert_close(np.sum(np.asarray(gradient(a)) * step), slope, 1e-6, str(shape))


def test_a_pivot_of_zero_is_left_in_u() -> None:
    a = np.array([[[0.0, 1.0], [0.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]])
    for executor in (NUMPY_EXECUTOR, "xla"):
        solve = tn.jit(tn.linalg.solve, executor=executor)
        both = np.asarray(solve(a, np.ones((2, 2, 1))))
        assert not np.isfinite(both[0]).all()
        assert both[1].tobytes() == np.asarray(solve(a[1:], np.ones((1, 2, 1))))[0].tobytes()
        sign, logabsdet = tn.jit(tn.linalg.slogdet, executor=executor)(a)
        assert np.asarray(sign).tolist() == [0.0, -1.0]
        assert np.asarray(logabsdet)[0] == -np.inf


def singular(n: int, rank: int, dtype: str) -> Array:
    return normal(n, rank, dtype=dtype) @ normal(rank, n, dtype=dtype)


def cofactors(a: Array) -> Array:
    """The adjugate by minors."""
    n = len(a)
    minors = [
        [np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) * (-1) ** (i + j) for i in range(n)]
        for j in range(n)
    ]
    return np.array(minors, a.dtype)


SINGULAR = [
    singular(n, rank, dtype) + near * normal(n, n, dtype=dtype)
    for dtype in ("f8", "c16")
    for n, rank in ((1, 0), (2, 1), (3, 2), (3, 1), (3, 0), (4, 3), (4, 2), (4, 1))
    for near in (0, 1e-13, 1e-9)
]


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", [NUMPY_EXECUTOR, "xla"], ids=["numpy", "xla"])
def test_the_gradient_of_a_singular_determinant_is_the_adjugate(executor: Any) -> None:
    gradient = tn.jit(tn.grad(lambda a: tn.real(tn.linalg.det(a))), executor=executor)
    matrices = SINGULAR if executor == NUMPY_EXECUTOR else SINGULAR[3:24:3]
    for a in matrices:
        assert_close(gradient(a), cofactors(a).conj().T, 1e-12, str(a.shape))


@pytest.mark.parametrize("executor", [NUMPY_EXECUTOR, "xla"], ids=["numpy", "xla"])
def test_the_hessian_of_a_singular_determinant_is_right(executor: Any) -> None:
    gradient = tn.grad(lambda a: tn.real(tn.linalg.det(a)))
    along = tn.jit(lambda a, e: tn.jvp(gradient, (a,), (e,))[1], executor=executor)
    matrices = SINGULAR if executor == NUMPY_EXECUTOR else SINGULAR[6:18:6]
    for a in matrices:
        e, h = normal(*a.shape, dtype=a.dtype.str[1:]), 1e-3
        near, far = ([cofactors(a + k * h * e) for k in (j, -j)] for j in (1, 2))
        slope = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * h)
        assert_close(along(a, e), slope.conj().T, 1e-9, f"{a}")


@pytest.mark.exhaustive
def test_the_third_derivative_of_a_determinant_is_right_at_any_rank() -> None:
    def third(a: Array, e: Array) -> Any:
        result = tn.linalg.det
        for _ in range(3):
            result = (lambda f: lambda x: tn.jvp(f, (x,), (e,))[1])(result)
        return result(a)

    e = np.diag([1.0, 2.0, 3.0])
    for a in (np.eye(3) + 0.0, singular(3, 2, "f8"), np.zeros((3, 3))):
        assert_close(third(a, e), 36.0, rounding("f8"))  # six times det(e)


@pytest.mark.exhaustive
def test_a_nan_in_one_matrix_leaves_the_others_as_they_are() -> None:
    a = normal(3, 4, 4)
    broken = a.copy()
    broken[1, 2, 3] = np.nan
    for executor in (NUMPY_EXECUTOR, "xla"):
        for function in (
            tn.linalg.inv,
            tn.linalg.det,
            tn.grad(lambda x: tn.sum(tn.linalg.inv(x))),
            tn.grad(lambda x: tn.sum(tn.linalg.det(x))),
        ):
            run = tn.jit(function, executor=executor)
            good, found = np.asarray(run(a)), np.asarray(run(broken))
            assert good[::2].tobytes() == found[::2].tobytes()
            assert np.isnan(found[1]).any()
