"""custom_jvp and custom_vjp in every transform, on both executors and in eager runtimes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADRuleError
from tests.transforms.custom_functions import backwards, tenfold


def names_of(function: Callable[..., Any], *args: Any) -> list[str]:
    """The ops of a compiled function."""
    return [op.name for op in tn.make_program(function, *args).exec_program.ops()]


RULED = pytest.mark.parametrize("f", [tenfold, backwards], ids=lambda f: f.__name__)
Ruled = Callable[..., Any]
FIRST = 20 * np.cos(1.0)  # ten times the derivative by x at (1, 2)


@RULED
def test_a_gradient_of_any_order_is_that_of_the_rule(f: Ruled) -> None:
    assert tn.grad(f)(1.0, 2.0).item() == pytest.approx(FIRST)
    assert tn.grad(f, 1)(1.0, 2.0).item() == pytest.approx(np.sin(1.0))
    assert tn.grad(tn.grad(f))(1.0, 2.0).item() == pytest.approx(-20 * np.sin(1.0))
    assert tn.grad(tn.grad(tn.grad(f, 1)))(1.0, 2.0).item() == pytest.approx(-np.sin(1.0))


@RULED
def test_the_value_is_that_of_the_function(f: Ruled) -> None:
    assert f(1.0, 2.0).item() == pytest.approx(2 * np.sin(1.0))
    assert tn.jit(f, executor="numpy")(1.0, y=2.0).item() == pytest.approx(2 * np.sin(1.0))


@RULED
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_a_compiled_gradient_has_no_op_left_of_it(f: Ruled, executor: str) -> None:
    compiled = tn.jit(tn.grad(f), executor=executor)
    assert compiled(1.0, 2.0).item() == pytest.approx(FIRST)
    assert "custom" not in names_of(tn.grad(f), 1.0, 2.0)


@RULED
def test_gradients_of_batches_and_batches_of_gradients_use_the_rule(f: Ruled) -> None:
    x = np.array([1.0, 2.0])
    each = tn.vmap(tn.grad(f), (0, None))(x, 2.0)
    whole = tn.grad(lambda x: tn.sum(tn.vmap(f, (0, None))(x, 2.0)))(x)
    np.testing.assert_allclose(np.asarray(each), 20 * np.cos(x))
    np.testing.assert_allclose(np.asarray(whole), 20 * np.cos(x))
    shared = tn.grad(lambda y: tn.sum(tn.vmap(f, (0, None))(x, y)))(2.0)
    assert shared.item() == pytest.approx(np.sin(x).sum())
    twice = tn.vmap(tn.vmap(tn.grad(f), (0, None)), (None, 0))(x, x)
    np.testing.assert_allclose(np.asarray(twice), 10 * np.outer(x, np.cos(x)))


def rounds(f: Ruled, x: float) -> tuple[float, float]:
    """Value and derivative of three rounds."""
    value, slope = x, 1.0
    for _ in range(3):
        slope *= 10 * np.cos(value)
        value = np.sin(value)
    return value, slope


@RULED
def test_loops_and_branches_use_the_rule(f: Ruled) -> None:
    def scanned(x: Any) -> Any:
        return tn.scan(lambda c, _: (f(c, 1.0), None), x, None, length=3)[0]

    def looped(x: Any) -> Any:
        bound = 3 if f is backwards else None
        start = (0, x)
        return tn.while_loop(
            lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1], 1.0)), start, max_steps=bound
        )[1]

    def chosen(x: Any) -> Any:
        return tn.cond(x > 0, lambda x: f(x, 2.0), lambda x: x, x)

    value, slope = rounds(f, 1.0)
    assert scanned(1.0).item() == pytest.approx(value)
    assert tn.grad(scanned)(1.0).item() == pytest.approx(slope)
    assert tn.grad(chosen)(1.0).item() == pytest.approx(FIRST)
    both = tn.grad(lambda x: tn.sum(tn.vmap(chosen)(x)))(np.array([1.0, -1.0]))
    np.testing.assert_allclose(np.asarray(both), [FIRST, 1.0])
    if f is tenfold:
        assert tn.jvp(scanned, (1.0,), (1.0,))[1].item() == pytest.approx(slope)
        assert tn.jvp(looped, (1.0,), (1.0,))[1].item() == pytest.approx(slope)
    else:
        assert tn.grad(looped)(1.0).item() == pytest.approx(slope)


@RULED
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_an_eager_runtime_records_the_rule(f: Ruled, executor: str) -> None:
    runtime = tn.EagerRuntime(executor=executor)
    x = runtime.variable(1.0)
    y = f(x, 2.0)
    assert y.item() == pytest.approx(2 * np.sin(1.0))
    (dx,) = runtime.grad(y, [x])
    (ddx,) = runtime.grad(dx, [x])
    assert (dx.item(), ddx.item()) == pytest.approx((FIRST, -20 * np.sin(1.0)))
    f(x, x).backward()
    assert x.grad.item() == pytest.approx(10 * np.cos(1.0) + np.sin(1.0))


def test_forward_mode_is_there_for_custom_jvp_and_refused_for_custom_vjp() -> None:
    value, tangent = tn.jvp(tenfold, (1.0, 2.0), (1.0, 0.0))
    assert (value.item(), tangent.item()) == pytest.approx((2 * np.sin(1.0), FIRST))
    text = (
        "custom_vjp backwards: has no forward mode; define it with custom_jvp, or differentiate "
        "in reverse"
    )
    with pytest.raises(TypeError, match=text):  # as in JAX
        tn.jvp(backwards, (1.0, 2.0), (1.0, 0.0))
    with pytest.raises(ADRuleError, match=text):
        tn.jvp(lambda x: tn.scan(lambda c, _: (backwards(c, x), c), x, None, 2), (1.0,), (1.0,))
    assert tn.hvp(lambda x: backwards(x, 2.0), 1.0, 1.0).item() == pytest.approx(-20 * np.sin(1))


def test_a_program_keeps_the_rule_where_it_is_called_and_a_file_does_not() -> None:
    program = tn.make_program(lambda x: tn.sum(tenfold(x, 2.0)), tn.TensorSpec(("n",)))
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(np.asarray(tn.grad(program)(x)), 20 * np.cos(x))
    loaded = tn.loads(tn.dumps(program))
    np.testing.assert_allclose(np.asarray(tn.grad(loaded)(x)), 2 * np.cos(x))


def test_one_trace_serves_all_sizes() -> None:
    def total(x: Any) -> Any:
        return tn.sum(tn.scan(lambda c, _: (tenfold(c, 1.0), None), x, None, length=2)[0])

    gradient = tn.jit(tn.grad(total), symbolic={"x": ("n",)}, executor="numpy")
    for x in (np.array([0.5]), np.array([0.5, 1.0, 1.5])):
        expected = 100 * np.cos(x) * np.cos(np.sin(x))
        np.testing.assert_allclose(np.asarray(gradient(x)), expected)


def test_equal_calls_are_one_value() -> None:
    assert names_of(lambda x: tenfold(x, 2.0) + tenfold(x, 2.0), 1.0).count("sine") == 1
    assert names_of(tn.value_and_grad(tenfold), 1.0, 2.0).count("sine") == 1


def test_complex_cotangents_are_those_of_this_library() -> None:
    @tn.custom_vjp
    def product(a: Any, z: Any) -> Any:
        return a * z

    product.defvjp(
        lambda a, z: (product(a, z), (a, z)),
        lambda kept, ct: (tn.conj(kept[1]) * ct, tn.conj(kept[0]) * ct),
    )
    point = (1 + 2j, 3 - 1j)

    def loss(times: Any) -> Any:
        return lambda a, z: tn.abs(times(a, z)) ** 2 + tn.real(times(z, a))

    ours = tn.grad(loss(product), (0, 1))(*point)
    plain = tn.grad(loss(tn.multiply), (0, 1))(*point)
    np.testing.assert_allclose([x.item() for x in ours], [x.item() for x in plain])
