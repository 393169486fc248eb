"""A program of a user: transforms keep the parameters of the functions that they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, assert_type

import numpy as np

import tenferro as tn
from tenferro.ir import AnyTensor
from tenferro.ir.typing import Array

X = np.ones(3)


class Params(NamedTuple):
    weight: Array
    bias: Array


def loss(params: Params, x: Array, scale: float = 1.0) -> AnyTensor:
    return tn.sum((x @ params.weight + params.bias) ** 2) * scale


PARAMS = Params(X, X)


@tn.jit
def compiled(x: Array, flag: bool) -> AnyTensor:
    return tn.multiply(x, 2.0) if flag else tn.positive(x)


@tn.jit(executor="numpy", static_argnames="flag")
def configured(x: Array, flag: bool) -> AnyTensor:
    return tn.multiply(x, 2.0) if flag else tn.positive(x)


def both(x: Array) -> tuple[AnyTensor, int]:
    return tn.sum(x * x), 3


def parameters() -> None:
    tn.grad(loss)(PARAMS, X, scale=2.0)
    tn.grad(loss)(X, X)  # E: incompatible type
    tn.grad(loss)(PARAMS, X, scaled=2.0)  # E: Unexpected keyword argument
    tn.jit(loss)(PARAMS)  # E: Missing positional argument
    tn.jit(tn.grad(loss, argnums=(0, 1)))(PARAMS, X, 2.0)
    tn.hessian(loss)(PARAMS, X, "2")  # E: incompatible type
    compiled(X, "yes")  # E: incompatible type
    configured(X, "yes")  # E: incompatible type


def results() -> None:
    assert_type(compiled(X, True), AnyTensor)
    assert_type(configured(X, flag=False), AnyTensor)
    assert_type(tn.jit(both)(X), tuple[AnyTensor, int])
    value, _ = tn.value_and_grad(loss)(PARAMS, X)
    assert_type(value, AnyTensor)
    assert_type(tn.jvp(compiled, (X, True), (X, True)), tuple[AnyTensor, AnyTensor])
    assert_type(tn.jvp(both, (X,), (X,), has_aux=True), tuple[AnyTensor, AnyTensor, int])
    y, pullback = tn.vjp(compiled, X, True)
    assert_type(y, AnyTensor)
    cotangents = pullback(y)
    assert_type(len(cotangents), int)
    y, pullback, aux = tn.vjp(both, X, has_aux=True)
    assert_type(aux, int)
    y, linear = tn.linearize(compiled, X, True)
    assert_type(linear(X, True), AnyTensor)
    assert_type(tn.derivative(compiled, 2)(1.0), AnyTensor)


def programs() -> None:
    program = tn.make_program(loss, PARAMS, X)
    assert_type(program, tn.GraphProgram)
    assert_type(program(X, X, X), Any)
    assert_type(tn.jit(program)(X), Any)
    tn.make_program(3)  # E: incompatible type
    tn.jit(loss, executer="numpy")  # E: No overload variant


def aux_in_a_variable(flag: bool) -> None:
    tn.grad(both, has_aux=flag)(X)
    tn.grad(both, 0, has_aux=flag)(X)
    tn.grad(both, argnums=(0,), has_aux=flag)(X)
    tn.grad(lambda x: (tn.sum(x), x), has_aux=flag)(X)
    tn.value_and_grad(both, has_aux=flag)(X)
    tn.value_and_grad(both, 0, has_aux=flag)(X)
    tn.grad(both, has_aux=flag)(X, X)  # E: Too many arguments


def types_unknown_in_part(f: Any, g: Callable[..., Any]) -> None:
    assert_type(tn.grad(f)(X), Any)
    assert_type(tn.grad(f, has_aux=True)(X), Any)
    assert_type(tn.value_and_grad(f)(X), Any)
    assert_type(tn.value_and_grad(g)(X), Any)
    tn.grad(f, (0, 1))(X, X)
    tn.grad(tn.jit(f))(X)
    tn.jit(tn.grad(f))(X)
    tn.grad(g, has_aux=True)(X)
    tn.grad(of_unknown_aux, has_aux=True)(PARAMS, X)
    tn.grad(lambda x: (tn.sum(x), x), has_aux=True)(X)
    tn.value_and_grad(of_numpy, has_aux=True)(PARAMS, X)
    tn.grad(of_numpy, has_aux=True)(PARAMS, X)


def of_unknown_aux(params: Params, x: Array) -> tuple[AnyTensor, Any]:
    return loss(params, x), x


def of_numpy(params: Params, x: np.ndarray[Any, Any]) -> tuple[AnyTensor, int]:
    return loss(params, x), 3


def numbers_in_branches(flag: bool, x: AnyTensor) -> None:
    assert_type(tn.cond(flag, lambda: 0.0, lambda: x) + x, AnyTensor)
    assert_type(tn.cond(flag, lambda: x, lambda: 0.0) + x, AnyTensor)
    assert_type(tn.cond(flag, lambda: 0, lambda: 1.0).ndim, int)
    assert_type(tn.cond(flag, lambda: X, lambda: x), AnyTensor)
    assert_type(tn.cond(flag, lambda: {"x": x}, lambda: {"x": x}), dict[str, AnyTensor])
