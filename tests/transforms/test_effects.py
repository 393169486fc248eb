"""Functions that programs call for what they do: as often as in JAX, on both executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.experimental
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BackendFailureError, ControlFlowError, TracingError

Call = Callable[..., None]


def plain(ns: Any, call: Call) -> Any:
    def f(x: Any) -> Any:
        call(x)
        call(2 * x, "text")
        return x + 1

    return f, (3.0,)


def without_result(ns: Any, call: Call) -> Any:
    return lambda x: call(x), (3.0,)


def constants(ns: Any, call: Call) -> Any:
    def f(x: Any) -> Any:
        call(1)
        call(1)
        return x

    return f, (3.0,)


def in_a_scan(ns: Any, call: Call) -> Any:
    def body(c: Any, x: Any) -> Any:
        call(c, x)
        call(7)
        return c * x, c

    return lambda x: ns.lax.scan(body, x, np.array([2.0, 3.0]))[0], (1.5,)


def in_a_loop_without_carry(ns: Any, call: Call) -> Any:
    def f(x: Any) -> Any:
        ns.lax.fori_loop(0, 3, lambda i, _: call(i), None)
        ns.lax.map(lambda v: call(v + x), np.arange(2.0))
        return x

    return f, (3.0,)


def in_a_while_loop(ns: Any, call: Call) -> Any:
    def body(c: Any) -> Any:
        call(c)
        return c + 1

    return lambda x: ns.lax.while_loop(lambda c: c < 3, body, x), (0.0,)


def in_branches(ns: Any, call: Call) -> Any:
    def f(x: Any) -> Any:
        ns.lax.cond(x > 0, lambda x: call(x, "positive"), lambda x: call(x, "negative"), x)
        return ns.lax.cond(x > 1, lambda x: (call("one"), x)[1], lambda x: -x, x)

    return f, (2.0,)


def in_a_vmap(ns: Any, call: Call) -> Any:
    def f(x: Any) -> Any:
        call(x)
        call("once")
        return x * 2

    return ns.vmap(f), (np.arange(3.0),)


def in_a_vmap_without_result(ns: Any, call: Call) -> Any:
    return ns.vmap(lambda x: call(x)), (np.arange(3.0),)


def unused_vmap(ns: Any, call: Call) -> Any:
    def f(x: Any) -> Any:
        ns.vmap(lambda x: (call(x), x)[1])(x)
        return x

    return f, (np.arange(2.0),)


def in_a_gradient(ns: Any, call: Call) -> Any:
    return ns.grad(lambda x: (call(x), ns.numpy.sin(x))[1]), (1.0,)


def in_a_gradient_of_a_scan(ns: Any, call: Call) -> Any:
    def body(c: Any, x: Any) -> Any:
        call(c, x)
        return c * x, c

    return ns.grad(lambda x: ns.lax.scan(body, x, np.array([2.0, 3.0]))[0]), (1.5,)


def in_a_second_derivative(ns: Any, call: Call) -> Any:
    return ns.grad(ns.grad(lambda x: (call(x), ns.numpy.sin(x))[1])), (1.0,)


def in_a_jacobian(ns: Any, call: Call) -> Any:
    return ns.jacfwd(lambda x: (call(ns.numpy.sum(x)), ns.numpy.sin(x))[1]), (np.ones(2),)


def in_a_value_and_gradient(ns: Any, call: Call) -> Any:
    return ns.value_and_grad(lambda x: (call(x), x * x)[1]), (3.0,)


def in_a_compiled_function(ns: Any, call: Call) -> Any:
    inner = ns.jit(lambda x: (call(x), x + 1)[1])
    return lambda x: inner(x) * 2, (3.0,)


PROGRAMS = [
    each
    for name, each in list(globals().items())
    if callable(each) and getattr(each, "__module__", None) == __name__ and name != "plain"
]


def events(ns: Any, program: Any, ordered: bool = False, **options: Any) -> tuple[list[Any], Any]:
    """What was called, and the result."""
    found: list[Any] = []

    def note(*values: Any) -> None:
        found.append([each if isinstance(each, str) else float(each) for each in values])

    def call(*values: Any) -> None:
        arrays = [each for each in values if not isinstance(each, str)]
        texts = [each for each in values if isinstance(each, str)]
        ns.debug.callback(lambda *own: note(*own, *texts), *arrays, ordered=ordered)

    function, args = program(ns, call)
    result = ns.jit(function, **options)(*args)
    ns.effects_barrier()
    return found, jax.tree.map(np.asarray, result)


@pytest.mark.exhaustive(but=8)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("program", [plain, *PROGRAMS], ids=lambda each: each.__name__)
def test_functions_are_called_as_often_as_in_jax(program: Any, executor: str) -> None:
    called, result = events(tn, program, executor=executor)
    with jax.enable_x64(True):
        expected, value = events(jax, program)
    assert sorted(called, key=str) == sorted(expected, key=str)
    jax.tree.map(np.testing.assert_allclose, result, value)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_ordered_calls_are_in_the_order_of_the_program(executor: str) -> None:
    def program(ns: Any, call: Call) -> Any:
        def f(x: Any) -> Any:
            call(0)
            ns.lax.fori_loop(1, 3, lambda i, c: (call(i), c)[1], 0.0)
            call(3)
            ns.lax.cond(x > 0, lambda: call(4), lambda: call(-4))
            for number in range(5, 9):
                call(number)
            return x

        return f, (1.0,)

    called, _ = events(tn, program, ordered=True, executor=executor)
    assert called == [[number] for number in range(9)]


@pytest.mark.parametrize("kind", ["checkpoint", "custom_jvp", "fori_loop", "jvp"])
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_ordered_calls_are_after_those_of_functions_within(executor: str, kind: str) -> None:
    def program(ns: Any, call: Call) -> Any:
        def within(x: Any) -> Any:
            for number in range(3):
                call(number, x)
            return x

        by_hand = ns.custom_jvp(within)
        by_hand.defjvp(lambda primals, tangents: (by_hand(*primals), *tangents))
        functions = {
            "checkpoint": ns.checkpoint(within),
            "custom_jvp": by_hand,
            "fori_loop": lambda x: ns.lax.fori_loop(0, 1, lambda _, x: within(x), x),
            "jvp": lambda x: ns.jvp(within, (x,), (x,))[0],
        }

        def f(x: Any) -> Any:
            x = functions[kind](x)
            ns.lax.cond(x > 0, lambda: call(3, x), lambda: call(-3, x))
            call(4, x)
            return x

        return f, (1.0,)

    called, _ = events(tn, program, ordered=True, executor=executor)
    assert [number for number, *_ in called] == [*range(5)]


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_a_function_with_results_is_called_in_each_run(executor: str) -> None:
    seen: list[float] = []

    def count(x: Any) -> Any:
        seen.append(float(x))
        return {"n": np.asarray(len(seen))}

    @tn.jit(executor=executor)
    def f(x: Any) -> Any:
        spec = {"n": tn.TensorSpec((), "int64")}
        first = tn.experimental.io_callback(count, spec, x, ordered=True)["n"]
        second = tn.experimental.io_callback(count, spec, x, ordered=True)["n"]
        return 10 * first + second

    assert (f(1.0), f(1.0)) == (12, 34)
    assert seen == [1.0] * 4


def test_numbers_of_64_bits_and_batches_of_results_pass() -> None:
    def double(x: Any) -> Any:
        return np.asarray(x * 2)

    def f(x: Any) -> Any:
        return tn.experimental.io_callback(double, tn.TensorSpec((2,), "complex128"), x)

    x = np.arange(6).reshape(3, 2) * (1 + 1e-12j)
    np.testing.assert_array_equal(tn.jit(tn.vmap(f))(x), 2 * x)
    assert f(x[0]).tolist() == (2 * x[0]).tolist()


def test_prints_are_formatted(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any, p: Any) -> Any:
        tn.debug.print("{} and {y:.2f}: {p[w]}, {name}", x, y=x / 3, p=p, name="a {text}")
        return x

    line = "2.0 and 0.67: [1. 1.], a {text}\n"
    tn.jit(f)(2.0, {"w": np.ones(2)})
    tn.effects_barrier()
    assert capsys.readouterr().out == line
    f(2.0, {"w": np.ones(2)})
    assert capsys.readouterr().out == line


def test_functions_without_results_have_effects() -> None:
    seen: list[Any] = []

    def f(x: Any) -> None:
        tn.debug.callback(lambda x: seen.append(x.tolist()), x)

    specs = tn.sharding.PartitionSpec("i")
    mesh = tn.make_mesh((1,), ("i",))
    tn.checkpoint(f)(2.0)
    tn.jit(tn.shard_map(f, mesh=mesh, in_specs=specs, out_specs=None))(np.ones(2))
    tn.effects_barrier()
    assert seen == [2.0, [1.0, 1.0]]


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(TracingError, match="a field without a value"):
        tn.debug.print("{} {}", 1)
    with pytest.raises(TracingError, match="is no format"):
        tn.debug.print("{} {0}", 1)
    with pytest.raises(TracingError, match="has no field for the value 'y'"):
        tn.debug.print("x", y=1)
    with pytest.raises(TracingError, match="takes a text with fields"):
        tn.debug.print(1)  # type: ignore[arg-type]
    with pytest.raises(TracingError, match="partitioned=True: functions on the host get whole"):
        tn.debug.print("{}", 1, partitioned=True)
    with pytest.raises(TracingError, match="takes a function, got an int"):
        tn.debug.callback(1)  # type: ignore[arg-type]
    with pytest.raises(ControlFlowError, match="callback must be a function"):
        tn.experimental.io_callback(1, None)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="within tn"):
        tn.debug.breakpoint()

    def ordered(x: Any) -> None:
        tn.debug.callback(print, x, ordered=True)

    with pytest.raises(BackendFailureError, match="pass ordered=False"):
        tn.vmap(ordered)(np.ones(2))

    def fails(x: Any) -> Any:
        raise ValueError("no")

    for executor in ("numpy", "xla"):
        with pytest.raises(BackendFailureError, match="no"):
            tn.jit(lambda x: tn.experimental.io_callback(fails, x, x), executor=executor)(1.0)


def test_options_may_come_before_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        tn.debug.print(ordered=True)("a {}", x)
        tn.debug.callback(ordered=True)(seen.append, x)
        return x

    seen: list[Any] = []
    tn.jit(f)(3.0)
    tn.effects_barrier()
    assert capsys.readouterr().out == "a 3.0\n"
    assert seen == [3.0]
