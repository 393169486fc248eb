"""Reverse mode: grad, value_and_grad, vjp."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, NoReturn, overload

import numpy as np

from tenferro.compiler import MemoryLimit
from tenferro.core import (
    GlobalValKey,
    KeyEmitter,
    ResolvedView,
    name_of,
    resolve_keys,
)
from tenferro.errors import ADError, DTypeError, PytreeError, counted
from tenferro.ir import FLOAT0, AnyTensor, PyTree, integer_of, is_complex, is_inexact
from tenferro.ops import CONJ, Collective, StdTensorOp, full_like
from tenferro.ops.control_flow import ControlOp
from tenferro.transforms.ad_context import (
    AD,
    AdContext,
    check_active,
    check_scalar,
    context_of,
    results_of,
    trace_in_context,
    with_zeros,
)
from tenferro.transforms.linear_map import Filled, LinearMap, Pullback, with_integers
from tenferro.transforms.program import wraps
from tenferro.transforms.signatures import (
    Aux,
    Leaf,
    P,
    R,
    Second,
    Single,
    T,
    Tree,
    Unannotated,
    UnannotatedPair,
)
from tenferro.transforms.trace import Trace
from tenferro.transforms.trees import TreeDef, flatten, unflatten

__all__ = [
    "Argnums",
    "Bytes",
    "Gradients",
    "grad",
    "grad_optional",
    "normal_argnums",
    "require_active",
    "value_and_grad",
    "vjp",
]


# Reverse-mode transforms: grad, value_and_grad, vjp.

Argnums = int | Sequence[int]
Bytes = int | float | str | MemoryLimit | None
"""A limit on memory: a number of bytes, a text such as `"1.5 GB"`, one that was read, or none."""
CotangentMap = Callable[[PyTree], tuple[PyTree, ...]]
"""A function from a cotangent of the result to those of the arguments."""


@overload
def grad(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Unannotated | Callable[Concatenate[T, P], object],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], T]: ...


@overload
def grad(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[Concatenate[Leaf, P], object],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Leaf, P], AnyTensor]: ...


@overload
def grad(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[Concatenate[Tree, P], object],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tree, P], Tree]: ...


@overload
def grad(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: UnannotatedPair | Callable[Concatenate[T, P], tuple[object, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], tuple[T, Aux]]: ...


@overload
def grad(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[Concatenate[Tree, P], tuple[object, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tree, P], tuple[PyTree, Aux]]: ...


@overload
def grad(  # its result is for functions of unknown types
    fun: Callable[..., tuple[object, object]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Any: ...


@overload
def grad(
    fun: Callable[P, object],
    argnums: int,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, PyTree]: ...


@overload
def grad(
    fun: Callable[P, object],
    argnums: int = 0,
    *,
    has_aux: bool,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, PyTree]: ...


@overload
def grad(
    fun: Callable[P, object],
    argnums: Sequence[int],
    *,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, tuple[PyTree, ...]]: ...


@overload
def grad(
    fun: Callable[P, object],
    argnums: Sequence[int],
    *,
    has_aux: bool,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, PyTree]: ...


@overload
def grad(  # its result is for functions of unknown types
    fun: Unannotated,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Any: ...


def grad(
    fun: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[..., PyTree]:
    """A function that returns the gradient of `fun` by its arguments `argnums`.

    The result has the structure of those arguments. The gradient by an input on which the result
    does not depend is zeros. For complex inputs the gradient is the conjugate of that of
    `jax.grad`: `grad(|z|²)` is `2z`.

    Args:
        fun: returns a real scalar (a complex one if `holomorphic`), or a pair with it first if
            `has_aux`.
        argnums: which positional arguments; a tuple gives a tuple of gradients.
        has_aux: return (gradient, aux).
        holomorphic: the function is a holomorphic one of complex arguments; return its complex
            derivative, as `jacrev` and `derivative` do, without a conjugate.
        allow_int: the gradients by integers and bools are NumPy arrays of the dtype `float0`, which
            has no values, as in JAX. Otherwise they are refused.
        reduce_axes: must be empty.
        ad_context: has the derivative rules of extension ops that the function uses.
        memory_limit: the most bytes that the program may need besides its arguments; see `jit`. In
            a function that is compiled it is a limit of the whole program.

    Raises:
        NonScalarGradError: the result is not a scalar of the required dtype.
        DTypeError: a leaf of these arguments is neither floating-point nor complex.
        ConfigError: `memory_limit` is not a number of bytes.
        MemoryLimitError: no way to keep the limit was found.

    >>> import tenferro as tn
    >>> grad(lambda x: tn.sum(x * x))(tn.Tensor([1.0, 2.0]))
    Tensor([2., 4.])
    """
    limit = MemoryLimit.read("grad", memory_limit)
    if reduce_axes:
        refuse_reduce_axes("grad", reduce_axes)
    return Gradients(
        "grad", fun, argnums, has_aux, holomorphic, ad_context, limit, allow_int=allow_int
    ).as_function()


def grad_optional(
    function: Callable[P, object],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, PyTree]:
    """Like `grad`, with None for inputs on which the result does not depend.

    >>> import tenferro as tn
    >>> grad_optional(lambda x, y: x * 2.0, argnums=(0, 1))(1.0, 1.0)
    (Tensor(2.), None)
    """
    limit = MemoryLimit.read("grad_optional", memory_limit)
    return Gradients(
        "grad_optional", function, argnums, has_aux, holomorphic, ad_context, limit, fill=False
    ).as_function()


@overload
def value_and_grad(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Unannotated | Callable[Concatenate[T, P], R],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[T, P], tuple[R, T]]: ...


@overload
def value_and_grad(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[Concatenate[Tree, P], R],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[Concatenate[Tree, P], tuple[R, PyTree]]: ...


@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: int,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, tuple[R, PyTree]]: ...


@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: Sequence[int],
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[P, tuple[R, tuple[PyTree, ...]]]: ...


@overload
def value_and_grad(  # its result is for functions of unknown types
    fun: Callable[Concatenate[Any, ...], object],
    argnums: Literal[0] = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Any: ...


def value_and_grad(
    fun: Callable[..., PyTree],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[str] = (),
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Callable[..., tuple[PyTree, PyTree]]:
    """A function that returns both the value and the gradient.

    With `has_aux`, ((value, aux), gradient).

    >>> import tenferro as tn
    >>> value_and_grad(lambda x: x * x)(3.0)
    (Tensor(9.), Tensor(6.))
    """
    limit = MemoryLimit.read("value_and_grad", memory_limit)
    if reduce_axes:
        refuse_reduce_axes("value_and_grad", reduce_axes)
    gradients = Gradients(
        "value_and_grad", fun, argnums, has_aux, holomorphic, ad_context, limit, allow_int=allow_int
    )

    def both(*args: PyTree, **kwargs: PyTree) -> tuple[PyTree, PyTree]:
        return gradients.with_value(args, kwargs)

    return wraps(fun, both)


@overload
def vjp(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[..., R],
    *primals: AnyTensor | Single,
    has_aux: Literal[False] = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, Callable[[PyTree], tuple[AnyTensor, ...]]]: ...


@overload
def vjp(
    fun: Callable[..., R],
    primal: T,
    /,
    *,
    has_aux: Literal[False] = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, Callable[[PyTree], tuple[T]]]: ...


@overload
def vjp(
    fun: Callable[..., R],
    primal: T,
    second: Second,
    /,
    *,
    has_aux: Literal[False] = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, Callable[[PyTree], tuple[T, Second]]]: ...


@overload
def vjp(
    fun: Callable[..., R],
    *primals: PyTree,
    has_aux: Literal[False] = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, CotangentMap]: ...


@overload
def vjp(  # type: ignore[overload-overlap]  # the first that fits counts
    fun: Callable[..., tuple[R, Aux]],
    *primals: AnyTensor | Single,
    has_aux: Literal[True],
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, Callable[[PyTree], tuple[AnyTensor, ...]], Aux]: ...


@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    primal: T,
    /,
    *,
    has_aux: Literal[True],
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, Callable[[PyTree], tuple[T]], Aux]: ...


@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: PyTree,
    has_aux: Literal[True],
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, CotangentMap, Aux]: ...


@overload
def vjp(
    fun: Callable[..., PyTree],
    *primals: PyTree,
    has_aux: bool,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[PyTree, ...]: ...


def vjp(
    fun: Callable[..., PyTree],
    *primals: PyTree,
    has_aux: bool = False,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[PyTree, CotangentMap] | tuple[PyTree, CotangentMap, PyTree]:
    """The value at `primals`, and the pullback.

    The pullback maps a cotangent of the result to a tuple of cotangents of the primals; those of
    integers and bools are NumPy arrays of the dtype `float0`, which has no values. It may be
    called any number of times. It saves the values that it needs of the forward run, and is a tree
    of them: functions that are compiled, mapped or scanned take and return it. Un-jitted, the
    forward run and the pullback are two programs, and each keeps `memory_limit` (see `grad`) with
    what it is given and returns; in a function that is compiled it is a limit of the whole program.

    >>> import tenferro as tn
    >>> y, pullback = vjp(tn.sin, tn.Tensor([0.0, 1.0]))
    >>> pullback(tn.Tensor([1.0, 0.0]))
    (Tensor([1., 0.]),)
    """
    if reduce_axes:
        refuse_reduce_axes("vjp", reduce_axes)
    ad = context_of(ad_context)
    trace, leaves = trace_in_context(ad, fun, primals, {}, has_aux)
    _, in_tree = flatten(primals)
    whole, wrt = without_integers("vjp", trace.inputs, ad)
    limit = MemoryLimit.read("vjp", memory_limit)
    linear_map = LinearMap.pullback(trace, results_of(trace, leaves, fun, ad, limit), wrt, ad)
    fill = Filled(whole, len(trace.inputs)) if whole else None
    pullback = Pullback(linear_map, trace.tree, in_tree, fill)
    value = unflatten(trace.tree, linear_map.values)
    return (value, pullback, linear_map.aux) if has_aux else (value, pullback)


@dataclass(frozen=True, slots=True)
class Gradients:
    """A call of a function that `grad` or a related transform returned.

    Attributes:
        name: what users called.
        limit: the memory limit of the program.
        fill: whether there are zeros in place of None.
        allow_int: whether gradients by integers are arrays of `float0`.
        on_trace: is called with the trace of the function.
    """

    name: str
    function: Callable[..., Any]
    argnums: Argnums
    has_aux: bool = False
    holomorphic: bool = False
    ad_context: AdContext | None = None
    limit: MemoryLimit | None = None
    fill: bool = True
    allow_int: bool = False
    on_trace: Callable[[Trace], None] | None = None

    def as_function(self) -> Callable[..., Any]:
        """The function of the gradients, or of the pair of them and the auxiliary result."""

        def gradient(*args: Any, **kwargs: Any) -> Any:
            value, grads = self.with_value(args, kwargs)
            return (grads, value[1]) if self.has_aux else grads

        return wraps(self.function, gradient)

    def with_value(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The value and the gradients."""
        groups = _argument_leaves(args, normal_argnums(self.name, self.argnums, len(args), kwargs))
        active = [position for positions, _ in groups for position in positions]
        ad = context_of(self.ad_context)
        trace, leaves = trace_in_context(ad, self.function, args, kwargs, self.has_aux, active)
        if self.on_trace is not None:
            self.on_trace(trace)
        wrt = [trace.input_at[position] for position in active]
        whole, wrt = without_integers(self.name, wrt, ad) if self.allow_int else ({}, wrt)
        require_active(wrt, self.holomorphic)
        keys = self._keys(trace, wrt, ad)
        if self.fill:
            keys = [*with_zeros(ad, keys, wrt)]
        present = [key for key in keys if key is not None]
        results = results_of(trace, leaves, self.function, ad, self.limit)
        values = results.of([*trace.outputs, *present, *trace.aux.keys])
        computed = iter(values[1:])
        by_floats = [None if key is None else next(computed) for key in keys]
        flat = iter(with_integers(whole, by_floats, len(active)))
        grads = [unflatten(tree, [next(flat) for _ in positions]) for positions, tree in groups]
        value = unflatten(trace.tree, values[:1])
        if self.has_aux:
            value = (value, trace.aux.rebuild(list(computed)))
        return value, grads[0] if isinstance(self.argnums, int) else tuple(grads)

    def _keys(
        self, trace: Trace, wrt: Sequence[GlobalValKey], ad: AdContext
    ) -> list[GlobalValKey | None]:
        if len(trace.outputs) != 1:
            advice = (
                "use jacfwd(jacrev(f))"
                if self.name == "hessian"
                else "return auxiliary results with has_aux=True"
            )
            raise PytreeError(
                f"{self.name}: the function must return one scalar, got {len(trace.outputs)} "
                f"leaves; {advice}"
            )
        (output,) = trace.outputs
        check_scalar(ad.shapes.meta(output), self.holomorphic, self.name)
        at = KeyEmitter(ad.shapes)
        if len(wrt) == 1 and not trace.context.varies and _forward_is_smaller(wrt[0], output, ad):
            return ad.push_forward([output], wrt, [full_like(at, 1, wrt[0])])
        varies = trace.context.varies
        keys = ad.pull_back(ad.linearize([output], wrt, varies), [full_like(at, 1, output)])
        if is_complex(ad.shapes.meta(output).dtype):  # a pullback applies the conjugate transpose
            keys = [None if key is None else at.emit(CONJ, key) for key in keys]
        return keys


def without_integers(
    name: str, wrt: Sequence[GlobalValKey], ad: AdContext
) -> tuple[dict[int, Any], list[GlobalValKey]]:
    """The derivatives by integers, by their places in `wrt`, and the other keys."""
    whole: dict[int, Any] = {
        place: np.zeros(meta.exact_shape(name, "argument"), FLOAT0)
        for place, key in enumerate(wrt)
        if not is_inexact((meta := ad.shapes.meta(key)).dtype)
    }
    return whole, [key for place, key in enumerate(wrt) if place not in whole]


def refuse_reduce_axes(name: str, axes: Sequence[str]) -> NoReturn:
    """Raise ADError: there are axes over which gradients are to be summed."""
    raise ADError(f"{name}: reduce_axes must be empty, got {axes!r}; sum with tn.lax.psum")


def _forward_is_smaller(x: GlobalValKey, result: GlobalValKey, ad: AdContext) -> bool:
    """Whether both modes take one pass, of which forward mode keeps nothing and grows less.

    Where an op has derivatives in one mode only, its own refusal tells users what to do. Where one
    sums over a named axis, the modes differ: reverse mode sums the cotangents of all entries.
    """
    meta = ad.shapes.meta(x)
    if meta.dims != () or is_complex(meta.dtype) or meta.dtype != ad.shapes.meta(result).dtype:
        return False
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, _ = view.topo_order([result], leaves=[x])
    return not any(
        op.primitive.in_one_mode or op.primitive.is_collective
        if isinstance(op.primitive, ControlOp)
        else isinstance(op.primitive, Collective)
        for op in ops
    )


def require_active(keys: Sequence[GlobalValKey], holomorphic: bool = False) -> None:
    """Raise DTypeError unless all inputs are floating-point or complex, and complex if so said."""
    for key in keys:
        meta = AD.shapes.meta(key)
        if not is_inexact(meta.dtype):
            check_active(meta, f"derivative by {name_of(key)}")
        if holomorphic and not is_complex(meta.dtype):
            raise DTypeError(
                f"derivative by {name_of(key)}: with holomorphic=True it must be complex, got "
                f"{meta}; convert it to complex, or leave holomorphic out"
            )


def normal_argnums(
    name: str, argnums: Argnums, count: int, keywords: Iterable[str] = ()
) -> list[int]:
    """Positions of arguments as non-negative integers.

    Args:
        name: of the transform, for errors.
        argnums: the positions.
        count: how many positional arguments the call has.
        keywords: the names of its other arguments, by which there are no derivatives.

    Raises:
        ADError: a position is out of range or occurs twice.
    """
    several: list[Any] = list(argnums) if isinstance(argnums, tuple | list) else [argnums]
    numbers: list[int] = []
    for each in several:
        number = integer_of(each)
        if number is None:
            raise ADError(f"{name}: argnums must be integers, got {each!r}")
        if not -count <= number < count:
            named = ", ".join(map(repr, keywords))
            advice = named and f"; {named} came by keyword: pass by position what argnums counts"
            positional = counted(count, "positional argument")
            raise ADError(f"{name}: argnums {number} is out of range for {positional}{advice}")
        numbers.append(number % count)
    if len(set(numbers)) != len(numbers):
        raise ADError(f"{name}: argnums {argnums} names an argument twice")
    return numbers


def _argument_leaves(args: tuple[Any, ...], numbers: Sequence[int]) -> list[tuple[range, TreeDef]]:
    """For each argument, the positions of its leaves among all leaves, and its structure."""
    groups: list[tuple[range, TreeDef]] = []
    start = 0
    for arg in args:
        leaves, treedef = flatten(arg)
        groups.append((range(start, start + len(leaves)), treedef))
        start += len(leaves)
    return list(map(groups.__getitem__, numbers))
