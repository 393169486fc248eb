"""backward and its slots; grad, vjp and jvp, which leave them alone; and orders of both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.core import JvpSite, TransposeSite
from tenferro.errors import (
    ADError,
    ADRuleError,
    ContextMismatch,
    DTypeError,
    NonScalarGradError,
    ShapeError,
)
from tenferro.ir import payload
from tenferro.ops import MUL, SIGN, StdTensorOp
from tenferro.ops.functions import emit
from tenferro.shape import TensorMeta
from tenferro.transforms import EagerTensor
from tests.tolerances import assert_close, rounding

X = np.array([[0.5, -1.0, 2.0], [0.25, 1.5, -0.75]])


@pytest.fixture
def rt() -> tn.EagerRuntime:
    return tn.EagerRuntime()


def loss(x: Any) -> Any:
    """A function with fan-out, broadcasting and contraction."""
    h = tn.tanh(x @ tn.permute_dims(x, (1, 0))) + tn.sum(x, axis=1)
    return tn.sum(h * h) / 3 + tn.mean(tn.exp(x[0]))


# --- slots ----------------------------------------------------------------------------------------


def test_backward_fills_the_slots_of_variables(rt: tn.EagerRuntime) -> None:
    x, c = rt.variable(X), rt.constant(2.0)
    y = tn.sum(c * x * x)
    assert x.grad is None
    y.backward()
    assert isinstance(x.grad, EagerTensor)
    assert_close(x.grad.numpy(), 4 * X, rounding(x.dtype))
    assert not x.grad.tracked
    assert c.grad is None
    assert y.grad is None


def test_gradients_accumulate_without_changing_what_was_read_before(rt: tn.EagerRuntime) -> None:
    x = rt.variable([1.0, 2.0])
    y = tn.sum(x * x)
    y.backward()
    first = x.grad
    y.backward()
    tn.sum(3 * x).backward()
    assert first is not None
    assert first.tolist() == [2.0, 4.0]
    assert x.grad is not None
    assert x.grad.tolist() == [7.0, 11.0]


def test_slots_are_cleared_one_by_one_or_together(rt: tn.EagerRuntime) -> None:
    x, y = rt.variable(2.0), rt.variable(3.0)
    (x * y).backward()
    x.clear_grad()
    assert x.grad is None
    assert y.grad is not None
    rt.clear_grads()
    assert y.grad is None
    rt.constant(1.0).clear_grad()


def test_backward_with_takes_a_seed_of_any_shape(rt: tn.EagerRuntime) -> None:
    x = rt.variable([1.0, 2.0])
    y = x * x
    for seed in ([1.0, 10.0], np.array([1.0, 10.0]), rt.constant([1.0, 10.0])):
        rt.clear_grads()
        y.backward_with(seed)
        assert x.grad is not None
        assert x.grad.tolist() == [2.0, 40.0]
    with pytest.raises(ShapeError, match=r"the seed of f64\[2\] must have its type, got f64\[3\]"):
        y.backward_with(np.ones(3))
    with pytest.raises(ShapeError, match=r"the seed of f64\[2\] must have its type, got f32\[2\]"):
        y.backward_with(np.ones(2, "float32"))
    with pytest.raises(ADError, match="backward_with: needs a seed"):
        y.backward_with(None)


def test_a_variable_is_its_own_gradient(rt: tn.EagerRuntime) -> None:
    x = rt.variable(3.0)
    x.backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0


def test_the_gradient_of_a_lower_precision_has_that_precision(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X, dtype="float32")
    tn.sum(tn.astype(x, "float64") ** 2).backward()
    assert x.grad is not None
    assert x.grad.dtype == np.float32


# --- functional -----------------------------------------------------------------------------------


def test_functional_derivatives_leave_the_slots_alone(rt: tn.EagerRuntime) -> None:
    x = rt.variable(X)
    y = tn.sum(x * x)
    rt.grad(y, [x])
    rt.vjp([y], [x], [1.0])
    rt.jvp([y], [x], [X])
    assert x.grad is None


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_are_those_of_the_transforms(rt: tn.EagerRuntime, dtype: str) -> None:
    def real_loss(x: Any) -> Any:
        value = loss(x)
        return tn.real(value) if dtype == "complex128" else value

    point = (X + (0.3j * X[::-1] if dtype == "complex128" else 0)).astype(dtype)
    direction = point[:, ::-1] * 0.7
    x = rt.variable(point)
    y = real_loss(x)
    (dx,) = rt.grad(y, [x])
    assert_close(dx.numpy(), tn.grad(real_loss)(point).numpy(), rounding(dtype))
    (dy,) = rt.jvp([y], [x], [direction])
    assert_close(dy.numpy(), tn.jvp(real_loss, (point,), (direction,))[1].numpy(), rounding(dtype))
    (hv,) = rt.jvp([dx], [x], [direction])
    assert_close(hv.numpy(), tn.hvp(real_loss, (point,), (direction,)).numpy(), rounding(dtype))
    y.backward()
    assert x.grad is not None
    assert_close(x.grad.numpy(), dx.numpy(), rounding(dtype))


def test_complex_gradients_are_conjugates_of_those_of_jax(rt: tn.EagerRuntime) -> None:
    z = X + 1j * X[::-1]
    x = rt.variable(z)
    tn.sum(tn.real(tn.exp(x) * x)).backward()
    with jax.enable_x64(True):
        theirs = jax.grad(lambda z: jnp.sum(jnp.real(jnp.exp(z) * z)))(jnp.asarray(z))
    assert x.grad is not None
    assert_close(x.grad.numpy(), np.conj(theirs), rounding(z.dtype))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_any_order_of_either_mode(rt: tn.EagerRuntime, order: int) -> None:
    def forward(y: EagerTensor, x: EagerTensor) -> EagerTensor:
        return rt.jvp([y], [x], [1.0])[0]

    def reverse(y: EagerTensor, x: EagerTensor) -> EagerTensor:
        return rt.grad(y, [x])[0]

    expected = tn.derivative(lambda x: tn.sin(x) * tn.exp(x * x), order=order)(0.7).item()
    for modes in range(2**order):
        x = rt.variable(0.7)
        y = tn.sin(x) * tn.exp(x * x)
        for bit in range(order):
            y = (forward if modes >> bit & 1 else reverse)(y, x)
        assert y.item() == pytest.approx(expected, rel=1e-12)


def test_a_gradient_can_be_part_of_a_loss(rt: tn.EagerRuntime) -> None:
    def penalty(x: Any) -> Any:
        return tn.sum(tn.grad(loss)(x) ** 2)

    x = rt.variable(X)
    (g,) = rt.grad(loss(x), [x])
    tn.sum(g**2).backward()
    assert x.grad is not None
    assert_close(x.grad.numpy(), tn.grad(penalty)(X).numpy(), rounding(X.dtype))


def test_perturbations_are_not_confused(rt: tn.EagerRuntime) -> None:
    x = rt.variable(1.0)
    y = rt.variable(1.0)
    (inner,) = rt.jvp([x + y], [y], [1.0])
    (outer,) = rt.jvp([x * inner], [x], [1.0])
    assert outer.item() == 1.0


def test_what_nothing_reaches_is_zero_or_none(rt: tn.EagerRuntime) -> None:
    x, y = rt.variable([1.0, 2.0]), rt.variable([3.0])
    z = tn.sum(x)
    assert rt.grad(z, [y])[0].tolist() == [0.0]
    assert rt.grad_optional(z, [x, y])[1] is None
    assert rt.jvp([z], [y], [[1.0]])[0].item() == 0.0
    assert rt.jvp_optional([z], [y], [[1.0]]) == [None]
    assert rt.vjp_optional([z], [x], [None]) == [None]
    assert rt.vjp_optional([x > 1], [x], [np.ones(2, bool)]) == [None]
    assert rt.grad_optional(rt.constant(1.0), [x]) == [None]


def sign_times(a: Any, b: Any) -> Any:
    """An array function whose only recorded op reads no tracked value in the place of `a`."""
    return emit(MUL, emit(SIGN, a), b)


def test_a_value_that_an_op_reads_untracked_has_no_part_in_its_derivative(
    rt: tn.EagerRuntime,
) -> None:
    a, b = rt.variable([-3.0, 2.0]), rt.variable([5.0, 7.0])
    y = rt.apply(sign_times, (a, b), {})
    da, db = rt.grad_optional(tn.sum(y), [a, b])
    assert da is None
    assert db is not None
    assert db.tolist() == [-1.0, 1.0]


def test_intermediate_values_can_be_differentiated_by(rt: tn.EagerRuntime) -> None:
    x = rt.variable([1.0, 2.0])
    h = x * x
    y = tn.sum(h * x)
    dh, dx = rt.grad(y, [h, x])
    assert dh.tolist() == [1.0, 2.0]
    assert dx.tolist() == [1.0, 4.0]  # with h held fixed, as for traced tensors


def test_several_values_can_be_pulled_back_at_once(rt: tn.EagerRuntime) -> None:
    x = rt.variable([1.0, 2.0])
    (dx,) = rt.vjp([x * x, tn.sum(x)], [x], [[1.0, 1.0], 10.0])
    assert dx.tolist() == [12.0, 14.0]


def test_ops_with_several_outputs(rt: tn.EagerRuntime) -> None:
    x = rt.variable([3.0, 1.0, 2.0])
    values = tn.sort(x)
    assert values.tracked
    (dx,) = rt.grad(tn.sum(values * np.array([1.0, 10.0, 100.0])), [x])
    assert dx.tolist() == [100.0, 1.0, 10.0]


# --- errors ---------------------------------------------------------------------------------------


def test_only_real_scalars_have_gradients(rt: tn.EagerRuntime) -> None:
    x, z = rt.variable([1.0, 2.0]), rt.variable(1j)
    with pytest.raises(NonScalarGradError, match=r"the result must be a scalar, got f64\[2\]"):
        x.backward()
    with pytest.raises(NonScalarGradError, match=r"the result must be real, got c128\[\]"):
        (z * z).backward()
    with pytest.raises(NonScalarGradError, match=r"the result must be real, got c128\[\]"):
        rt.grad(z * z, [z])
    assert rt.grad(z * z, [z], holomorphic=True)[0].item() == 2j


def test_untracked_values_have_no_derivatives(rt: tn.EagerRuntime) -> None:
    c = rt.constant(2.0)
    with pytest.raises(ADError, match=r"backward: f64\[\] is not tracked: it does not depend"):
        (c * c).backward()
    with pytest.raises(ADError, match=r"grad: f64\[\] is not tracked, so computations on it"):
        rt.grad(c * rt.variable(1.0), [c])


def test_variables_are_floating_point(rt: tn.EagerRuntime) -> None:
    for value in (3, [True], np.ones(2, "int32")):
        with pytest.raises(DTypeError, match="is neither floating-point nor complex"):
            rt.variable(value)
    with pytest.raises(DTypeError, match=r"grad by i64.*is neither floating-point nor complex"):
        rt.grad(rt.variable(1.0), [rt.constant(3)])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda rt, x: rt.grad(x, x),
            r"grad: takes a list of eager tensors, got a single one; write \[x\]",
        ),
        (lambda rt, x: rt.grad(x, [X]), "grad: takes eager tensors, got a ndarray"),
        (lambda rt, x: rt.grad(x, [x, x]), r"grad: f64\[\] is passed twice"),
        (lambda rt, x: rt.vjp([x], [x], []), "vjp: 0 cotangents for 1 value"),
        (lambda rt, x: rt.jvp([x], [x], [1.0, 2.0]), "jvp: 2 tangents for 1 value"),
    ],
)
def test_wrong_arguments_are_refused(
    rt: tn.EagerRuntime, call: Callable[..., Any], text: str
) -> None:
    with pytest.raises(ADError, match=text):
        call(rt, rt.variable(1.0))


def test_seeds_have_the_types_of_their_values(rt: tn.EagerRuntime) -> None:
    x = rt.variable([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"vjp: the cotangent of f64\[2\] must have its type"):
        rt.vjp([x * x], [x], [1.0])
    with pytest.raises(ShapeError, match=r"jvp: the tangent of f64\[2\] must have its type"):
        rt.jvp([x * x], [x], [np.ones(2, "complex128")])


def test_another_runtime_takes_no_derivatives(rt: tn.EagerRuntime) -> None:
    x = rt.variable(1.0)
    other = tn.EagerRuntime()
    for call in (
        lambda: other.grad(x, [x]),
        lambda: other.jvp([x], [x], [1.0]),
        lambda: rt.vjp([x], [x], [other.constant(1.0)]),
        lambda: x.backward_with(other.constant(1.0)),
    ):
        with pytest.raises(ContextMismatch, match="belongs to another EagerRuntime"):
            call()


@payload
class Opaque(StdTensorOp, name="opaque"):
    """The identity, without rules."""

    def infer(self, x: TensorMeta) -> TensorMeta:
        return x

    def numpy(self, x: Any) -> Any:
        return x


@payload
class OneWay(Opaque, name="one_way"):
    """The identity, with one rule of two."""

    def linearize(self, at: JvpSite[Any]) -> Any:
        return (at.emit(self, *at.tangent),)

    def transpose_rule(self, at: TransposeSite[Any]) -> Any:
        raise ADRuleError("one_way: has no transpose rule")


def test_a_missing_rule_is_an_error_when_a_derivative_is_taken(rt: tn.EagerRuntime) -> None:
    x = rt.variable(math.pi)
    (y,) = rt.invoke(Opaque(), x)
    assert y.item() == math.pi
    assert y.tracked
    for _ in range(2):
        with pytest.raises(ADRuleError, match="opaque: has no linearize rule"):
            (y * 2).backward()
    assert x.grad is None
    (y,) = rt.invoke(OneWay(), x)
    assert rt.jvp([y], [x], [1.0])[0].item() == 1.0
    with pytest.raises(ADRuleError, match="one_way: has no transpose rule"):
        rt.grad(y, [x])


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "vmap": tn.vmap(lambda e: e * tn.sin(e)),
    "jacfwd": tn.jacfwd(lambda x: tn.sin(x) * tn.sum(x * x), chunk_size=2),
    "jacrev": tn.jacrev(lambda x: tn.sin(x) * tn.sum(x * x)),
    "hessian": tn.hessian(lambda x: tn.sum(x * x) * x[0]),
    "grad": tn.grad(lambda x: tn.scan(lambda c, e: (tn.sin(c) * e, None), 1.0, x)[0]),
    "vjp": lambda x: tn.vjp(lambda x: x * x[0] + tn.ones(500)[:3], x)[1](np.ones(3))[0],
}


@pytest.mark.parametrize("transformed", TRANSFORMED.values(), ids=TRANSFORMED)
def test_transforms_take_tracked_tensors_and_are_recorded(
    transformed: Callable[[Any], Any],
) -> None:
    array = np.array([0.5, 1.5, -2.0])
    x = tn.EagerRuntime().variable(array)
    result = transformed(x)
    assert result.tracked
    np.testing.assert_allclose(result.numpy(), transformed(array), rtol=1e-13, atol=1e-13)
    tn.sum(result * result).backward()
    assert x.grad is not None
    expected = tn.grad(lambda v: tn.sum(transformed(v) ** 2))(array)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12, atol=1e-12)
