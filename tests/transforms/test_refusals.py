"""What transforms refuse, and what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ADError,
    DTypeError,
    NoAxesError,
    NonScalarGradError,
    PytreeError,
    ShapeError,
    TenferroError,
    TracingError,
)

X = tn.Tensor([2.0, 3.0])


def same(x: Any) -> Any:
    return x


REFUSALS: dict[str, tuple[Callable[[], Any], type[TenferroError], str]] = {
    "vector": (
        lambda: tn.grad(same)(X),
        NonScalarGradError,
        "grad: the result must be a scalar, got f64[2]; sum it, or use vjp or jacrev",
    ),
    "complex": (
        lambda: tn.grad(same)(1j),
        NonScalarGradError,
        "grad: the result must be real, got c128[]; take its real part, or pass holomorphic=True",
    ),
    "real where it is holomorphic": (
        lambda: tn.grad(lambda x: tn.sum(x), holomorphic=True)(X),
        DTypeError,
        "derivative by x: with holomorphic=True it must be complex, got f64[2]",
    ),
    "arrays in place of tuples": (
        lambda: tn.jvp(same, X, X),
        PytreeError,
        "jvp: takes a tuple of arguments and a tuple of tangents; write (x,), (dx,)",
    ),
    "a key": (
        lambda: tn.jit(lambda x: {x: 1.0}, executor="numpy")(1.0),
        TracingError,
        "hash() of a traced value f64[] (x): it has no value yet; use a number or a name as a key",
    ),
    "a shape in place of a type": (
        lambda: tn.make_program(same, (3, 4)),
        TracingError,
        "make_program: (3, 4) is a shape, or 2 scalars; write TensorSpec((3, 4)) for an array of",
    ),
    "integer result": (
        lambda: tn.grad(lambda x: x > 0)(1.0),
        NonScalarGradError,
        "grad: the result must be floating-point, got bool[]",
    ),
    "integer": (
        lambda: tn.grad(lambda a: a * 1.0)(3),
        DTypeError,
        "derivative by a: i64[] is neither floating-point nor complex; convert it first",
    ),
    "integer leaf": (
        lambda: tn.grad(lambda p: p["a"])({"a": 1.0, "n": 2}),
        DTypeError,
        "derivative by p['n']: i64[] is neither floating-point nor complex",
    ),
    "integer jvp": (lambda: tn.jvp(same, (1,), (1,)), DTypeError, "derivative by x: i64[]"),
    "tree": (
        lambda: tn.grad(lambda x: (x, x))(1.0),
        PytreeError,
        "grad: the function must return one scalar, got 2 leaves; return auxiliary",
    ),
    "nothing": (
        lambda: tn.grad(lambda x: None)(1.0),
        PytreeError,
        "must return one scalar, got 0 leaves",
    ),
    "text": (
        lambda: tn.grad(lambda m: m)("up"),
        PytreeError,
        "argument m is a str, not an array or number; make it static, or leave it out",
    ),
    "aux": (
        lambda: tn.grad(same, has_aux=True)(1.0),
        PytreeError,
        "has_aux: the function must return a pair (result, aux)",
    ),
    "argnums": (
        lambda: tn.grad(same, argnums=1)(1.0),
        ADError,
        "grad: argnums 1 is out of range for 1 positional argument",
    ),
    "argnums of keywords": (
        lambda: tn.grad(same)(x=1.0),
        ADError,
        "grad: argnums 0 is out of range for 0 positional arguments; 'x' came by keyword: pass by "
        "position what argnums counts",
    ),
    "argnums twice": (
        lambda: tn.grad(lambda x, y: x, argnums=(0, -2))(1.0, 1.0),
        ADError,
        "grad: argnums (0, -2) names an argument twice",
    ),
    "name of value_and_grad": (
        lambda: tn.value_and_grad(same, argnums=1)(1.0),
        ADError,
        "value_and_grad: argnums 1 is out of range for 1 positional argument",
    ),
    "name of hvp": (
        lambda: tn.hvp(same, X, X),
        NonScalarGradError,
        "hvp: the result must be a scalar, got f64[",
    ),
    "argnums name": (
        lambda: tn.grad(same, argnums="x")(1.0),  # type: ignore[arg-type]
        ADError,
        "grad: argnums must be integers, got 'x'",
    ),
    "jacobian argnums": (
        lambda: tn.jacfwd(same, argnums=3)(1.0),
        ADError,
        "jacfwd: argnums 3 is out of range for 1 positional argument",
    ),
    "tangent structure": (
        lambda: tn.jvp(same, (X,), ([X],)),
        PytreeError,
        "jvp: the tangent has structure",
    ),
    "tangent count": (
        lambda: tn.jvp(same, (X,), (X, X)),
        PytreeError,
        "jvp: the tangent has struct",
    ),
    "tangent shape": (
        lambda: tn.jvp(same, (X,), (tn.ones(3),)),
        ShapeError,
        "jvp: the tangent of f64[2] must have its type, got f64[3]",
    ),
    "tangent dtype": (
        lambda: tn.jvp(same, (X,), (np.float32([1, 2]),)),
        ShapeError,
        "jvp: the tangent of f64[2] must have its type, got f32[2]",
    ),
    "complex tangent": (
        lambda: tn.jvp(same, (1.0,), (1j,)),
        DTypeError,
        "c128[] does not fit f64[]",
    ),
    "not tuples": (
        lambda: tn.jvp(same, X, (X,)),
        PytreeError,
        "jvp: takes a tuple of arguments and a tuple of tangents; write (x,), (dx,)",
    ),
    "cotangent": (
        lambda: tn.vjp(same, X)[1](tn.ones(3)),
        ShapeError,
        "vjp: the cotangent of f64[2] must have its type, got f64[3]",
    ),
    "linearize": (
        lambda: tn.linearize(same, X)[1]({"a": X}),
        PytreeError,
        "linearize: the tangent has structure",
    ),
    "order": (lambda: tn.derivative(same, order=-1), ADError, "an integer of at least 0, got -1"),
    "order 1.5": (lambda: tn.derivative(same, order=1.5), ADError, "at least 0, got 1.5"),  # type: ignore[arg-type]
    "derivative of a vector": (
        lambda: tn.derivative(same)(X),
        ShapeError,
        "derivative: the function must take one scalar, got f64[2]; use jacfwd or hessian for "
        "arrays",
    ),
    "complex jacobian": (
        lambda: tn.jacfwd(same)(np.array([1j])),
        DTypeError,
        "jacfwd: c128[1] is complex; pass holomorphic=True if the function is holomorphic",
    ),
    "complex hessian": (
        lambda: tn.hessian(lambda z: tn.sum(tn.real(z)))(np.array([1j])),
        DTypeError,
        "hessian: c128[1] is complex; use jvp and vjp",
    ),
    "hessian of a vector": (
        lambda: tn.hessian(same)(X),
        NonScalarGradError,
        "hessian: the result must be a scalar, got f64[2]; sum it, or use jacfwd(jacrev(f))",
    ),
    "hessian of a complex number": (
        lambda: tn.hessian(lambda x: tn.sum(x) * 1j)(X),
        NonScalarGradError,
        "hessian: the result must be real, got c128[]; take its real part",
    ),
    "hessian of a pair": (
        lambda: tn.hessian(lambda x: (x[0], x[1]))(X),
        PytreeError,
        "hessian: the function must return one scalar, got 2 leaves; use jacfwd(jacrev(f))",
    ),
    "hessian by an argument that is not there": (
        lambda: tn.hessian(same, argnums=2)(X),
        ADError,
        "hessian: argnums 2 is out of range for 1 positional argument",
    ),
    "integer result of jacrev": (
        lambda: tn.jacrev(tn.argmax)(X),
        DTypeError,
        "jacrev: the result i64[] is not floating-point; leave it out, or use jacfwd",
    ),
}


@pytest.mark.parametrize(("call", "error", "text"), REFUSALS.values(), ids=REFUSALS)
def test_a_derivative_that_cannot_be_taken_is_refused(
    call: Callable[[], Any], error: type[TenferroError], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()


USES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (
        lambda x: x if x > 0 else -x,
        r"bool\(\) of a traced value bool\[\] \(compare.*\): it has no value yet; "
        r"branch with tn.cond or tn.where",
    ),
    "and": (lambda x: x > 0 and x < 1, r"bool\(\) of a traced value bool\[\]"),
    "float": (
        lambda x: float(x),
        r"float\(\) of a traced value f64\[\] \(x\): .* keep it a tensor",
    ),
    "int": (
        lambda x: int(x),
        r"int\(\) of a traced value f64\[\] \(x\): .* or make the argument static",
    ),
    "complex": (lambda x: complex(x), r"complex\(\) of a traced value f64\[\]"),
    "asarray": (
        lambda x: np.asarray(x),
        r"a NumPy array of a traced value f64\[\] \(x\): .* use the functions of tenferro instead",
    ),
    "asarray of a list": (lambda x: np.asarray([x]), "a NumPy array of a traced value"),
    "index": (
        lambda x: [1, 2][x],
        "an index of a traced value .* make it an array .* make the argument static with st",
    ),
    "range": (lambda x: range(x), "an index of a traced value"),
    "subscript": (lambda x: X[x], "an index of a traced value"),
    "slice": (lambda x: X[x:], "an index of a traced value"),
    "item": (
        lambda x: x.item(),
        r"item\(\) of a traced value .* return it from the traced function",
    ),
    "format": (lambda x: f"{x:.2f}", "the text of a traced value .* print it without a format"),
    "len": (lambda x: len(x), r"len: f64\[\] has no axes"),
    "iter": (lambda x: list(x), r"len: f64\[\] has no axes"),
    "subscript of an array": (
        lambda x: np.ones(3)[x],
        "a NumPy array of a traced value .* to index an array of NumPy, make it a tensor",
    ),
}


@pytest.mark.parametrize(("use", "text"), USES.values(), ids=USES)
@pytest.mark.parametrize(
    "transform", [lambda f: tn.grad(tn.jit(f)), tn.jit], ids=["grad of jit", "jit"]
)
def test_a_traced_value_has_no_number(transform: Any, use: Callable[[Any], Any], text: str) -> None:
    with pytest.raises((TracingError, NoAxesError), match=text):
        transform(lambda x: use(x))(1.0)


@pytest.mark.parametrize(
    "transform", [tn.grad, tn.value_and_grad, tn.jacfwd, tn.jacrev, tn.hessian]
)
def test_what_is_no_function_is_not_transformed(transform: Any) -> None:
    text = f"^{transform.__name__}: takes a function of arrays, got an int"
    with pytest.raises(TracingError, match=text):
        transform(3)


def test_generators_and_static_methods_are_not_compiled() -> None:
    def generator(x: Any) -> Any:
        yield x

    with pytest.raises(TracingError, match="jit: a generator returns no arrays; return a list"):
        tn.jit(generator)
    with pytest.raises(TracingError, match="jit: takes a function, got a staticmethod; put"):
        tn.jit(staticmethod(tn.sin))


def test_a_value_that_a_trace_left_behind_is_refused() -> None:
    left: list[Any] = []
    tn.scan(lambda c, x: (c + x, left.append(c)), 0.0, X)  # type: ignore[func-returns-value]
    for call in (
        lambda: tn.jit(lambda x: x + left[0], executor="numpy")(X),
        lambda: tn.make_program(lambda x: x + left[0], tn.TensorSpec((2,))),
    ):
        with pytest.raises(
            TracingError, match=r"add: .* of the trace of <lambda>, which has ended"
        ):
            call()


def test_what_is_no_array_is_not_made_a_program() -> None:
    with pytest.raises(
        TracingError, match="make_program: takes a function of arrays, got a Tensor"
    ):
        tn.make_program(tn.zeros(2), tn.TensorSpec((2,)))


@pytest.mark.parametrize(
    "order", [lambda n: n > 3, lambda n: n < 3, lambda n: n >= 3, lambda n: n <= n]
)
def test_sizes_with_a_name_have_no_order(order: Callable[[Any], bool]) -> None:
    def f(x: Any) -> Any:
        return x if order(x.shape[0]) else -x

    with pytest.raises(TracingError, match=r"size n .*: n has no value while tracing; give"):
        tn.make_program(f, tn.TensorSpec(("n",)))
    assert tn.jit(f, executor="numpy")(tn.ones(3)).shape == (3,)


def test_static_arguments_are_named() -> None:
    place: Any = 1
    with pytest.raises(TracingError, match="static_argnames has 1, which is not a parameter"):
        tn.jit(lambda x, n: x * n, static_argnames=place)
