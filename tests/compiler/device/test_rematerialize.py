"""Rematerialize: programs keep a memory limit, with the same results, or are refused."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import (
    MemoryLimit,
    OptimizerOptions,
    Rematerialize,
    memory_report,
    parse,
    tighter,
)
from tenferro.errors import BindingError, ConfigError, MemoryLimitError

X = np.random.default_rng(0).normal(size=(8, 8)) / 3
UNIT = X.nbytes


def chain(x: Any, w: Any) -> Any:
    for _ in range(36):
        x = tn.tanh(x @ w)
    return tn.sum(x)


def scanned(x: Any, w: Any) -> Any:
    return tn.sum(tn.scan(lambda c, _: (tn.tanh(c @ w), None), x, None, length=36)[0])


GRADIENT = tn.grad(chain, argnums=(0, 1))


def limited(function: Callable[..., Any], units: float | None) -> Any:
    limit = None if units is None else units * UNIT
    return tn.jit(function, executor="numpy", memory_limit=limit)


@pytest.mark.parametrize("f", [chain, scanned])
def test_a_gradient_keeps_the_limit_with_the_same_bits(f: Callable[..., Any]) -> None:
    gradient = tn.grad(f, argnums=(0, 1))
    free = limited(gradient, None).memory(X, X)
    assert free.peak > 36 * UNIT
    assert not free.again
    tight = limited(gradient, 14)
    report = tight.memory(X, X)
    assert report.peak <= 14 * UNIT  # two times the square root of the rounds, and the results
    assert 1 < report.work_factor < 2
    for value, expected in zip(tight(X, X), limited(gradient, None)(X, X), strict=True):
        np.testing.assert_allclose(np.asarray(value), np.asarray(expected), rtol=1e-12)


def in_a_loop(x: Any, w: Any) -> Any:
    return tn.scan(lambda c, _: (tn.grad(chain)(c, w), None), x, None, length=99)[0]


def in_a_branch(x: Any, w: Any) -> Any:
    return tn.cond(tn.sum(x) > 0, tn.grad(chain), lambda x, w: x, x, w)


def in_blocks(x: Any, w: Any) -> Any:
    block = tn.checkpoint(lambda x, w: [x := tn.tanh(x @ w) for _ in range(12)][-1])
    for _ in range(3):
        x = block(x, w)
    return tn.sum(x)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    ("f", "units"), [(in_a_loop, 15), (in_a_branch, 15), (tn.grad(in_blocks), 10)]
)
def test_programs_inside_of_ops_are_lowered_too(f: Callable[..., Any], units: float) -> None:
    free, tight = limited(f, None), limited(f, units)
    assert free.memory(X, X).peak > 1.3 * units * UNIT
    assert tight.memory(X, X).peak <= units * UNIT
    assert tight.memory(X, X).work_factor < 2
    np.testing.assert_array_equal(np.asarray(tight(X, X)), np.asarray(free(X, X)))


def test_a_limit_that_a_gradient_keeps_is_kept_with_checkpoints_too() -> None:
    whole = tn.grad(lambda x, w: tn.sum(tn.checkpoint(lambda x: chain(x, w))(x)))
    assert limited(whole, 14).memory(X, X).peak <= 14 * UNIT


def test_a_refusal_says_which_program_inside_of_an_op_needs_most() -> None:
    message = (
        r"jit: needs [\d.]+ kB at test_rematerialize.py:\d+ \(largest: .*\); of these [\d.]+ kB "
        r"are in body of scan at test_rematerialize.py:\d+ \(largest: \w+ f64\[8,8\], \d+ alive\),"
        r" the limit is 1.5 kB; the least found is [\d.]+ kB"
    )
    with pytest.raises(MemoryLimitError, match=message) as caught:
        limited(in_a_loop, 3)(X, X)
    assert 3 * UNIT < caught.value.least < caught.value.needed
    report = str(limited(in_a_loop, None).memory(X, X))
    assert "kB are in body of scan at test_rematerialize.py:" in report


def test_what_is_computed_where_it_is_read_is_no_operand_of_what_is_computed_again() -> None:
    def f(x: Any) -> Any:
        for _ in range(24):
            x = tn.tanh(0.5 * x[:, ::-1] + 0.25 * x + 0.125 * x[::-1])
        return tn.sum(x)

    options = OptimizerOptions(reroll=False)
    program = tn.jit(tn.grad(f), executor="numpy", options=options).program(X).exec_program
    need = memory_report(program).peak
    tight = memory_report(Rematerialize(MemoryLimit(int(0.4 * need))).run(program))
    assert tight.peak <= 0.4 * need
    assert tight.work_factor < 1.6


def test_equal_programs_give_equal_programs() -> None:
    texts = [str(limited(GRADIENT, 14).memory(X, X)) for _ in range(2)]
    assert texts[0] == texts[1]
    assert "computed again, 1." in texts[0]


def test_a_program_that_fits_is_left_alone() -> None:
    program = parse("exec_program(%0: f64[9]) {\n %1: f64[9] = sine %0\n return %1\n}")
    assert Rematerialize(MemoryLimit(72)).run(program) is program


@pytest.mark.exhaustive
def test_what_does_not_fit_is_refused_with_the_least_that_was_found() -> None:
    message = (
        r"jit: needs [\d.]+ kB at test_rematerialize.py:\d+ \(largest: \w+ f64\[8,8\], \d+ alive\),"
        r" the limit is 1.5 kB; the least found is [\d.]+ kB"
    )
    with pytest.raises(MemoryLimitError, match=message) as caught:
        limited(GRADIENT, 3)(X, X)
    assert caught.value.limit == 3 * UNIT < caught.value.needed
    with pytest.raises(MemoryLimitError, match="grad: needs"):
        tn.grad(chain, memory_limit=3 * UNIT)(X, X)
    unknown = parse("exec_program(%0: f64[n]) {\n %1: f64[n] = sine %0\n return %1\n}")
    with pytest.raises(MemoryLimitError, match="memory_limit= needs known sizes, but sine gives"):
        Rematerialize(MemoryLimit(72, "export")).run(unknown)


def test_the_limit_travels_with_the_function_and_the_smaller_one_holds() -> None:
    inner = tn.grad(chain, memory_limit="8 kB")
    assert tn.make_program(inner, X, X).options.memory_limit == MemoryLimit(8000)
    jit = partial(tn.jit, executor="numpy")
    for function in (jit(inner, memory_limit="9 kB"), jit(lambda x, w: inner(x, w) * 2.0)):
        assert function.program(X, X).options.memory_limit == MemoryLimit(8000)
    mapped = jit(tn.vmap(inner, (0, None)), memory_limit="1 GB")
    assert mapped.program(X[None], X).options.memory_limit == MemoryLimit(8000)
    again = jit(tn.grad(jit(chain, memory_limit="7 kB")), memory_limit=8000)
    assert again.program(X, X).options.memory_limit == MemoryLimit(7000)
    assert tighter([]) is None


@pytest.mark.parametrize(
    "limit", [0, -1, "0 MB", "many", "3 parsecs", float("nan"), float("inf"), True, [1], 1j]
)
def test_what_is_not_a_number_of_bytes_is_refused(limit: Any) -> None:
    for make in (tn.grad, tn.value_and_grad, tn.grad_optional, tn.jit):
        with pytest.raises(ConfigError, match=f"{make.__name__}: memory_limit must be"):
            make(chain, memory_limit=limit)
    with pytest.raises(ConfigError, match="vjp: memory_limit must be"):
        tn.vjp(chain, X, X, memory_limit=limit)
    with pytest.raises(ConfigError, match="OptimizerOptions: memory_limit must be"):
        OptimizerOptions(memory_limit=limit)


def test_a_program_tells_its_memory_for_its_sizes() -> None:
    program = tn.make_program(lambda x: tn.sin(x) @ tn.cos(x), tn.TensorSpec(("n",), "float64"))
    report = program.memory({"n": 1000}, executor="numpy")
    assert (report.arguments, report.outputs) == (8000, 8)
    assert [value.type for value in report.largest] == ["f64[1000]", "f64[1000]", "f64[]"]
    assert "peak 16.0 kB" in str(report)
    with pytest.raises(BindingError, match="memory: 'n' has no size"):
        program.memory(executor="numpy")
    with pytest.raises(BindingError, match="memory: 'm' is not a size of this program"):
        program.memory({"m": 3, "n": 2}, executor="numpy")
