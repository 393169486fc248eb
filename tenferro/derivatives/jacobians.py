"""Dense derivatives: Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

import numpy as np

from tenferro.arrays import rearrange
from tenferro.computegraph import GlobalValKey
from tenferro.derivatives.context import AD, AdContext, context_of, results_of
from tenferro.derivatives.gradients import (
    Argnums,
    grad,
    normal_argnums,
    require_active,
)
from tenferro.derivatives.linear_map import LinearMap
from tenferro.errors import DTypeError, PytreeError
from tenferro.shape import TensorMeta, is_complex
from tenferro.traced import TracedTensor, flatten, trace_function, unflatten, wraps
from tenferro.typing import PyTree
from tenferro.values import Tensor

P = ParamSpec("P")


def jacfwd(
    function: Callable[P, object],
    argnums: Argnums = 0,
    *,
    holomorphic: bool = False,
    ad_context: AdContext | None = None,
) -> Callable[P, PyTree]:
    """The Jacobian, column by column: one forward pass for each element of the argument.

    If `argnums` is a tuple, there is a tuple for each result.

    The result has the structure of the function's result, with the structure of the argument in
    place of each leaf. For a result leaf of shape `[*o]` and an argument leaf of shape `[*i]` it
    has an array `[*o, *i]`.

    Raises:
        DTypeError: the argument is complex and `holomorphic` is not set.

    >>> import tenferro as tn
    >>> jacfwd(lambda x: x * x)(tn.Tensor([1.0, 2.0]))
    Tensor([[2., 0.],
            [0., 4.]])
    """

    jacobian_of = _Jacobian(function, argnums, holomorphic, ad_context)

    def jacobian(*args: P.args, **kwargs: P.kwargs) -> PyTree:
        return jacobian_of(args, kwargs, forward=True)

    return wraps(function, jacobian)


def jacrev(
    function: Callable[P, object],
    argnums: Argnums = 0,
    *,
    holomorphic: bool = False,
    ad_context: AdContext | None = None,
) -> Callable[P, PyTree]:
    """The Jacobian, row by row: one reverse pass for each element of the result.

    Shapes are those of `jacfwd`. For complex arguments and a real result, the rows are gradients in
    the convention of `grad`. For a `holomorphic` function they are the complex derivative.

    Raises:
        DTypeError: the result is complex and `holomorphic` is not set.

    >>> import tenferro as tn
    >>> jacrev(lambda x: tn.sum(x * x))(tn.Tensor([1.0, 2.0]))
    Tensor([2., 4.])
    """

    jacobian_of = _Jacobian(function, argnums, holomorphic, ad_context)

    def jacobian(*args: P.args, **kwargs: P.kwargs) -> PyTree:
        return jacobian_of(args, kwargs, forward=False)

    return wraps(function, jacobian)


def hessian(
    function: Callable[P, object], argnums: Argnums = 0, *, ad_context: AdContext | None = None
) -> Callable[P, PyTree]:
    """Second derivatives of a real scalar function.

    Computed forward over reverse. The result is of shape `[*i, *i]` for an argument `[*i]`.

    >>> import tenferro as tn
    >>> hessian(lambda x: tn.sum(x * x * x))(tn.Tensor([1.0, 2.0]))
    Tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    gradient = grad(function, argnums, ad_context=ad_context)
    return jacfwd(gradient, argnums, ad_context=ad_context)


@dataclass(frozen=True, slots=True)
class _Jacobian:
    """A call of a function that `jacfwd` or `jacrev` returned."""

    function: Callable[..., Any]
    argnums: Argnums
    holomorphic: bool
    ad_context: AdContext | None

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], forward: bool) -> Any:
        """The Jacobian; column by column if `forward`."""
        function, argnums, holomorphic = self.function, self.argnums, self.holomorphic
        name = "jacfwd" if forward else "jacrev"
        numbers = normal_argnums(name, argnums, len(args))

        def of_some(*arguments: Any) -> Any:
            replaced = dict(zip(numbers, arguments, strict=True))
            return function(*(replaced.get(i, arg) for i, arg in enumerate(args)), **kwargs)

        varied = tuple(args[number] for number in numbers)
        trace, leaves = trace_function(of_some, varied, {})
        require_active(trace.inputs)
        ad = context_of(self.ad_context)
        results = results_of(trace, leaves, function, ad)
        _, arg_tree = flatten(varied[0] if isinstance(argnums, int) else varied)
        make = LinearMap.pushforward if forward else LinearMap.pullback
        _check_real(name, trace.inputs if forward else trace.outputs, holomorphic)
        linear_map = make(trace, results, ad)
        inner, image = trace.inputs, trace.outputs
        domain, codomain = (inner, image) if forward else (image, inner)
        columns = [linear_map(direction) for direction in _basis(domain)]
        if holomorphic and not forward:  # a pullback applies the conjugate transpose
            columns = [[value.conj() for value in column] for column in columns]
        blocks = _blocks(columns, _metas(domain, name), _metas(codomain, name), transposed=forward)
        rows = [unflatten(arg_tree, row) for row in blocks]
        return unflatten(trace.out_tree, rows)


def _check_real(name: str, keys: Sequence[GlobalValKey], holomorphic: bool) -> None:
    for key in keys:
        meta = AD.shapes.meta(key)
        if is_complex(meta.dtype) and not holomorphic:
            raise DTypeError(
                f"{name}: {meta} is complex; pass holomorphic=True if the function is holomorphic, "
                "or use jvp and vjp"
            )


def _basis(keys: Sequence[GlobalValKey]) -> list[list[Tensor]]:
    """The unit vectors of the arguments' space, leaf after leaf."""
    metas = _metas(keys, "jacobian")
    zeros = [np.zeros(meta.static_shape or (), meta.dtype) for meta in metas]
    directions: list[list[Tensor]] = []
    for leaf, zero in enumerate(zeros):
        for position in range(zero.size):
            one_hot = zero.copy()
            one_hot.flat[position] = 1
            directions.append(
                [Tensor(one_hot if i == leaf else value) for i, value in enumerate(zeros)]
            )
    return directions


def _blocks(
    columns: list[list[Any]], domain: list[TensorMeta], codomain: list[TensorMeta], transposed: bool
) -> list[list[Any]]:
    """One array for each pair of result leaf and argument leaf."""
    blocks: list[list[Any]] = []
    for image, image_meta in enumerate(codomain):
        row: list[Any] = []
        start = 0
        for meta in domain:
            shape = meta.static_shape or ()
            count = int(np.prod(shape, dtype=np.int64))
            images = [column[image] for column in columns[start : start + count]]
            start += count
            row.append(_assemble(images, shape, image_meta, transposed))
        blocks.append(row)
    return blocks if transposed else [list(block) for block in zip(*blocks, strict=True)]


def _assemble(images: list[Any], shape: tuple[int, ...], image: TensorMeta, last: bool) -> Any:
    """The images of a leaf's basis as one array, with the leaf's axes last or first."""
    image_shape = image.static_shape or ()
    target = (*image_shape, *shape) if last else (*shape, *image_shape)
    if not images:
        return Tensor(np.zeros(target, image.dtype))
    kind = TracedTensor if any(isinstance(value, TracedTensor) for value in images) else Tensor
    first: Any = (
        images[0] if isinstance(images[0], kind) else next(v for v in images if isinstance(v, kind))
    )
    axis = len(image_shape) if last else 0
    return first._apply(_stack_and_reshape, *images, axis=axis, shape=target)


def _stack_and_reshape(at: Any, *values: Any, axis: int, shape: tuple[int, ...]) -> Any:
    return rearrange.reshape(at, rearrange.stack(at, *values, axis=axis), shape)


def _metas(keys: Sequence[GlobalValKey], name: str) -> list[TensorMeta]:
    metas = [AD.shapes.meta(key) for key in keys]
    for meta in metas:
        if meta.static_shape is None:
            raise PytreeError(f"{name}: needs constant extents, got {meta}; use jvp or vjp")
    return metas
