"""Sparse Jacobians and Hessians: patterns, colours, and the matrices that they give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, ADRuleError, DTypeError, ExtentError, ShapeError
from tenferro.extension import (
    ExtensionAdRule,
    ExtensionOp,
    OutputMeta,
    Package,
    apply,
    family_id,
    inline,
)
from tenferro.transforms.jacobian_coloring import Colouring, coloured, star_coloured
from tenferro.transforms.jacobian_sparsity import Pattern

RNG = np.random.default_rng(11)
X = RNG.normal(size=8)
ENDS = np.array([0, 2, 4, 1, 7, 7]), np.array([1, 3, 5, 5, 0, 6])
jit = partial(tn.jit, executor="numpy")


def rosenbrock(x: Any) -> Any:
    return tn.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def springs(x: Any) -> Any:
    return tn.sum((x[ENDS[0]] - x[ENDS[1]]) ** 4)


def arrow(x: Any) -> Any:
    return tn.sum(x[0] * x**3)


def same(found: Any, expected: Any, count: int | None = None) -> None:
    """Check that a sparse matrix is a dense one, and has no more values than said."""
    np.testing.assert_allclose(found.todense(), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        found.to_scipy().toarray(), np.reshape(expected, found.matrix_shape), rtol=1e-12, atol=1e-12
    )
    if count is not None:
        assert found.rows.size == count


@pytest.mark.parametrize(
    ("f", "values", "passes"),
    [(rosenbrock, 22, "forward 3"), (springs, 20, "forward 3"), (arrow, 22, "forward 2")],
)
def test_a_sparse_hessian_is_the_dense_one(f: Any, values: int, passes: str) -> None:
    found = tn.hessian(f, sparsity="auto")(X)
    same(found, tn.jacfwd(tn.grad(f))(X), values)
    assert repr(found) == f"SparseMatrix(f64[8,8], {values} values of 64, by {passes})"


def test_a_rule_for_cotangents_is_run_in_reverse() -> None:
    @tn.custom_vjp
    def by_hand(x: Any) -> Any:
        return x**3

    by_hand.defvjp(lambda x: (by_hand(x), by_hand(x)), lambda y, ct: (7.0 * y * ct,))
    found = tn.jacobian(by_hand, sparsity="auto")(X)
    same(found, np.diag(7.0 * X**3))
    assert repr(found).endswith("by reverse 8)")
    same(tn.hessian(lambda x: tn.sum(by_hand(x)), sparsity="auto")(X), np.diag(49.0 * X**3))
    with pytest.raises(ADRuleError, match="has no forward mode"):
        tn.jacobian(by_hand, mode="forward", sparsity="auto")(X)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("wrapped", [lambda f: f, tn.checkpoint, tn.jit])
def test_a_rule_by_hand_need_not_have_a_symmetric_hessian(wrapped: Any) -> None:
    @tn.custom_vjp
    def by_hand(x: Any) -> Any:
        return tn.sum(x)

    def bwd(x: Any, ct: Any) -> Any:
        return (ct * tn.concatenate([tn.sum(x**2)[None], 5.0 * x[1:] * x[0]]),)

    by_hand.defvjp(lambda x: (by_hand(x), x), bwd)
    f = wrapped(by_hand)
    expected = np.diag(np.r_[0.0, np.full(39, 5.0 * 0.5)])
    expected[1:, 0] = 5.0 * np.arange(1.0, 40.0)
    x = np.r_[0.5, np.arange(1.0, 40.0)]
    expected[0] = 2.0 * x
    same(tn.hessian(f, sparsity="auto")(x), expected)
    np.testing.assert_allclose(tn.hessian(f)(x), expected)


@pytest.mark.parametrize(
    "f",
    [
        tn.checkpoint(lambda x: x[1:] * tn.sin(x[:-1])),
        lambda x: tn.cond(x[0] > 0, lambda y: y[1:] * y[:-1], lambda y: tn.sin(y[:-1]), x),
    ],
)
def test_programs_inside_of_ops_are_followed(f: Any) -> None:
    for x in (X, -X):
        found = tn.jacobian(f, sparsity="auto")(x)
        same(found, tn.jacfwd(f)(x))
        assert repr(found) == "SparseMatrix(f64[7,8], 14 values of 56, by forward 2)"
        assert "by forward 3" in repr(tn.hessian(lambda x: tn.sum(f(x)), sparsity="auto")(x))


@family_id(namespace="tests", name="lopsided", version=1)
@dataclass(frozen=True)
class Lopsided(ExtensionOp):
    """The sum of the elements, whose rule gives other derivatives."""

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> list[OutputMeta]:
        return [(input_dtypes[0], ())]

    def eager_execute(self, inputs: Any) -> list[Any]:
        return [np.sum(inputs[0])]


class LopsidedRule(ExtensionAdRule):
    family = Lopsided

    def linearize(self, op: Any, at: Any) -> Any:
        def tangent(x: Any, dx: Any) -> Any:
            return tn.sum(x**2) * dx[0] + 5.0 * x[0] * tn.sum(x[1:] * dx[1:])

        return (inline(at, tangent, *at.primal, *at.tangent),)


@pytest.mark.parametrize("wrapped", [lambda f: f, tn.checkpoint])
def test_a_rule_of_an_extension_need_not_have_a_symmetric_hessian(wrapped: Any) -> None:
    context = tn.AdContext(packages=(Package("tests", ops=(Lopsided,), rules=(LopsidedRule(),)),))
    f = wrapped(lambda x: apply(Lopsided(), x))
    x = np.r_[0.5, np.arange(1.0, 40.0)]
    expected = np.diag(np.r_[0.0, np.full(39, 5.0 * 0.5)])
    expected[1:, 0] = 5.0 * x[1:]
    expected[0] = 2.0 * x
    same(tn.hessian(f, sparsity="auto", ad_context=context)(x), expected)
    np.testing.assert_allclose(tn.hessian(f, ad_context=context)(x), expected)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[1:] * tn.exp(x[:-1]),
        lambda x: tn.cumsum(x.reshape(4, 2), axis=1) * x[0],
        lambda x: tn.flip(x).reshape(2, 4).T @ np.ones((2, 3)),
        lambda x: tn.concatenate([x[::2], tn.zeros(3), x[:2] * 2.0]),
        lambda x: tn.where(x > 0, x, 0.0).at[ENDS[0]].add(x[ENDS[1]] ** 2),
        lambda x: tn.diag(x) + tn.outer(x[:2], x[:2]).sum(),
        lambda x: tn.asarray([1.0, 2.0]),
    ],
)
def test_a_sparse_jacobian_is_the_dense_one(f: Any, mode: Any) -> None:
    same(tn.jacobian(f, mode=mode, sparsity="auto")(X), tn.jacfwd(f)(X))


def test_elements_that_nothing_is_added_to_have_rows() -> None:
    def f(p: Any) -> Any:
        return tn.sum(p["a"][np.array([1, 0])] ** 3) + tn.sum(p["b"] ** 2 * p["a"][2])

    p = {"a": RNG.normal(size=5), "b": RNG.normal(size=2)}
    found, expected = tn.hessian(f, sparsity="auto")(p), tn.jacfwd(tn.grad(f))(p)
    for row, column in (("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")):
        same(found[row][column], expected[row][column])


def test_the_direction_of_fewer_colours_is_taken() -> None:
    wide = tn.jacobian(lambda x: tn.concatenate([x, x[:1] * tn.ones(5)]), sparsity="auto")(X)
    tall = tn.jacobian(lambda x: x.at[0].set(tn.sum(x**2)), sparsity="auto")(X)
    assert "by forward 1" in repr(wide)
    assert "by reverse 2" in repr(tall)


def test_a_scan_is_followed_round_by_round() -> None:
    def heat(u: Any) -> Any:
        def step(u: Any, source: Any) -> Any:
            moved = u.at[1:-1].add(0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) * u[1:-1])
            return moved + source, moved[0]

        return tn.scan(step, u, tn.stack([u * 0.5, u**2]), reverse=True)

    last, firsts = tn.jacobian(heat, sparsity="auto")(X)
    dense_last, dense_firsts = tn.jacfwd(heat)(X)
    same(last, dense_last, int(np.count_nonzero(dense_last)))
    same(firsts, dense_firsts, int(np.count_nonzero(dense_firsts)))
    second = tn.hessian(lambda u: tn.sum(heat(u)[0]), sparsity="auto")(X)
    same(second, tn.jacfwd(tn.grad(lambda u: tn.sum(heat(u)[0])))(X))
    assert second.rows.size < 64


def test_while_loops_and_unknown_indices_make_a_dense_pattern() -> None:
    def rounds(x: Any) -> Any:
        return tn.while_loop(lambda c: c[0] < 0, lambda c: c + 1.0, x)

    found = tn.jacobian(rounds, sparsity="auto")(X)
    same(found, tn.jacfwd(rounds)(X), 64)
    assert repr(found) == "SparseMatrix(f64[8,8], 64 values of 64, by forward 8)"
    by_data = jit(lambda x, i: tn.jacobian(lambda x: x[i] ** 2, sparsity="auto")(x))
    same(by_data(X, ENDS[0]), tn.jacfwd(lambda x: x[ENDS[0]] ** 2)(X), 48)
    same(jit(lambda x: tn.jacobian(lambda x: x[ENDS[0]] ** 2, sparsity="auto")(x))(X),
         tn.jacfwd(lambda x: x[ENDS[0]] ** 2)(X), 6)  # fmt: skip


def test_trees_and_several_arguments() -> None:
    def f(p: Any, q: Any) -> Any:
        return {"a": p["x"] ** 2 * q, "b": (tn.sin(q) * 2.0, tn.zeros((0,)))}

    p, q = {"x": RNG.normal(size=3), "y": np.ones((2, 2))}, RNG.normal(size=3)
    sparse = tn.jacobian(f, (0, 1), sparsity="auto", chunk_size=1)(p, q)
    dense = tn.jacfwd(f, (0, 1))(p, q)
    same(sparse["a"][0]["x"], dense["a"][0]["x"], 3)
    same(sparse["a"][0]["y"], dense["a"][0]["y"], 0)
    same(sparse["b"][0][1], dense["b"][0][1], 3)
    assert sparse["b"][1][1].shape == (0, 3)
    second = tn.hessian(lambda p, q: tn.sum(f(p, q)["a"]), (0, 1), sparsity="auto")(p, q)
    expected = tn.jacfwd(tn.grad(lambda p, q: tn.sum(f(p, q)["a"]), (0, 1)), (0, 1))(p, q)
    same(second[0]["x"][1], expected[0]["x"][1], 3)
    same(second[1][0]["x"], expected[1][0]["x"], 3)


def test_complex_numbers() -> None:
    z = X * (1 + 2j)
    same(tn.jacobian(lambda z: z**2, holomorphic=True, sparsity="auto")(z), np.diag(2 * z))
    same(tn.jacobian(lambda z: tn.real(z * z.conj()), sparsity="auto")(z), np.diag(2 * z))
    same(tn.jacobian(lambda x: x * 1j, sparsity="auto")(X), np.eye(8) * 1j)
    with pytest.raises(DTypeError, match="jacobian: c128\\[8\\] is complex"):
        tn.jacobian(lambda z: z * 2, sparsity="auto")(z)


def test_within_other_transforms() -> None:
    sparse = tn.hessian(rosenbrock, sparsity="auto")
    same(jit(sparse)(X), tn.jacfwd(tn.grad(rosenbrock))(X))
    xs = np.stack([X, 2 * X])
    batch = tn.vmap(sparse)(xs)
    expected = np.stack([np.asarray(tn.jacfwd(tn.grad(rosenbrock))(x)) for x in xs])
    np.testing.assert_allclose(batch.todense(), expected, rtol=1e-12, atol=1e-12)
    with pytest.raises(ShapeError, match="to_scipy: the values have shape \\(2, 22\\), not"):
        batch.to_scipy()
    np.testing.assert_allclose(
        tn.grad(lambda x: tn.sum(sparse(x).values ** 2))(X),
        tn.grad(lambda x: tn.sum(tn.jacfwd(tn.grad(rosenbrock))(x) ** 2))(X),
    )
    rt = tn.EagerRuntime()
    recorded = sparse(rt.variable(X))
    np.testing.assert_allclose(recorded.todense().numpy(), expected[0], rtol=1e-12, atol=1e-12)


def test_it_is_not_an_array() -> None:
    matrix = tn.jacobian(lambda x: x * x, sparsity="auto")(np.ones(3))
    with pytest.raises(TypeError, match=r"a sparse matrix is not an array; .*todense\(\) is"):
        np.asarray(matrix)
    for product in (lambda: matrix @ np.ones(3), lambda: np.ones(3) @ matrix, lambda: matrix + 1):
        with pytest.raises(TypeError, match=r"unsupported operand type|does not support ufuncs"):
            product()


def test_a_large_hessian_has_no_dense_matrix_on_the_way() -> None:
    n = 10_000
    compiled = jit(tn.hessian(rosenbrock, sparsity="auto"))
    program = compiled.program(np.zeros(n)).exec_program  # type: ignore[attr-defined]
    assert max(meta.known_size for _, meta in program.results()) <= 4 * n
    assert compiled(np.ones(n)).rows.size == 3 * n - 2


def test_a_dense_matrix_with_few_places_in_a_row_is_coloured() -> None:
    x = RNG.normal(size=300)
    for transform, f in ((tn.hessian, rosenbrock), (tn.jacobian, lambda x: x[1:] * x[:-1] ** 2)):
        program = str(tn.make_program(transform(f), x))
        assert "jacobian: forward 3 by colours" in program or "2 by colours" in program
        expected = tn.jacfwd(tn.grad(f) if transform is tn.hessian else f)(x)
        np.testing.assert_allclose(transform(f)(x), expected, rtol=1e-12, atol=1e-12)


def random_places(shape: tuple[int, int], symmetric: bool) -> Any:
    full = RNG.random(shape) < RNG.random()
    return full | full.T if symmetric else full


def compressed(matrix: Any, colouring: Colouring) -> Any:
    """The columns of each colour, summed."""
    sums = np.zeros((matrix.shape[0], colouring.count))
    for column, colour in enumerate(colouring.colours):
        if colour >= 0:
            sums[:, colour] += matrix[:, column]
    return sums[colouring.rows, colouring.columns]


@pytest.mark.parametrize("seed", range(100))
def test_every_value_is_alone_in_the_compressed_matrix(seed: int) -> None:
    rows, columns = np.random.default_rng(seed).integers(0, 9, size=2)
    places = random_places((rows, columns), symmetric=False)
    pattern = Pattern(np.flatnonzero(places), rows, columns)
    matrix = RNG.normal(size=(rows, columns)) * places
    np.testing.assert_allclose(compressed(matrix, coloured(pattern)), matrix[places], atol=1e-14)
    places = random_places((columns, columns), symmetric=True)
    pattern = Pattern(np.flatnonzero(places), columns, columns)
    matrix = RNG.normal(size=(columns, columns))
    matrix = (matrix + matrix.T) * places
    found = compressed(matrix, star_coloured(pattern))
    np.testing.assert_allclose(found, matrix[places], atol=1e-14)


@pytest.mark.parametrize("sparsity", ["Auto", True, 1, "dense"])
def test_a_sparsity_is_none_or_auto(sparsity: Any) -> None:
    for name in ("jacobian", "hessian"):
        with pytest.raises(ADError) as caught:
            getattr(tn, name)(lambda x: x, sparsity=sparsity)
        assert str(caught.value) == f"{name}: sparsity must be None or 'auto', got {sparsity!r}"
    with pytest.raises(ADError, match="jacobian: mode='cross' is for dense Jacobians"):
        tn.jacobian(lambda x: x, mode="cross", sparsity="auto")


def test_a_pattern_that_no_memory_holds_is_refused() -> None:
    with pytest.raises(ExtentError, match="jacobian: of the 100000 x 100000 elements of the deriv"):
        tn.jacobian(lambda x: x * tn.sum(x), sparsity="auto")(np.zeros(100_000))
