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
    tn.jacfwd(loss)(PARAMS, X, "2")  # E: incompatible type
    tn.jacrev(loss)(X, X)  # E: incompatible type
    tn.jacobian(loss, mode="sideways")  # E: No overload variant
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


def jacobians(x: AnyTensor, params: Params) -> None:
    assert_type(tn.jacfwd(compiled)(X, True), AnyTensor)
    assert_type(tn.jacrev(of_number)(1.0), AnyTensor)
    assert_type(tn.jacobian(loss)(params, X), Params)
    assert_type(tn.jacfwd(in_a_dict)(x), dict[str, AnyTensor])
    assert_type(tn.jacfwd(both, has_aux=True)(X), Any)
    assert_type(tn.jacfwd(with_aux, has_aux=True)(x), tuple[AnyTensor, int])
    assert_type(tn.jacfwd(tn.grad(of_tensor))(x), AnyTensor)
    assert_type(tn.vmap(tn.jit(tn.hessian(of_tensor)))(x), AnyTensor)
    assert_type(tn.hessian(of_number)(1.0), AnyTensor)
    assert_type(tn.hessian(loss)(params, X), Any)
    assert_type(tn.hessian(with_aux, has_aux=True)(x), tuple[AnyTensor, int])
    assert_type(tn.hessian(of_tensor, sparsity="auto")(x), tn.SparseMatrix)
    assert_type(tn.jacobian(of_tensor, sparsity="auto")(x), tn.SparseMatrix)
    assert_type(tn.jacfwd(same)(params), Any)
    assert_type(tn.jacfwd(lambda p: p["w"] * 2)({"w": x}), Any)
    assert_type(tn.jacfwd(lambda x: 2 * x)(x), Any)
    assert_type(tn.hessian(lambda p: tn.sum(p["w"]))({"w": x}), Any)


def products(x: AnyTensor, tensor: tn.Tensor, params: Params, tree: dict[str, AnyTensor]) -> None:
    (dx,) = tn.vjp(of_tensor, tensor)[1](1.0)
    assert_type(dx, AnyTensor)
    assert_type(tn.vjp(of_tensor, 1.0, X, x)[1](x), tuple[AnyTensor, ...])
    assert_type(tn.vjp(same, params)[1](params), tuple[Params])
    assert_type(tn.vjp(loss, tree, x)[1](1.0), tuple[dict[str, AnyTensor], AnyTensor])
    assert_type(tn.vjp(with_aux, params, has_aux=True)[1](x), tuple[Params])
    assert_type(tn.vjp(loss, [x], X)[1](1.0), tuple[Any, ...])
    assert_type(tn.hvp(of_tensor, (tensor,), (x,)), AnyTensor)
    assert_type(tn.hvp(of_tensor, X, x), AnyTensor)
    assert_type(tn.hvp(same, (params,), (params,)), Params)
    assert_type(tn.hvp(loss, (params, x), (params, x)), tuple[Params, AnyTensor])
    assert_type(tn.hvp(same, tree, tree), dict[str, AnyTensor])
    assert_type(tn.hvp(same, [x], [x]), Any)


def places(x: AnyTensor, key: tn.random.Key, params: Params) -> None:
    assert_type(tn.device_put(X), AnyTensor)
    assert_type(tn.device_put(params, "host"), Any)
    assert_type(tn.block_until_ready(params), Params)
    assert_type(tn.random.normal(key, key.shape), AnyTensor)


def of_number(x: float) -> AnyTensor:
    return tn.sin(x)


def of_tensor(x: AnyTensor) -> AnyTensor:
    return tn.sin(x)


def with_aux(x: AnyTensor) -> tuple[AnyTensor, int]:
    return x, 3


def in_a_dict(x: AnyTensor) -> dict[str, AnyTensor]:
    return {"x": x}


def same(params: Params) -> Params:
    return params


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
    tn.jacfwd(both, has_aux=flag)(X)
    tn.hessian(lambda x: (tn.sum(x), x), has_aux=flag)(X)
    value, *_, aux = tn.jvp(both, (X,), (X,), has_aux=flag)
    y, pullback, *_ = tn.vjp(both, X, has_aux=flag)
    pullback(value), aux
    _, linear, *_ = tn.linearize(both, X, has_aux=flag)
    linear(y)


def types_unknown_in_part(f: Any, g: Callable[..., Any]) -> None:
    assert_type(tn.grad(f)(X), Any)
    assert_type(tn.grad(f, has_aux=True)(X), Any)
    assert_type(tn.value_and_grad(f)(X), Any)
    assert_type(tn.value_and_grad(g)(X), Any)
    tn.grad(f, (0, 1))(X, X)
    tn.jacfwd(f)(X)
    tn.jacfwd(g, (0, 1))(X)
    tn.hessian(f)(X)
    tn.hvp(f, (g,), (g,))
    tn.vjp(f, g)[1](X)
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
