"""Systems of equations with one matrix for all entries of a batch, and ranks that data decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BatchingError
from tenferro.extension import apply
from tenferro.linalg.determinant import Adjugate, Determinant
from tenferro.linalg.lu import Lu, PivotsToPermutation
from tenferro.linalg.matrix_functions import HermitianFunction
from tenferro.linalg.pinv import Pinv
from tenferro.linalg.schur import Schur
from tenferro.linalg.solve import Inverse, LuSolve
from tenferro.linalg.subspaces import BlockSylvester, EighBlock, SvdBlock
from tenferro.linalg.svd import Svd
from tenferro.linalg.svd_truncate import SvdTruncated
from tenferro.linalg.triangular_solve import TriangularSolve, TridiagonalSolve
from tenferro.ops.extension import Extension, ExtensionOp
from tenferro.testing import CLAUSES, check_extension
from tests.linalg.matrices import Array

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
LEFT, RIGHT = RNG.normal(size=(4, 3, 2)), RNG.normal(size=(4, 2, 3))
SYSTEMS: dict[str, tuple[Any, Array]] = {
    "solve": (lambda b: tn.linalg.solve(A, b), LEFT),
    "solve one vector": (lambda b: tn.linalg.solve(A, b), LEFT[..., 0]),
    "positive": (lambda b: tn.linalg.solve(A @ A.T, b, assume_a="pos"), LEFT),
    "triangular": (lambda b: tn.linalg.solve_triangular(A, b, trans="T"), LEFT),
    "on the right": (lambda b: apply(TriangularSolve(left=False), A, b), RIGHT),
    "tridiagonal": (lambda b: tn.linalg.tridiagonal_solve(A[0], A[0] + 5, A[1], b), LEFT),
    "in batches": (lambda b: tn.linalg.solve(np.stack([A, A.T]), b), np.stack([LEFT, 2 * LEFT], 1)),
}


def families(program: Any) -> list[tuple[str, int]]:
    """The families of a program, each with the rank of its last operand."""
    metas = dict(zip(program.input_slots, program.input_metas, strict=True))
    metas |= {slot: meta for step, meta in program.results() for slot in step.output_slots}
    return [
        (step.op.label, metas[step.input_slots[-1]].rank) for step in program.steps_of(Extension)
    ]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_batch_of_right_sides_is_solved_with_one_matrix(name: str) -> None:
    function, b = SYSTEMS[name]
    batched = tn.vmap(function)
    expected = np.stack([np.asarray(function(each)) for each in b])
    np.testing.assert_allclose(tn.jit(batched, executor="numpy")(b), expected, rtol=1e-12)
    spec = tn.TensorSpec(b.shape)
    alone = tn.make_program(function, tn.TensorSpec(b.shape[1:])).exec_program
    program = tn.make_program(batched, spec).exec_program
    assert families(program) == families(alone)
    named = tn.TensorSpec(("s", *b.shape[1:]))
    program = tn.make_program(batched, named)
    assert families(program.exec_program) == families(alone)
    (found,) = tn.GraphExecutor(tn.NumpyBackend()).run(program, {"b": b})
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_right_sides_whose_number_data_decide_are_a_batch_of_systems() -> None:
    def function(b: Any, count: Any) -> Any:
        columns = tn.dynamic_truncate(b, count, 2)
        solved = tn.vmap(lambda each: apply(TriangularSolve(), A, each))(columns)
        return tn.sum(solved, axis=2)

    program = tn.make_program(function, tn.TensorSpec((4, 3, 2)), tn.TensorSpec((), "int64"))
    bindings = {"b": LEFT, "count": np.array(1)}
    (found,) = tn.GraphExecutor(tn.NumpyBackend()).run(program, bindings)
    np.testing.assert_allclose(found, np.linalg.solve(np.tril(A), LEFT)[..., 0], rtol=1e-12)


def test_one_factorization_serves_all_rows_of_a_jacobian() -> None:
    def rows(a: Any, b: Any, seeds: Any) -> Any:
        _, pull = tn.vjp(lambda a: tn.linalg.solve(a, b), a)
        return tn.vmap(pull)(seeds)

    specs = [tn.TensorSpec(shape) for shape in ((3, 3), (3,), (3, 3))]
    program = tn.make_program(rows, *specs).exec_program
    assert [label for label, _ in families(program)] == ["lu", "lu_solve", "lu_solve"]


def test_ranks_of_entries_may_differ_where_columns_are_filled_with_zeros() -> None:
    def function(a: Any, rank: Any) -> Any:
        u, b, v = apply(SvdTruncated(), a, *apply(Svd(), a), rank)
        return u @ b @ v.mT

    a, ranks = RNG.normal(size=(3, 4, 3)), np.array([1, 3, 2])
    found = tn.jit(tn.vmap(function), executor="numpy")(a, ranks)
    expected = np.stack([np.asarray(function(x, rank)) for x, rank in zip(a, ranks, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    with pytest.raises(BatchingError, match="the size differs from entry to entry"):
        tn.vmap(lambda x: tn.linalg.svd_truncate(x, cutoff=0.5)[1])(a)


def factored(a: Array, *others: Array) -> list[Array]:
    packed, _, permutation = Lu().eager_execute([a])
    return [a, packed, permutation, *others]


POSITIVE, TALL = A @ A.T, LEFT[0]
W, V = np.linalg.eigh(POSITIVE / 9)
U, S, VH = np.linalg.svd(TALL, full_matrices=False)
COMPLEX = A + 1j * A.T
CHECKED: list[tuple[ExtensionOp, list[Array], list[int]]] = [
    (LuSolve(), factored(A, TALL), [0, 3]),
    (LuSolve("c"), factored(COMPLEX, TALL + 0j), [0, 3]),
    (LuSolve(kind="pos"), [POSITIVE, np.linalg.cholesky(POSITIVE), TALL], [0, 2]),
    (Inverse(), factored(A), [0]),
    (Determinant("slogdet"), factored(A), [0]),
    (Adjugate(1), factored(A, A.T), [0, 3]),
    (TriangularSolve(False, False, "t", True), [A, RIGHT[0]], [0, 1]),
    (TridiagonalSolve(), [A[0], A[1] + 5, A[2], TALL], [0, 1, 2, 3]),
    (PivotsToPermutation(), [np.array([1, 2, 2], np.int32)], []),
    (Pinv(given=True), [TALL, np.array(1e-9)], [0]),
    (HermitianFunction("exp", None, 1), [POSITIVE / 9, W, V, A], [0, 3]),
    (EighBlock(1), [POSITIVE / 9, W, V], []),
    (SvdBlock(1), [TALL, S, U, VH], [0]),
    (SvdTruncated(), [TALL, S, U, VH, np.array(1)], [0]),
    (BlockSylvester(1), [np.diag([1.0, 2.0, 3.0]), np.eye(2), TALL], [0, 1, 2]),
    (Svd(full_matrices=True), [TALL], [0]),
    (Schur(vectors=False), [A], []),
]
CHECKED_CLAUSES = (
    "payload", "arity", "inference", "reference", "rules",
    "jvp", "adjoint", "derivative types", "batch",
)  # fmt: skip


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize(("op", "inputs", "wrt"), CHECKED, ids=[str(op) for op, *_ in CHECKED])
def test_the_check_of_extensions_holds_on_batches(
    op: ExtensionOp, inputs: list[Array], wrt: list[int]
) -> None:
    skip = {clause.name for clause in CLAUSES}.difference(CHECKED_CLAUSES, {"batch of gradients"})
    report = check_extension(op, inputs=inputs, wrt=wrt, rules=tn.linalg.ad_rules(), skip=skip)
    assert (report["batch"].word, report["batch"].notes) == ("holds", ())
    assert report["batch of gradients"].word == ("holds" if wrt else "not checked")
