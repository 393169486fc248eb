"""What only derivatives ask for is left out of programs that are run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import NATIVE, StopGradientRemoval, optimize_for
from tenferro.ir import ExecProgram
from tenferro.ops import BroadcastInDim, DotGeneral, StopGradient
from tests.programs import assert_rewrites

P = np.array([True, False, True, True, False])
X, W = np.arange(20.0).reshape(5, 4) / 9, np.sin(np.arange(16.0)).reshape(4, 4)


def branch(p: Any, x: Any, w: Any) -> Any:
    return tn.cond(p, lambda: tn.tanh(w @ x), lambda: w.T @ x)


def integer_branch(p: Any, x: Any, w: Any) -> Any:
    return tn.cond(p, lambda: tn.astype(w, int) @ tn.astype(x, int), lambda: tn.astype(w @ x, int))


def rounds(p: Any, x: Any, w: Any) -> Any:
    return tn.while_loop(
        lambda state: state[0] > x[0] * p,
        lambda state: (state[0] - 1, branch(p, state[1], w)),
        (3.0, x),
        max_steps=4,
    )[1]


def complex_branch(p: Any, x: Any, w: Any) -> Any:
    return branch(p, x * 1j, w + 0j)


def entries(one: Any) -> Any:
    return tn.vmap(one, in_axes=(0, 0, None))


def weight(one: Any) -> Any:
    return lambda p, x, w: tn.grad(lambda w: tn.sum(tn.real(entries(one)(p, x, w))))(w)


def run_program(function: Any) -> ExecProgram:
    program = tn.make_program(function, P, X, W).exec_program
    return optimize_for(program, NATIVE)


def test_a_program_that_is_run_stops_no_gradient() -> None:
    assert_rewrites(
        StopGradientRemoval(),
        before="""
            exec_program(%0: bool[3], %1: f64[3]) {
              %2: f64[3] = stop_gradient %1
              %3: f64[3] = select %0, %1, %2
              return %3
            }""",
        after="""
            exec_program(%0: bool[3], %1: f64[3]) {
              %3: f64[3] = select %0, %1, %1
              return %3
            }""",
    )


def test_a_program_that_is_differentiated_later_stops_gradients() -> None:
    program = tn.make_program(lambda x: x * tn.lax.stop_gradient(x), tn.TensorSpec((), "float64"))
    assert program.exec_program.has_op(StopGradient)
    assert tn.grad(tn.loads(tn.dumps(program)))(1.5) == 1.5


@pytest.mark.parametrize("one", [branch, complex_branch, integer_branch, rounds])
def test_weights_that_entries_of_a_batch_share_are_not_copied(one: Any) -> None:
    for body in run_program(entries(one)).walk():
        assert not any(step.op.lhs_batch for step in body.steps_of(DotGeneral))
        assert all(len(step.op.shape) < 3 for step in body.steps_of(BroadcastInDim))
    expected = [np.asarray(one(p, x, W)) for p, x in zip(P, X, strict=True)]
    np.testing.assert_allclose(tn.jit(entries(one), executor="numpy")(P, X, W), expected)


def test_they_are_not_copied_in_a_batch_of_batches() -> None:
    def whole(p: Any, x: Any, w: Any) -> Any:
        return tn.vmap(entries(branch), in_axes=(0, None, None))(p, x, w)

    several = np.array([P, ~P, P])
    program = optimize_for(tn.make_program(whole, several, X, W).exec_program, NATIVE)
    shapes = [step.output_metas[0].static_shape for step in program.steps_of(DotGeneral)]
    assert shapes == [(5, 4), (5, 4)]  # nor are their products, which are the same for all batches
    expected = [[branch(p, x, W) for p, x in zip(row, X, strict=True)] for row in several]
    np.testing.assert_allclose(tn.jit(whole, executor="numpy")(several, X, W), expected)


@pytest.mark.parametrize("one", [branch, complex_branch])
def test_their_cotangent_is_one_product_for_each_branch(one: Any) -> None:
    program = run_program(weight(one))
    sizes = [meta.static_shape for meta in program.slot_metas() if meta is not None]
    assert all(shape is not None and len(shape) < 3 for shape in sizes)
    singles = [tn.grad(lambda w, i=i: tn.sum(tn.real(one(P[i], X[i], w))))(W) for i in range(5)]
    gradient = tn.jit(weight(one), executor="numpy")(P, X, W)
    np.testing.assert_allclose(gradient, np.sum([np.asarray(each) for each in singles], axis=0))


def test_a_branch_that_is_not_taken_adds_no_nan_to_their_cotangent() -> None:
    def guarded(p: Any, x: Any, w: Any) -> Any:
        return tn.cond(p, lambda: tn.sqrt(w @ x), lambda: w @ x)

    whole = tn.jit(weight(guarded), executor="numpy")
    assert np.isfinite(np.asarray(whole(P, np.where(P[:, None], X, -X), abs(W)))).all()
