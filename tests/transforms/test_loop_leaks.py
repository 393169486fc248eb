"""Values of a trace are refused after it has ended, at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import TracingError

X = np.array([1.0, 2.0])
Left = list[Any]
Leak = Callable[[Left, Any], Any]


def keep(left: Left, value: Any) -> Any:
    """A value that is computed of another one, and left behind."""
    left.append(value * 2.0)
    return value


BODIES: dict[str, Leak] = {
    "scan": lambda left, x: tn.scan(lambda c, e: (keep(left, c) + e, e), 0.0, x)[0],
    "entries": lambda left, x: tn.scan(lambda c, e: (c, keep(left, e)), 0.0, x)[1],
    "map": lambda left, x: tn.map(lambda e: keep(left, e), x),
    "cond": lambda left, x: tn.cond(x[0] > 0, lambda v: keep(left, v), lambda v: -v, x),
    "switch": lambda left, x: tn.switch(1, [tn.sin, lambda v: keep(left, v)], x),
    "while_loop": lambda left, x: tn.while_loop(
        lambda v: v[0] < 9.0, lambda v: keep(left, v) + 4.0, x
    ),
    "condition": lambda left, x: tn.while_loop(
        lambda v: keep(left, v)[0] < 9.0, lambda v: v + 4.0, x
    ),
    "fori_loop": lambda left, x: tn.fori_loop(0, 3, lambda i, v: keep(left, v), x),
    "counter": lambda left, x: tn.fori_loop(0, x.size, lambda i, v: v + keep(left, i), x),
    "vmap": lambda left, x: tn.vmap(lambda e: keep(left, e))(x),
    "loop in a loop": lambda left, x: tn.scan(
        lambda c, e: (keep(left, tn.cond(True, lambda: c + e, lambda: c)), e), 0.0, x
    )[0],
    "result of a loop that closes over": lambda left, x: tn.map(
        lambda e: keep(left, tn.fori_loop(0, 2, lambda i, c: c + e, 0.0)), x
    ),
}


@pytest.mark.parametrize("leak", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_a_value_of_a_body_is_refused_after_the_loop(leak: Leak, traced: bool) -> None:
    left: Left = []

    def use(x: Any) -> Any:
        leak(left, x)
        return left[-1] + 1.0

    with pytest.raises(TracingError, match=r"add: .* is a value of the trace of .* has ended"):
        (tn.jit(use, executor="numpy") if traced else use)(tn.asarray(X))


def test_every_use_is_refused() -> None:
    left: Left = []
    tn.scan(lambda c, e: (keep(left, c) + e, e), 0.0, X)
    leaked = left[-1]
    uses: list[Callable[[], Any]] = [
        lambda: tn.cond(leaked > 0.0, lambda: 1.0, lambda: 2.0),
        lambda: tn.scan(lambda c, e: (c, e), leaked, X),
        lambda: tn.map(lambda e: e * leaked, X),
        lambda: tn.map(lambda e: leaked, X),
        lambda: tn.jit(lambda e: e, executor="numpy")(leaked),
        lambda: tn.vmap(lambda e: e * leaked)(X),
    ]
    for use in uses:
        with pytest.raises(TracingError, match="is a value of the trace of <lambda>, which has"):
            use()


def test_a_result_of_a_loop_is_a_value_of_the_trace_around_it() -> None:
    left: Left = []
    tn.jit(lambda x: keep(left, tn.fori_loop(0, 2, lambda i, c: c + x, 0.0)), executor="numpy")(1.0)
    with pytest.raises(TracingError, match="which has ended; return it from <lambda>"):
        left[0] + 1.0


def test_values_from_around_a_body_may_be_used_in_it_and_after_it() -> None:
    left: Left = []

    def around(x: Any) -> Any:
        def body(c: Any, e: Any) -> Any:
            left.append(x * 3.0)  # of x alone, which is a value of the trace around
            return c + left[-1] * e, tn.cond(e > 1.5, lambda: x, lambda: c)

        total, _ = tn.scan(body, 0.0, X)
        return total + left[-1]

    assert around(2.0) == 24.0
    assert tn.jit(around, executor="numpy")(2.0) == 24.0
    assert tn.grad(around)(2.0) == 12.0
