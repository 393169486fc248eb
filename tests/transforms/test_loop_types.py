"""The dtypes and sizes of loops and branches."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ControlFlowError

X32 = np.arange(3, dtype=np.float32)


def types(tree: Any) -> list[str]:
    return [str(leaf.meta) for leaf in tn.transforms.flatten(tree)[0]]


def test_a_number_starts_a_carry_of_the_dtype_that_comes_out() -> None:
    assert types(tn.scan(lambda c, x: (c + x, c), 0, X32)) == ["f32[]", "f32[3]"]
    assert types(tn.scan(lambda c, x: (c + 1, c), 0, X32)) == ["i64[]", "i64[3]"]
    assert types(tn.scan(lambda c, x: (c + 0.5, c), 0, X32)) == ["f64[]", "f64[3]"]
    assert types(tn.while_loop(lambda c: c < 3, lambda c: c + X32[1], 0)) == ["f32[]"]
    assert types(tn.fori_loop(0, 2, lambda i, c: (c[1], c[0] + X32[0]), (0, 0))) == ["f32[]"] * 2


def test_a_number_that_comes_out_takes_the_dtype_of_the_carry() -> None:
    assert types(tn.scan(lambda c, x: (0, c), np.float32(1), X32)) == ["f32[]", "f32[3]"]


def test_a_weak_number_stays_weak_in_the_body() -> None:
    total = tn.jit(lambda w: tn.scan(lambda c, x: (c, x * c), w, X32), executor="numpy")
    assert types(total(2.0)) == ["f64[]", "f32[3]"]


def test_the_counter_yields_to_the_dtype_of_arrays() -> None:
    assert types(tn.fori_loop(0, 2, lambda i, c: c * i, X32)) == ["f32[3]"]
    bounded = tn.jit(lambda n: tn.fori_loop(0, n, lambda i, c: c * i, X32), executor="numpy")
    assert types(bounded(np.int32(2))) == ["f32[3]"]


def test_a_number_is_a_bound_beside_any_traced_bound() -> None:
    def count(lower: Any) -> Any:
        f = lambda n: tn.fori_loop(lower, n, lambda i, c: c + i, 0.0)  # noqa: E731
        return tn.jit(f, executor="numpy")(np.uint64(4))

    assert count(1).item() == 6.0
    assert count(np.int64(5)).item() == 0.0
    with pytest.raises(ControlFlowError, match="the bounds are int64 and uint64"):
        count(-1)


def test_floating_bounds_count_in_steps_of_one() -> None:
    def total(lower: Any, upper: Any) -> Any:
        return tn.fori_loop(lower, upper, lambda i, c: c + i, 0.0)

    compiled = tn.jit(total, executor="numpy")
    expected = jax.jit(lambda a, b: jax.lax.fori_loop(a, b, lambda i, c: c + i, 0.0))
    for lower, upper in ((0.5, 3.0), (0.0, 2.5), (3.0, 1.0)):
        want = expected(lower, upper).item()
        assert compiled(lower, upper).item() == total(lower, upper).item() == want
    assert total(1, np.float32(3)).dtype == np.float64
    assert types(tn.fori_loop(1, np.float32(3), lambda i, c: i, np.float32(0))) == ["f32[]"]
    last = lambda x: tn.fori_loop(x, x + 2.0, lambda i, c: c, x)  # noqa: E731
    assert tn.grad(last)(1.0).item() == 1.0


def test_numbers_of_branches_take_the_dtype_of_the_other_branches() -> None:
    def choose(i: Any) -> Any:
        return tn.switch(i, [lambda: 0, lambda: X32[1], lambda: 1.5])

    assert types(choose(0)) == ["f32[]"]
    assert types(tn.jit(choose, executor="numpy")(2)) == ["f32[]"]
    assert types(tn.cond(True, lambda: 1, lambda: 2.0)) == ["f64[]"]


def test_a_bool_does_not_become_a_number() -> None:
    with pytest.raises(tn.TenferroError, match="branches must return one structure and types"):
        tn.cond(True, lambda: True, lambda: 2.0)


def test_the_number_of_rounds_may_be_a_name() -> None:
    @tn.jit(executor="numpy", symbolic={"x": ("n", 2)})
    def f(x: Any) -> Any:
        total, rows = tn.scan(lambda c, row: (c + row, c), np.zeros(2), x)
        last = tn.fori_loop(1, x.shape[0], lambda i, c: c + i, 0)
        return total, rows, last, tn.scan(lambda c, _: (c + 1, None), 0, length=x.shape[0])[0]

    for n in (0, 1, 4):
        x = np.arange(2.0 * n).reshape(n, 2)
        total, rows, last, count = f(x)
        np.testing.assert_array_equal(total.numpy(), x.sum(0))
        np.testing.assert_array_equal(rows.numpy(), np.cumsum(x, 0) - x)
        assert last.item() == sum(range(1, n))
        assert count.item() == n
    assert f.trace_stats().misses == 1


def test_a_size_of_the_program_may_be_read_in_a_body() -> None:
    @tn.jit(executor="numpy", symbolic={"x": ("n",)})
    def f(x: Any) -> Any:
        return tn.fori_loop(0, 3, lambda i, c: c + tn.ones(x.shape[0]) * i, x)

    np.testing.assert_array_equal(f(np.ones(4)).numpy(), np.full(4, 4.0))
    rest = tn.jit(
        lambda x: tn.fori_loop(1, x.shape[0], lambda i, c: c + x[i], 0),
        executor="numpy",
        symbolic={"x": ("n",)},
    )
    assert [rest(np.arange(n)).item() for n in (1, 4)] == [0, 6]


def test_ranges_without_integers_have_no_rounds() -> None:
    assert tn.fori_loop(3, 1, lambda i, c: c + 1, 0).item() == 0
    assert tn.while_loop(lambda c: c < 0, lambda c: c + 1, 5).item() == 5
    assert tn.while_loop(lambda c: c < 9, lambda c: c + 1, 5, max_steps=2).item() == 7


def test_a_carry_of_nothing_is_a_carry() -> None:
    assert tn.scan(lambda c, x: (None, None), None, X32) == (None, None)
    none, ys = tn.scan(lambda c, x: ((), {"y": x, "n": None}), (), X32)
    assert none == ()
    assert ys["n"] is None
    np.testing.assert_array_equal(ys["y"].numpy(), X32)
