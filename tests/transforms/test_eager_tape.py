"""What records hold, and that a rule by hand is read by each derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import lax
from tenferro.core import Record
from tenferro.transforms import EagerTensor


def saved_buffers(y: EagerTensor) -> list[np.ndarray[Any, Any]]:
    """The buffers that the records behind a value hold."""
    found, stack, seen = {}, [y._origin], set()
    while stack:
        record = stack.pop()
        if not isinstance(record, Record) or record in seen:
            continue
        seen.add(record)
        found |= {id(buffer): buffer for buffer in record.saved}
        stack += record.sources
    return list(found.values())


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_records_hold_only_what_derivatives_read(executor: str) -> None:
    rt = tn.EagerRuntime(executor)
    x = rt.variable(np.linspace(0.0, 1.0, 7))
    y = x
    for _ in range(10):
        y = tn.exp(y * 0.1)
    assert len(saved_buffers(y)) == 10
    tn.sum(y).backward()
    want = tn.grad(lambda x: tn.sum(_ten_times(x)))(np.linspace(0.0, 1.0, 7))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), want.numpy(), rtol=1e-14)


def _ten_times(y: Any) -> Any:
    for _ in range(10):
        y = tn.exp(y * 0.1)
    return y


@pytest.mark.parametrize(
    "function", [lambda x: x * 3.0 + 1.0, lambda x: (x - 2.0) / 4.0, lambda x: tn.mean(2 * x)]
)
def test_constants_of_a_function_are_computed_again(function: Any) -> None:
    rt = tn.EagerRuntime()
    x = rt.variable(np.ones(5))
    y = function(x)
    assert saved_buffers(y) == []
    (dx,) = rt.vjp([y], [x], [np.ones(y.shape)])
    want = tn.grad(lambda x: tn.sum(function(x)))(np.ones(5))
    assert dx.tolist() == want.tolist()


COEFFICIENT = [1.0]


@tn.custom_vjp
def by_vjp(x: Any) -> Any:
    return x * 1.0


by_vjp.defvjp(lambda x: (by_vjp(x), None), lambda _, ct: (ct * COEFFICIENT[0],))


@tn.custom_jvp
def by_jvp(x: Any) -> Any:
    return x * 1.0


by_jvp.defjvp(lambda primals, tangents: (by_jvp(*primals), tangents[0] * COEFFICIENT[0]))

AROUND: dict[str, Any] = {
    "alone": lambda f: f,
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
    "checkpoint": tn.checkpoint,
    "vmap": lambda f: lambda x: tn.vmap(f)(tn.stack([x]))[0],
    "cond": lambda f: lambda x: lax.cond(x > 0, lambda: f(x), lambda: x),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("f", [by_vjp, by_jvp], ids=["vjp", "jvp"])
def test_a_rule_reads_what_there_is_at_each_derivative(f: Any, around: Any) -> None:
    rt = tn.EagerRuntime()
    function = around(f)
    for coefficient in (1.0, 2.0, 5.0):
        COEFFICIENT[0] = coefficient
        x = rt.variable(1.5)
        y = function(x)
        assert rt.grad(y, [x])[0].item() == coefficient
        y.backward()
        assert x.grad is not None
        assert x.grad.item() == coefficient == tn.grad(function)(1.5).item()


def test_derivatives_by_rules_do_not_fill_the_cache() -> None:
    rt = tn.EagerRuntime()

    def step() -> int:
        x = rt.variable(1.5)
        by_vjp(x).backward()
        return rt.stats().entries

    step()
    entries = step()
    assert [step() for _ in range(3)] == [entries] * 3
