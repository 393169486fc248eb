"""Rules by hand that branch, of functions that are mapped over what they branch by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import lax


def by_cond(p: Any, t: Any) -> Any:
    return lax.cond(p > 0, lambda: 2 * t, lambda: t)


def by_switch(p: Any, t: Any) -> Any:
    return lax.switch(p, [lambda: t, lambda: 2 * t, lambda: 3 * t])


def by_cond_in_a_scan(p: Any, t: Any) -> Any:
    return lax.scan(lambda c, _: (by_cond(p, c), None), t, None, length=2)[0]


def by_while_loop(p: Any, t: Any) -> Any:
    return tn.while_loop(lambda s: s[0] < p, lambda s: (s[0] + 1, 2 * s[1]), (0, t), max_steps=4)[1]


FACTORS = {by_cond: (1, 2, 2), by_switch: (1, 2, 3), by_cond_in_a_scan: (1, 4, 4)}
FACTORS[by_while_loop] = (1, 2, 4)
PLACES = np.arange(3)


def with_rule(tangent: Callable[[Any, Any], Any]) -> Any:
    """x, with a tangent by hand."""

    @tn.custom_jvp
    def f(p: Any, x: Any) -> Any:
        return x * 1.0

    f.defjvp(lambda primals, tangents: (f(*primals), tangent(primals[0], tangents[1])))
    return lambda x: tn.vmap(f)(PLACES, x)


@pytest.mark.parametrize("tangent", FACTORS, ids=[each.__name__ for each in FACTORS])
def test_a_rule_that_branches_by_what_is_mapped_has_a_transpose(tangent: Any) -> None:
    f, x, want = with_rule(tangent), np.ones(3), np.array(FACTORS[tangent])
    assert tn.grad(lambda x: tn.sum(f(x)))(x).tolist() == want.tolist()
    assert tn.jacrev(f)(x).tolist() == np.diag(want).tolist()
    assert tn.linearize(f, x)[1](x).tolist() == want.tolist()


def test_such_rules_compile_together() -> None:
    def total(x: Any) -> Any:
        return tn.sum(sum(with_rule(tangent)(x) for tangent in FACTORS))

    gradient = tn.jit(tn.grad(total), executor="xla")(np.ones(3))
    assert gradient.tolist() == np.sum([*FACTORS.values()], axis=0).tolist()


def test_entries_that_take_another_branch_get_no_nan_in_any_order() -> None:
    def root(p: Any, x: Any) -> Any:
        return lax.cond(p > 0, lambda: tn.sqrt(x), lambda: x * 3)

    def total(x: Any) -> Any:
        return tn.sum(tn.vmap(root)(np.array([1, 0]), x))

    x = np.array([4.0, 0.0])
    for outer in (tn.jacfwd, tn.jacrev):
        assert outer(tn.grad(total))(x).tolist() == [[-1 / 32, 0], [0, 0]]
