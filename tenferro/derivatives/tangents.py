"""Forward-mode transforms: jvp, linearize, hvp, derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from tenferro.chainrules import KeyEmitter
from tenferro.compiler import MemoryLimit
from tenferro.derivatives.context import AdContext, context_of, results_of, traced_with
from tenferro.derivatives.gradients import Bytes, Gradients, matching_leaves, require_active
from tenferro.derivatives.linear_map import LinearMap
from tenferro.errors import ADError, PytreeError, ShapeError
from tenferro.ops import full_like
from tenferro.shape import read_integer
from tenferro.traced import flatten, unflatten, wraps
from tenferro.typing import ArrayLike, PyTree

R = TypeVar("R")
Aux = TypeVar("Aux")


@overload
def jvp(
    function: Callable[..., R],
    primals: PyTree,
    tangents: PyTree,
    *,
    has_aux: Literal[False] = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, R]: ...


@overload
def jvp(
    function: Callable[..., tuple[R, Aux]],
    primals: PyTree,
    tangents: PyTree,
    *,
    has_aux: Literal[True],
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, R, Aux]: ...


def jvp(
    function: Callable[..., PyTree],
    primals: PyTree,
    tangents: PyTree,
    *,
    has_aux: bool = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[PyTree, PyTree] | tuple[PyTree, PyTree, PyTree]:
    """The value at `primals`, and its derivative in the direction `tangents`.

    Args:
        function: any function of arrays.
        primals: tuple of arguments.
        tangents: tuple of the same structure and types.
        has_aux: the function returns a pair (value, aux); return (value, tangent, aux).
        ad_context: has the derivative rules of extension ops that the function uses.
        memory_limit: the most bytes that the program may need beside its arguments; see `grad`.

    Raises:
        PytreeError, ShapeError: one of them is not a tuple, or `tangents` does not match `primals`.
        ConfigError: `memory_limit` is not a number of bytes.
        MemoryLimitError: no way to keep the limit was found.

    >>> import tenferro as tn
    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Tensor(9.), Tensor(6.))
    """
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise PytreeError(
            "jvp: takes a tuple of arguments and a tuple of tangents; write (x,), (dx,)"
        )
    primals, tangents = tuple(primals), tuple(tangents)
    ad = context_of(ad_context)
    trace, leaves = traced_with(ad, function, primals, {}, has_aux)
    require_active(trace.inputs)
    _, in_tree = flatten(primals)
    seeds = matching_leaves("jvp", "tangent", tangents, in_tree, trace.inputs)
    limit = MemoryLimit.read("jvp", memory_limit)
    keys, results = results_of(trace, leaves, function, ad, limit).seeds(seeds, "tangent")
    pushed = ad.push_forward(trace.outputs, trace.inputs, keys)
    filled = [
        ad.zeros_like(out) if key is None else key
        for key, out in zip(pushed, trace.outputs, strict=True)
    ]
    values = results.of([*trace.outputs, *filled, *trace.aux.keys])
    count = len(trace.outputs)
    out = unflatten(trace.out_tree, values[:count])
    tangent_out = unflatten(trace.out_tree, values[count : 2 * count])
    return (
        (out, tangent_out, trace.aux.rebuild(values[2 * count :]))
        if has_aux
        else (out, tangent_out)
    )


def linearize(
    function: Callable[..., R],
    *primals: PyTree,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, Callable[..., R]]:
    """The value at `primals`, and the derivative there as a linear function of tangents.

    The linear function may be called any number of times. It saves the values that it needs of the
    forward run. Un-jitted, the forward run and the linear function are two programs, and each keeps
    `memory_limit` (see `grad`); in a function that is compiled it is a limit of the whole program.

    >>> import tenferro as tn
    >>> y, derivative_at = linearize(lambda x: x * x, 3.0)
    >>> derivative_at(1.0), derivative_at(0.5)
    (Tensor(6.), Tensor(3.))
    """
    ad = context_of(ad_context)
    trace, leaves = traced_with(ad, function, primals, {})
    require_active(trace.inputs)
    _, in_tree = flatten(primals)
    limit = MemoryLimit.read("linearize", memory_limit)
    linear_map = LinearMap.pushforward(trace, results_of(trace, leaves, function, ad, limit), ad)

    def linear(*tangents: PyTree) -> R:
        directions = matching_leaves("linearize", "tangent", tangents, in_tree, trace.inputs)
        return unflatten(trace.out_tree, linear_map(directions))  # type: ignore[no-any-return]  # as the function

    return unflatten(trace.out_tree, linear_map.values), linear


def hvp(
    function: Callable[..., object],
    primals: PyTree,
    tangents: PyTree,
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> PyTree:
    """The product of the Hessian of a real scalar function with a direction, forward over reverse.

    Args:
        function: returns a real scalar.
        primals: tuple of arguments, or a single argument.
        tangents: direction, of the same structure.
        ad_context: has the derivative rules of extension ops that the function uses.
        memory_limit: the most bytes that the program may need beside its arguments; see `grad`.

    >>> import tenferro as tn
    >>> hvp(lambda x: tn.sum(x * x * x), (tn.Tensor([1.0, 2.0]),), (tn.Tensor([1.0, 0.0]),))
    Tensor([6., 0.])
    """
    limit = MemoryLimit.read("hvp", memory_limit)
    primals, tangents = _tuples("hvp", primals, tangents)
    argnums: Any = 0 if len(primals) == 1 else tuple(range(len(primals)))
    gradient = Gradients("hvp", function, argnums, ad_context=ad_context).as_function()
    return jvp(gradient, primals, tangents, ad_context=ad_context, memory_limit=limit)[1]


def derivative(
    function: Callable[..., R], order: int = 1, *, ad_context: AdContext | None = None
) -> Callable[[ArrayLike], R]:
    """The derivative, of any order, of a function of one scalar, by repeated forward mode.

    The passes share common values, so that the size of the program is polynomial in the order.

    Args:
        function: from a real or complex scalar to any tree of arrays.
        order: the order of the derivative; 0 is the function itself.
        ad_context: has the derivative rules of extension ops that the function uses.

    Raises:
        ShapeError: the argument is not a single scalar.

    >>> import tenferro as tn
    >>> derivative(lambda x: x**4, order=3)(2.0)
    Tensor(48.)
    """
    order = read_integer("derivative", "order", order, ADError, 0)

    def differentiated(x: ArrayLike) -> R:
        ad = context_of(ad_context)
        trace, leaves = traced_with(ad, function, (x,), {})
        if len(trace.inputs) != 1 or ad.shapes.meta(trace.inputs[0]).rank != 0:
            got = ", ".join(str(ad.shapes.meta(key)) for key in trace.inputs)
            raise ShapeError(
                f"derivative: the function must take one scalar, got {got}; use jacfwd or hessian "
                "for arrays"
            )
        require_active(trace.inputs)
        seed = full_like(KeyEmitter(ad.shapes), 1, trace.inputs[0])
        keys = list(trace.outputs)
        for _ in range(order):
            pushed = ad.push_forward(keys, trace.inputs, [seed])
            keys = [
                ad.zeros_like(key) if tangent is None else tangent
                for key, tangent in zip(keys, pushed, strict=True)
            ]
        values = results_of(trace, leaves, function, ad).of(keys)
        return unflatten(trace.out_tree, values)  # type: ignore[no-any-return]  # as the function

    return wraps(function, differentiated)


def _tuples(name: str, primals: Any, tangents: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    if isinstance(primals, tuple | list) != isinstance(tangents, tuple | list):
        raise PytreeError(f"{name}: primals and tangents must both be tuples of arguments")
    if not isinstance(primals, tuple | list):
        return (primals,), (tangents,)
    return tuple(primals), tuple(tangents)
