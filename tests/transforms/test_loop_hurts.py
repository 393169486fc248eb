"""What users of loops and branches are most often hurt by elsewhere, and what happens here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import NATIVE, optimize_for
from tenferro.errors import ADRuleError
from tenferro.ir import ExecProgram
from tests.tolerances import assert_close, rounding

X = np.array([4.0, -1.0, 0.0])


def ops_of(function: Callable[..., Any], *args: Any) -> list[str]:
    return [op.name for op in program_of(function, *args).ops()]


def program_of(function: Callable[..., Any], *args: Any) -> ExecProgram:
    return tn.make_program(function, *args).exec_program


def names_in(program: ExecProgram) -> list[str]:
    """The names of all ops, those in bodies too."""
    return [op.name for body in program.walk() for op in body.ops()]


# ------------------------------------------------------------------------- NaN through a choice


def root(x: Any) -> Any:
    return tn.cond(x > 0, tn.sqrt, lambda x: 0.0 * x, x)


def root_by_where(x: Any) -> Any:
    return tn.where(x > 0, tn.sqrt(x), 0.0)


ROOT = [0.25, 0.0, 0.0]
DERIVATIVES = {
    "grad in vmap": lambda f: tn.vmap(tn.grad(f)),
    "vmap in grad": lambda f: tn.grad(lambda x: tn.sum(tn.vmap(f)(x))),
    "derivative in vmap": lambda f: tn.vmap(tn.derivative(f)),
    "twice": lambda f: tn.grad(lambda x: tn.sum(tn.vmap(tn.grad(f))(x) * -32.0)),
    "in a scan": lambda f: tn.grad(
        lambda x: tn.sum(tn.scan(lambda c, _: (c, tn.vmap(f)(x)), 0.0, length=1)[1])
    ),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_branch_that_is_not_taken_does_not_make_derivatives_nan(name: str) -> None:
    expected = [1.0, 0.0, 0.0] if name == "twice" else ROOT
    assert_close(DERIVATIVES[name](root)(X), expected, rounding("f64"))


def rooted(w: Any, x: Any) -> Any:
    """NaN in a contraction with a weight where x is negative."""
    return tn.sum(tn.tanh(tn.sqrt(x * tn.ones(2)) @ w))


def rooted_in_rounds(w: Any, x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        return tn.sqrt(c) @ w * w[0], tn.sum(c)

    return tn.sum(tn.scan(step, x * tn.ones(2), length=3)[1])


def rooted_while(w: Any, x: Any) -> Any:
    def body(c: Any) -> Any:
        return c[0] + 1, tn.sqrt(c[1]) @ w

    return tn.sum(tn.while_loop(lambda c: c[0] < x, body, (0.0, x * tn.ones(2)), max_steps=5)[1])


SHARED = {
    "product": lambda w, x: tn.sum(tn.sqrt(x) * w),
    "contraction": rooted,
    "scan": rooted_in_rounds,
    "checkpointed scan": lambda w, x: tn.checkpoint(rooted_in_rounds)(w, x),
    "while": rooted_while,
    "switch": lambda w, x: tn.switch(tn.cast(x, "int32"), [rooted, rooted_in_rounds], w, x),
    "indices": lambda w, x: tn.sum(tn.sqrt(x) * w[tn.cast(x, "int32")]),
    "carry": lambda w, x: tn.sum(tn.scan(lambda c, _: (c * tn.sqrt(x), None), w, length=2)[0]),
}


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("xs", [[1.5, -1.0, 2.5], [-1.0, -2.0]], ids=["some", "none"])
def test_what_entries_share_gets_no_nan_from_those_that_do_not_take_a_branch(
    name: str, xs: list[float]
) -> None:
    weights = np.array([[0.3, 0.7], [1.1, 0.4]])

    def f(w: Any, x: Any) -> Any:
        return tn.cond(x > 0, SHARED[name], lambda w, x: x * tn.sum(w), w, x)

    expected = sum(np.asarray(tn.grad(lambda w, x=x: f(w, x))(weights)) for x in xs)
    with np.errstate(all="ignore"):
        batched = tn.vmap(f, in_axes=(None, 0))
        actual = tn.grad(lambda w: tn.sum(batched(w, np.array(xs))))(weights)
        second = tn.grad(lambda w: tn.sum(tn.grad(lambda w: tn.sum(batched(w, np.array(xs))))(w)))
        assert np.isfinite(np.asarray(second(weights))).all()
    assert_close(actual, expected, rounding("f64"))


def test_a_derivative_of_what_entries_share_stops_if_none_takes_the_branch() -> None:
    def f(w: Any, x: Any) -> Any:
        return tn.cond(x > 0, lambda: tn.sqrt(w) * x, lambda: w * x)

    def total(w: Any, xs: Any) -> Any:
        return tn.sum(tn.vmap(f, in_axes=(None, 0))(w, xs))

    with np.errstate(all="ignore"):
        assert tn.grad(total)(0.0, np.array([-1.0, -2.0])).item() == -3.0


@pytest.mark.parametrize("name", ["contraction", "scan", "while"])
def test_a_weight_that_branches_of_a_batch_share_is_not_copied_for_each_entry(name: str) -> None:
    def total(w: Any, xs: Any) -> Any:
        f = tn.vmap(lambda x: tn.cond(x > 0, SHARED[name], lambda w, x: tn.sum(w) * x, w, x))
        return tn.sum(f(xs))

    program = tn.make_program(
        tn.grad(total), tn.TensorSpec((2, 2), "float64"), tn.TensorSpec((50,), "float64")
    )
    run = optimize_for(program.exec_program, NATIVE)
    rows = [meta.static_shape for part in run.walk() for _, meta in part.results()]
    assert not [shape for shape in rows if shape[-3:] == (50, 2, 2)]


def test_an_index_of_a_small_type_guards_more_branches_than_it_can_count() -> None:
    branches = [tn.sin] * 129 + [lambda x: tn.sqrt(x - 9.0)]
    numbers = np.array([0, 3], np.int8)

    def total(x: Any) -> Any:
        return tn.sum(tn.vmap(lambda i, x: tn.switch(i, branches, x))(numbers, x))

    with np.errstate(all="ignore"):
        assert_close(tn.grad(total)(np.ones(2)), [np.cos(1.0)] * 2, rounding("f64"))


def test_an_index_far_out_of_range_chooses_the_nearest_branch() -> None:
    for index, expected in ((2**40, 2), (-(2**40), 1)):
        assert tn.switch(index, [lambda: 1, lambda: 2]).item() == expected


def test_where_makes_them_nan_since_it_computes_both() -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(np.asarray(tn.grad(lambda x: tn.sum(root_by_where(x)))(X))[1])


# ------------------------------------------------------------------------- loops that data end


def halvings(x: Any, max_steps: int | None = None) -> Any:
    def body(c: Any) -> Any:
        return c[0] / 2, c[1] * c[0]

    return tn.while_loop(lambda c: c[0] > 1.0, body, (x, 1.0), max_steps=max_steps)[1]


def test_reverse_mode_of_a_while_loop_needs_a_bound_and_works_with_one() -> None:
    # 5 · 2.5 · 1.25 = x³ / 8
    assert_close(tn.grad(lambda x: halvings(x, 10))(5.0), 75 / 8, rounding("f64"))
    assert_close(tn.grad(tn.grad(lambda x: halvings(x, 10)))(5.0), 30 / 8, rounding("f64"))
    assert_close(tn.derivative(halvings)(5.0), 75 / 8, rounding("f64"))
    with pytest.raises(ADRuleError) as raised:
        tn.grad(halvings)(5.0)
    assert str(raised.value) == (
        "while_loop: reverse mode needs a bound on the rounds; pass max_steps=, or use scan or "
        "fori_loop with constant bounds"
    )
    line = halvings.__code__.co_firstlineno + 4
    assert raised.value.__notes__ == [f"the loop is at test_loop_hurts.py:{line}"]


def test_finished_entries_of_a_batch_do_not_make_derivatives_nan() -> None:
    def roots(w: Any, x: Any) -> Any:
        return tn.while_loop(lambda x: x > 1.0, lambda x: tn.sqrt(x - 1.0) * w, x, max_steps=8)

    xs = np.array([0.5, 1.5, 3.0, 30.0])
    expected = sum(tn.grad(lambda w, x=x: roots(w, x))(2.0).item() for x in xs)
    with np.errstate(all="ignore"):
        actual = tn.grad(lambda w: tn.sum(tn.vmap(roots, in_axes=(None, 0))(w, xs)))(2.0)
    assert_close(actual, expected, rounding("f64"))


def test_a_bound_that_is_too_small_ends_the_loop() -> None:
    assert halvings(5.0, 2).item() == 12.5


def power(x: Any, n: Any) -> Any:
    rounds = n + 1
    return tn.fori_loop(0, rounds, lambda i, v: v * x, 1.0)


def test_the_refusal_names_the_traced_bound_and_its_line() -> None:
    assert tn.grad(power)(2.0, 2).item() == 12.0  # an int that is passed is known
    with pytest.raises(ADRuleError) as raised:
        tn.grad(tn.jit(power))(2.0, np.int64(2))
    line = power.__code__.co_firstlineno + 1
    assert str(raised.value) == (
        f"while_loop: reverse mode needs a bound on the rounds, but add(1, n): i64[], at "
        f"test_loop_hurts.py:{line}, is traced; pass max_steps=, or use scan or fori_loop with "
        "constant bounds"
    )
    assert raised.value.__notes__ == [f"the loop is at test_loop_hurts.py:{line + 1}"]


# ------------------------------------------------------------------------- loops that cost


def test_a_loop_of_one_round_is_no_loop() -> None:
    def f(x: Any) -> Any:
        return tn.scan(lambda c, y: (tn.sin(c) + y, c), 0.5, x)

    assert "scan" not in ops_of(f, np.ones(1))
    assert "scan" in ops_of(f, np.ones(2))


def test_unroll_is_a_hint_that_changes_no_result() -> None:
    xs = np.linspace(0.0, 1.0, 7)

    def f(x: Any, unroll: int | bool) -> Any:
        return tn.scan(lambda c, y: (tn.sin(c) * x + y, c), 0.5, xs, unroll=unroll)[0]

    one, three, whole = (f(0.3, unroll).item() for unroll in (1, 3, True))
    assert one == three == whole
    (step,) = program_of(lambda x: f(x, 3), 0.3).instructions[-1:]
    assert "unroll=3" in str(step.op)


def test_a_program_does_not_grow_with_the_rounds() -> None:
    def f(x: Any, rounds: int) -> Any:
        return tn.scan(lambda c, _: (tn.sin(c) * x, None), x, length=rounds)[0]

    few, many = (program_of(tn.grad(partial(f, rounds=rounds)), 0.3) for rounds in (10, 10_000))
    assert names_in(few) == names_in(many)


def test_map_keeps_the_branches_that_vmap_turns_into_a_selection() -> None:
    def kept(x: Any) -> Any:
        return tn.map(root, x)

    names = names_in(program_of(kept, X))
    assert "switch" in names
    assert "select" not in names
    assert_close(tn.map(tn.grad(root), X), ROOT, rounding("f64"))
