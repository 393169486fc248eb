"""autograd's names, by tenferro: a plugin of pytest by which autograd's tests run with tensors.

Arrays of NumPy are the arguments, as in autograd. Of its own machinery, such as boxes and vector
spaces, there is nothing: a test that asks for it fails.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import ModuleType
from typing import Any

import numpy
import scipy.stats

import tenferro as tn
from tenferro import flatten_util, test_util

Function = Callable[..., Any]
Places = int | Sequence[int]


def of_one(transform: Callable[[Function, Any], Any]) -> Callable[..., Function]:
    """A transform of functions of one argument, which takes the place of that argument."""

    def at_place(fun: Function, argnum: Places = 0, *options: Any, **named: Any) -> Function:
        def transformed(*args: Any, **keywords: Any) -> Any:
            places = (argnum,) if isinstance(argnum, int) else tuple(argnum)

            def of_the_places(x: Any) -> Any:
                new = dict(zip(places, (x,) if isinstance(argnum, int) else x, strict=True))
                return fun(*(new.get(at, arg) for at, arg in enumerate(args)), **keywords)

            x = args[argnum] if isinstance(argnum, int) else tuple(args[at] for at in places)
            return transform(of_the_places, x, *options, **named)

        return transformed

    return at_place


def conjugate(x: Any) -> Any:
    """autograd's gradients by complex numbers are those of JAX, the conjugates of tenferro's."""
    return tn.tree.map(tn.conj, x)


def of_one_number(fun: Function) -> Function:
    """A function whose result may have axes of size 1, which autograd takes for a scalar."""

    def summed(x: Any) -> Any:
        value = fun(x)
        return tn.sum(value) if tn.size(value) == 1 else value

    return summed


@of_one
def grad(fun: Function, x: Any) -> Any:
    return conjugate(tn.grad(of_one_number(fun))(x))


@of_one
def value_and_grad(fun: Function, x: Any) -> Any:
    value, found = tn.value_and_grad(of_one_number(fun))(x)
    return value, conjugate(found)


@of_one
def grad_and_aux(fun: Function, x: Any) -> Any:
    found, aux = tn.grad(fun, has_aux=True)(x)
    return conjugate(found), aux


@of_one
def make_vjp(fun: Function, x: Any) -> Any:
    value, pullback = tn.vjp(fun, x)
    return lambda ct: conjugate(pullback(conjugate(ct))[0]), value


@of_one
def make_jvp(fun: Function, x: Any) -> Any:
    return lambda dx: tn.jvp(fun, (x,), (dx,))


@of_one
def make_hvp(fun: Function, x: Any) -> Any:
    return lambda dx: tn.hvp(fun, (x,), (dx,)), None


@of_one
def jacobian(fun: Function, x: Any) -> Any:
    return tn.jacrev(fun)(x)


@of_one
def hessian(fun: Function, x: Any) -> Any:
    return tn.hessian(fun)(x)


@of_one
def deriv(fun: Function, x: Any) -> Any:
    return tn.jvp(fun, (x,), (tn.tree.map(tn.ones_like, x),))[1]


@of_one
def elementwise_grad(fun: Function, x: Any) -> Any:
    return tn.grad(lambda x: tn.sum(fun(x)))(x)


@of_one
def holomorphic_grad(fun: Function, x: Any) -> Any:
    return conjugate(tn.grad(lambda x: tn.real(fun(x)))(x))


@of_one
def check_grads(fun: Function, x: Any, modes: Any = None, order: int = 2) -> None:
    test_util.check_grads(fun, (x,), order, modes or ("fwd", "rev"), 1e-4, 1e-4, eps=1e-6)


def combo_check(fun: Function, *places: Any, **options: Any) -> Function:
    """Check a function at all combinations of arguments and keywords."""

    def check(*args: Any, **keywords: Any) -> None:
        for each in product(*args):
            for values in product(*keywords.values()):
                named = dict(zip(keywords, values, strict=True))
                check_grads(fun, *places, **options)(*each, **named)

    return check


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    def of_vector(*args: Any) -> Any:
        *args, v = args
        return tn.tensordot(grad(fun, argnum)(*args), v, tn.ndim(v))

    return grad(of_vector, argnum)


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    def of_vector(*args: Any) -> Any:
        *args, v = args
        return tn.tensordot(v, fun(*args), tn.ndim(v))

    return jacobian(of_vector, argnum)


def half_square(x: Any) -> Any:
    return 0.5 * tn.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = half_square, f_argnum: int = 0) -> Function:
    def product_at(f: Function, x: Any) -> Any:
        value, push = tn.linearize(f, x)
        pull = tn.vjp(f, x)[1]
        return lambda v: pull(tn.hvp(g, (value,), (push(v),)))[0]

    return of_one(product_at)(f, f_argnum)


def scalar_close(a: Any, b: Any) -> bool:
    return bool(numpy.isclose(a, b, rtol=1e-6, atol=1e-6))


def check_equivalent(x: Any, y: Any) -> None:
    x, y = tn.tree.leaves(x), tn.tree.leaves(y)
    assert len(x) == len(y)
    for one, other in zip(x, y, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def of_odeint(func: Function, y0: Any, t: Any, args: Sequence[Any] = ()) -> Any:
    """SciPy's `odeint`, by that of JAX."""
    return tn.experimental.ode.odeint(func, y0, t, *args, rtol=1e-10, atol=1e-10)


def module(name: str, names: Mapping[str, Any]) -> None:
    """A module with some names, where an import finds it."""
    made = sys.modules[name] = ModuleType(name)
    made.__path__ = []
    vars(made).update(names)
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)


def public(found: ModuleType) -> dict[str, Any]:
    return {name: getattr(found, name) for name in dir(found) if not name.startswith("_")}


BUILTINS = {"isinstance": isinstance, "tuple": tuple, "list": list, "dict": dict}
TRANSFORMS = {
    "grad": grad,
    "value_and_grad": value_and_grad,
    "grad_and_aux": grad_and_aux,
    "make_vjp": make_vjp,
    "make_jvp": make_jvp,
    "make_hvp": make_hvp,
    "make_ggnvp": make_ggnvp,
    "jacobian": jacobian,
    "hessian": hessian,
    "deriv": deriv,
    "elementwise_grad": elementwise_grad,
    "holomorphic_grad": holomorphic_grad,
    "hessian_tensor_product": hessian_tensor_product,
    "tensor_jacobian_product": tensor_jacobian_product,
    "checkpoint": tn.checkpoint,
}
CHECKS = {
    "check_grads": check_grads,
    "combo_check": combo_check,
    "check_equivalent": check_equivalent,
    "scalar_close": scalar_close,
}
TYPES = {name: getattr(numpy, name) for name in ("float16", "float32", "float64", "longdouble")}

module("autograd", TRANSFORMS | BUILTINS)
module("autograd.builtins", BUILTINS)
module("autograd.core", {"make_vjp": make_vjp})
module("autograd.test_util", CHECKS)
module("autograd.misc", {"flatten": flatten_util.ravel_pytree, "const_graph": tn.jit})
module(
    "autograd.tracer", {"isbox": lambda x: isinstance(x, tn.TracedTensor), "primitive": lambda f: f}
)
module("autograd.numpy", public(tn.numpy) | TYPES | {"row_stack": tn.vstack})  # NumPy's old name
for part, found in (("linalg", tn.linalg), ("fft", tn.fft), ("random", numpy.random)):
    module(f"autograd.numpy.{part}", public(found))
module("autograd.scipy", {})
for part in ("linalg", "signal", "integrate", "special", "stats"):
    module(f"autograd.scipy.{part}", public(getattr(tn.scipy, part)))
vars(sys.modules["autograd.scipy.integrate"])["odeint"] = of_odeint
for name in ("norm", "multivariate_normal", "dirichlet"):
    found = public(getattr(tn.scipy.stats, name))
    module(f"autograd.scipy.stats.{name}", found | {"rvs": getattr(scipy.stats, name).rvs})
