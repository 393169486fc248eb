"""closure_convert, custom_gradient: what a function closes over as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tenferro.errors import ADError, PytreeError, class_of
from tenferro.ir import PyTree, fresh_input, type_of
from tenferro.ops import shape_context
from tenferro.runtime import is_tracing
from tenferro.transforms.custom_vjp import custom_vjp
from tenferro.transforms.higher_order import Bodies, Call, leaves_of, operands_of, require_function
from tenferro.transforms.program import Evaluation, wraps
from tenferro.transforms.trace import substitute_keys
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import flatten, unflatten

__all__ = ["closure_convert", "custom_gradient"]

P = ParamSpec("P")
R = TypeVar("R")


def closure_convert(
    fun: Callable[..., PyTree], *example_args: PyTree
) -> tuple[Callable[..., PyTree], list[Any]]:
    """A function that takes what another one closes over as arguments, and these values.

    Values of enclosing traces become arguments, which a rule of `custom_vjp` may pass on as
    residuals. Arrays that are known stay constants.

    Args:
        fun: takes and returns trees of arrays.
        example_args: arguments of the types that the new function is to take.

    Returns:
        A function that takes arguments like `example_args` and then the values, and the list of
        values.

    Raises:
        ControlFlowError: `fun` is not a function.
        PytreeError: an argument or a result is not an array; or arguments of the new function have
            another structure.

    >>> import tenferro as tn
    >>> def f(x):
    ...     scaled, values = tn.closure_convert(lambda y: x * y, 1.0)
    ...     return scaled(2.0, *values), len(values)
    >>> tn.jit(f)(3.0)
    (Tensor(6.), Tensor(1))
    """
    require_function("closure_convert", "fun", fun)
    passed = leaves_of(example_args, "closure_convert: arguments")

    def arguments(values: list[TracedTensor]) -> Call:
        return unflatten(passed.tree, values), {}

    bodies = Bodies("closure_convert")
    body = bodies.trace("fun", fun, passed.metas, passed.weak, arguments, passed.values)
    consts = bodies.closed_over(body)
    values = operands_of(consts)
    moving = [at for at, value in enumerate(values) if isinstance(value, TracedTensor)]
    fresh = {consts[at]: fresh_input(type_of(consts[at]), "closed") for at in moving}
    replaced = substitute_keys(body.outputs, fresh, shape_context())
    outputs = [key for key in replaced if key is not None]
    inputs = [*fresh.values(), *body.inputs]

    def converted(*args: PyTree) -> PyTree:
        own, closed = args[: len(example_args)], args[len(example_args) :]
        leaves, tree = flatten(own)
        if tree != passed.tree or len(closed) != len(moving):
            raise PytreeError(
                f"closure_convert: the function takes arguments of the structure {passed.tree} and "
                f"then {len(moving)} values, got {tree} and {len(closed)}"
            )
        results = Evaluation(inputs, [*closed, *leaves], is_tracing(), None, bodies.packages)
        return unflatten(body.tree, results.of(outputs))

    return converted, [values[at] for at in moving]


def custom_gradient(fun: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]:
    """A function with derivatives by a function for cotangents that it returns with its value.

    Args:
        fun: returns a pair of its value and of a function, which takes the cotangent of the value
            and returns that of the argument, or a tuple of those of several arguments. It may read
            all values around it.

    Raises:
        ADError: `fun` cannot be called, or does not return such a pair.

    >>> import tenferro as tn
    >>> @tn.custom_gradient
    ... def f(x):
    ...     return x ** 2, lambda ct: 10.0 * ct * x
    >>> f(3.0), tn.grad(f)(3.0)
    (9.0, Tensor(30.))
    """
    if not callable(fun):
        raise ADError(f"custom_gradient: takes a function, got {class_of(fun)}")

    def pair(args: Any, kwargs: Any) -> Any:
        result: Any = fun(*args, **kwargs)
        if not isinstance(result, tuple | list) or len(result) != 2 or not callable(result[1]):
            raise ADError(
                "custom_gradient: the function must return a pair of its value and a function for "
                "cotangents"
            )
        return result

    def value(args: Any, kwargs: Any) -> Any:
        return pair(args, kwargs)[0]

    made = custom_vjp(value)

    def forward(args: Any, kwargs: Any) -> Any:
        value, pullback = pair(args, kwargs)
        converted, closed = closure_convert(pullback, value)
        return value, (_Converted(converted), closed)

    def backward(residuals: Any, cotangent: Any) -> Any:
        pullback, closed = residuals
        found = pullback.function(cotangent, *closed)
        own = found if isinstance(found, tuple | list) else (found,)
        return tuple(own), None

    made.defvjp(forward, backward)

    def ruled(*args: P.args, **kwargs: P.kwargs) -> R:
        return made(args, kwargs)  # type: ignore[no-any-return]  # as the function

    return wraps(fun, ruled)


class _Converted:
    """A function among residuals, which are a tree."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
