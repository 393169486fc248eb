"""What the functions of loops and branches read from around them."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, ContextMismatch
from tenferro.ir import ExecOp, ExecProgram
from tenferro.ops.control_flow import Scan, Switch, While
from tenferro.runtime import TraceContext

BIG = np.arange(2000.0)
X = np.arange(3.0)
SPEC = tn.TensorSpec((3,), "float64")


def program(function: Any, *specs: Any) -> ExecProgram:
    return tn.make_program(function, *specs, options=tn.OptimizerOptions.none()).exec_program


def only(kind: type[ExecOp], function: Any, *specs: Any) -> Any:
    (op,) = program(function, *specs).ops_of(kind)
    return op


def test_values_of_the_enclosing_trace_come_first_among_the_operands() -> None:
    def f(x: Any, y: Any) -> Any:
        scaled = x * y
        return tn.scan(lambda c, row: (c + scaled * row, None), y, x)[0]

    op = only(Scan, f, SPEC, SPEC)
    assert (op.consts, op.carry) == (1, 1)
    assert len(op.body.input_slots) == 3
    np.testing.assert_array_equal(tn.jit(f, executor="numpy")(X, X).numpy(), X + (X * X) * X.sum())


def test_what_a_function_computes_of_its_closure_stays_inside() -> None:
    def f(x: Any) -> Any:
        return tn.cond(x[0] > 0, lambda: tn.exp(tn.sin(x)), lambda: tn.sin(x))

    op = only(Switch, f, SPEC)
    assert [len(branch.input_slots) for branch in op.branches] == [1, 1]
    assert "exponential" in str(op.branches[1])
    assert "sine" in str(op.branches[0])


def test_a_value_that_exists_outside_is_read_and_not_computed_again() -> None:
    def f(x: Any) -> Any:
        sine = tn.sin(x)
        return tn.while_loop(lambda c: c[0] < 9, lambda c: c + tn.sin(x) + 1, sine)

    assert "sine" not in str(only(While, f, SPEC))


def test_two_loops_that_read_alike_are_one_op() -> None:
    def f(x: Any) -> Any:
        def loop() -> Any:
            return tn.scan(lambda c, row: (c + tn.sin(x) * row, None), x, x)[0]

        return loop() + loop()

    assert len(program(f, SPEC).ops_of(Scan)) == 1
    digests = set()
    for _ in range(2):
        digests.add(only(Scan, f, SPEC).identity)
        gc.collect()
    assert len(digests) == 1


def test_small_constants_stay_inside_and_large_arrays_are_operands() -> None:
    op = only(Scan, lambda x: tn.scan(lambda c, r: (c * 2 + X + tn.zeros(3), r), x, x), SPEC)
    assert op.consts == 0
    op = only(Scan, lambda x: tn.scan(lambda c, r: (c + tn.sum(BIG * r), r), x, x), SPEC)
    assert op.consts == 1
    total, _ = tn.scan(lambda c, r: (c + tn.sum(BIG * r), r), 0, X)
    assert total.item() == 3 * BIG.sum()


def test_both_branches_share_what_they_close_over() -> None:
    def f(x: Any, y: Any) -> Any:
        return tn.cond(x[0] > 0, lambda z: z + x, lambda z: y * x, y)

    op = only(Switch, f, SPEC, SPEC)
    assert len(op.branches[0].input_slots) == 3


def test_the_condition_and_the_body_have_operands_of_their_own() -> None:
    def f(x: Any, y: Any) -> Any:
        return tn.while_loop(lambda c: tn.sum(c) < x[0], lambda c: c + y, x)

    op = only(While, f, SPEC, SPEC)
    assert (op.cond_consts, op.body_consts) == (1, 1)


def test_loops_in_loops_read_the_carries_around_them() -> None:
    def f(x: Any, w: Any) -> Any:
        def outer(c: Any, xi: Any) -> Any:
            d, ds = tn.scan(lambda d, _: (d * w + c + xi, d), xi, length=2)
            c = tn.cond(
                d > c,
                lambda: tn.fori_loop(0, 2, lambda i, z: z + i * w, c),
                lambda: tn.while_loop(lambda z: z < 10 + 0 * d, lambda z: z + w, c),
            )
            return c + d, tn.sum(ds)

        return tn.scan(outer, 0.0, x)

    x = np.array([1.0, -3.0, 2.0, -30.0])
    rt = tn.EagerRuntime()
    for last, sums in (
        f(x, 0.5),
        tn.jit(f, executor="numpy")(x, 0.5),
        f(rt.constant(x), rt.variable(0.5)),
    ):
        assert last.item() == 9.84375
        assert sums.tolist() == [2.5, -5.25, 13.375, -50.0625]


def test_transforms_and_compiled_functions_work_in_bodies() -> None:
    descent = tn.scan(
        lambda c, x: (c - 0.25 * tn.grad(lambda z: tn.sum((z - x) ** 2))(c), tn.jit(tn.sin)(c)),
        0.0,
        X,
    )
    assert descent[0].item() == 1.25


def test_a_compiled_function_says_where_the_loop_runs() -> None:
    total, _ = tn.scan(tn.jit(lambda c, x: (c + x, None), executor="xla"), 0.0, X)
    assert total.placement != "host"


@pytest.mark.parametrize("executor", ["xla", "numpy"])
def test_a_compiled_function_that_a_body_calls_says_where_the_loop_runs(executor: str) -> None:
    step = tn.jit(lambda c, x: c + tn.sin(x), executor=executor)
    loops = (
        tn.scan(lambda c, x: (step(c, x), None), 0.0, X)[0],
        tn.fori_loop(0, 3, lambda i, c: tn.grad(lambda z: z * step(z, 0.0))(c), 1.0),
    )
    assert [each.placement == "host" for each in loops] == [executor == "numpy"] * 2
    np.testing.assert_allclose(loops, [np.sin(X).sum(), 8.0])


# --- eager runtimes -------------------------------------------------------------------------------


def test_tensors_of_a_runtime_are_operands_of_one_recorded_op() -> None:
    rt = tn.EagerRuntime()
    w = rt.variable(2.0)
    total, _ = tn.scan(lambda c, x: (c * w + x, None), 0.0, X)
    assert total.tracked
    assert total.item() == 4.0
    total.backward()
    assert w.grad is not None
    assert w.grad.item() == 1.0
    assert tn.cond(w > 1, lambda: w * w, lambda: 0.0).tracked
    assert tn.map(lambda x: x * w, X, batch_size=2).tolist() == [0, 2, 4]


def test_a_function_inside_a_body_may_return_a_tensor_of_a_runtime() -> None:
    w = tn.EagerRuntime().variable(2.0)

    def step(c: Any, x: Any) -> Any:
        slope = tn.grad(lambda y: w)(x)
        return c + slope + tn.sum(tn.vmap(lambda y: w)(X)), None

    total, _ = tn.scan(step, 0.0, X)
    total.backward()
    assert w.grad is not None
    assert (total.item(), w.grad.item()) == (18.0, 9.0)


def test_a_runtime_on_xla_runs_loops() -> None:
    rt = tn.EagerRuntime("xla")
    w = rt.variable(2.0)
    total, ys = tn.scan(lambda c, x: (c * w + x, tn.sum(BIG * c)), 0, X)
    assert total.item() == 4.0
    assert ys.shape == (3,)


def test_tensors_of_two_runtimes_are_refused() -> None:
    w = tn.EagerRuntime().variable(2.0)
    with pytest.raises(ContextMismatch, match="belongs to another EagerRuntime"):
        tn.scan(lambda c, x: (c * w, None), tn.EagerRuntime().constant(1.0), X)


def test_a_trace_does_not_lose_the_record_of_a_tracked_tensor() -> None:
    w = tn.EagerRuntime().variable(2.0)

    def f(x: Any) -> Any:
        return tn.scan(lambda c, _: (c * w, None), x, length=2)[0]

    with pytest.raises(ADError, match="its record would be lost"):
        tn.jit(f, executor="numpy")(1.0)
    with pytest.raises(ADError, match="its record would be lost"):
        tn.jit(lambda x: tn.cond(True, lambda: x * w, lambda: x), executor="numpy")(1.0)


# --- which branch runs ----------------------------------------------------------------------------


def test_a_known_predicate_leaves_only_its_branch() -> None:
    def f(x: Any) -> Any:
        return tn.cond(np.sum(X) > 0, lambda x: x + BIG[1], tn.exp, x)

    steps = program(f, SPEC)
    assert not steps.has_op(Switch)
    assert "exponential" not in str(steps)
    np.testing.assert_array_equal(tn.jit(f, executor="numpy")(X).numpy(), X + 1)


def test_an_index_out_of_range_chooses_the_nearest_branch() -> None:
    branches = [lambda: 10, lambda: 20, lambda: 30]
    switch = tn.jit(lambda i: tn.switch(i, branches), executor="numpy")
    known = [tn.switch(i, branches).item() for i in (-5, 0, 1, 2, 9)]
    assert known == [switch(i).item() for i in (-5, 0, 1, 2, 9)] == [10, 10, 20, 30, 30]
    inlined = tn.jit(lambda x: tn.switch(7, [lambda: x, lambda: -x]), executor="numpy")
    assert inlined(2.0).item() == -2.0


def test_only_the_chosen_branch_runs() -> None:
    forever = tn.cond(
        tn.array(False), lambda: tn.while_loop(lambda c: c < 1, lambda c: c, 0), lambda: 7
    )
    assert forever.item() == 7


def test_a_loop_in_a_trace_is_recorded_also_if_its_operands_are_known() -> None:
    op = only(Scan, lambda x: x + tn.fori_loop(0, 5, lambda i, c: c + i, 0), SPEC)
    assert op.length == 5


def test_a_loop_of_integers_that_reads_floats_has_no_tangent() -> None:
    def weighted(x: Any) -> Any:
        count, _ = tn.scan(lambda c, r: (c + tn.astype(r > 1, "int64"), None), 0, x)
        return tn.sum(x) * count

    assert tn.grad(weighted)(X).tolist() == [1.0, 1.0, 1.0]


def test_a_body_may_write_what_an_older_trace_wrote_of_constants() -> None:
    def extra() -> Any:
        return tn.exp(tn.full((), 2.0))

    with TraceContext():
        held = extra()
    for loop in (
        lambda: tn.while_loop(lambda c: c < 30.0, lambda c: c + extra(), 0.0),
        lambda: tn.scan(lambda c, _: (c + extra(), None), 0.0, None, length=5)[0],
    ):
        total = loop()
        assert type(total) is tn.Tensor
        np.testing.assert_allclose(total, 5 * np.exp(2.0))
    assert held.shape == ()
