from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, DTypeError, NonScalarGradError, ShapeError

NUMPY = tn.GraphExecutor(tn.NumpyBackend())
x = tn.TracedTensor.input((3,), "float64", name="x")
a = tn.TracedTensor.input((3,), "float64", name="a")
i = tn.TracedTensor.input((3,), "int64", name="i")
X, A = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.5])


def context() -> tn.AdContext:
    return tn.AdContext.builder().build()


def value(*outputs: tn.TracedTensor, **more: Any) -> list[Any]:
    program = tn.GraphCompiler().compile(outputs, inputs=[x, a])
    return [np.asarray(result) for result in NUMPY.run(program, {x: X, a: A, **more})]


def test_grad_of_a_traced_scalar() -> None:
    dx, da = context().grad(tn.sum(tn.exp(a * x)), [x, a])
    assert (dx.dtype, dx.shape) == (np.float64, (3,))
    got = value(dx, da)
    np.testing.assert_allclose(got[0], A * np.exp(A * X))
    np.testing.assert_allclose(got[1], X * np.exp(A * X))


def test_a_derivative_is_a_traced_tensor_like_any_other() -> None:
    ctx = context()
    (dx,) = ctx.grad(tn.sum(x**3), [x])
    (second,) = ctx.grad(tn.sum(dx * dx + a), [x])
    np.testing.assert_allclose(value(second * 2)[0], 2 * 36 * X**3)


def test_derivatives_by_values_in_the_middle_of_a_graph() -> None:
    middle = tn.sin(x)
    (by_middle,) = context().grad(tn.sum(middle * middle + x), [middle])
    np.testing.assert_allclose(value(by_middle)[0], 2 * np.sin(X))


def test_zeros_and_none_where_nothing_reaches() -> None:
    ctx, y = context(), tn.sum(x * 2)
    dx, da = ctx.grad(y, [x, a])
    assert [g.tolist() for g in value(dx, da)] == [[2.0] * 3, [0.0] * 3]
    assert ctx.grad_optional(y, [x, a])[1] is None
    assert ctx.vjp_optional([y], [a], [tn.TracedTensor.constant(1.0)]) == [None]
    assert ctx.jvp_optional([y], [a], [a]) == [None]
    assert value(*ctx.jvp([y], [a], [a]))[0].tolist() == 0.0


def test_vjp_and_jvp_with_seeds() -> None:
    ctx, y = context(), tn.exp(a * x)
    (ct,) = ctx.vjp([y], [x], [a])
    (dy,) = ctx.jvp([y], [x], [a])
    for got in value(ct, dy):
        np.testing.assert_allclose(got, A * A * np.exp(A * X))


def test_a_seed_none_is_a_symbolic_zero() -> None:
    ctx, y = context(), x * a
    np.testing.assert_allclose(value(*ctx.jvp([y], [x, a], [None, x]))[0], X * X)
    assert ctx.vjp_optional([y], [x], [None]) == [None]


def test_several_directions_at_once() -> None:
    ctx, y = context(), tn.sum(x * x)
    rows = ctx.jvp_many([y], [x], [[x], [a], [None]])
    got = value(*(row[0] for row in rows))
    np.testing.assert_allclose(got, [2 * X @ X, 2 * X @ A, 0.0])


def test_linearizations_are_kept_and_reused() -> None:
    ctx, y = context(), tn.sum(tn.sin(x) * a)
    for _ in range(3):
        ctx.grad(y, [x])
    ctx.grad(y, [x, a])
    stats = ctx.stats()
    assert (stats.entries, stats.misses, stats.hits) == (2, 2, 2)
    ctx.clear()
    assert ctx.stats().entries == 0


def test_the_transform_cache_is_bounded() -> None:
    ctx = tn.AdContext.builder().with_capacity(2).build()
    for factor in range(2, 7):
        ctx.grad(tn.sum(x * factor), [x])
    assert ctx.stats().entries == 2
    assert ctx.capacity.entries == 2


def test_what_has_no_gradient_is_refused() -> None:
    ctx = context()
    with pytest.raises(NonScalarGradError, match=r"must be a scalar, got f64\[3\]"):
        ctx.grad(x, [x])
    with pytest.raises(DTypeError, match=r"derivative by i: i64\[3\] is neither floating-point"):
        ctx.grad(tn.sum(x * i), [i])
    with pytest.raises(ADError, match="vjp: 2 cotangents for 1 value"):
        ctx.vjp([x], [x], [x, x])
    with pytest.raises(
        ShapeError, match=r"jvp: the tangent of f64\[3\] must have its type, got f64"
    ):
        ctx.jvp([x], [x], [tn.TracedTensor.constant(1.0)])


@pytest.mark.parametrize("rules", [None, [], 3])
def test_a_context_takes_rule_sets(rules: Any) -> None:
    with pytest.raises(ADError, match="with_extension_rules: takes an ExtensionRuleSet"):
        tn.AdContext.builder().with_extension_rules(rules)


def test_metadata_is_read_through_the_shape_context() -> None:
    ctx = context()
    assert ctx.shapes.meta(x.key) == x.meta
