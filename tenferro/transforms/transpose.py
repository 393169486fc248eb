"""linear_transpose: a linear function run from its results to its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenferro.core import ResolvedView, name_of, resolve_keys
from tenferro.errors import ADError
from tenferro.ir import PyTree, type_of
from tenferro.ops import StdTensorOp
from tenferro.transforms.ad_context import AdContext, context_of, results_of, with_zeros
from tenferro.transforms.grad import refuse_reduce_axes, require_active
from tenferro.transforms.linear_map import matching_leaves
from tenferro.transforms.linear_part import LinearPart
from tenferro.transforms.trace import trace_function
from tenferro.transforms.trees import flatten, unflatten

__all__ = ["linear_transpose"]


def linear_transpose(
    fun: Callable[..., PyTree],
    *primals: PyTree,
    reduce_axes: Sequence[str] = (),
    ad_context: AdContext | None = None,
) -> Callable[[PyTree], tuple[PyTree, ...]]:
    """The transpose of a linear function, from cotangents of its result to those of its arguments.

    It is the adjoint by the inner product Re(conj(a)·b), as the pullback of `vjp` is: the
    transpose of `c * x` is `conj(c) * ct`. A constant that the function adds does not matter.

    Args:
        fun: linear in its arguments.
        primals: the types of the arguments: arrays, `TensorSpec`s, or trees of these. Their values
            are not read.
        reduce_axes: must be empty.
        ad_context: has the derivative rules of extension ops that the function uses.

    Raises:
        ADError: the function is not linear.
        DTypeError: an argument is neither floating-point nor complex.

    >>> import tenferro as tn
    >>> transposed = linear_transpose(lambda x: x[1:] - x[:-1], tn.TensorSpec((3,)))
    >>> transposed(tn.Tensor([1.0, 10.0]))
    (Tensor([-1., -9., 10.]),)
    """
    if reduce_axes:
        refuse_reduce_axes("linear_transpose", reduce_axes)
    trace, _ = trace_function(fun, primals, {}, nested=False)
    _, in_tree = flatten(primals)
    require_active(trace.inputs)
    ad = context_of(ad_context)
    part = LinearPart.pullback(
        ad.linearize(trace.outputs, trace.inputs, trace.context.varies),
        len(trace.outputs),
        ad.shapes,
    )
    images = with_zeros(ad, part.outputs, trace.inputs)
    view: ResolvedView[StdTensorOp] = resolve_keys()
    _, read = view.topo_order(images)
    for key in trace.inputs:
        if key in read:
            raise ADError(
                f"linear_transpose: the function is not linear in {name_of(key)}; take vjp at a "
                "point"
            )
    results = results_of(trace, [], fun, ad)

    def transposed(ct: PyTree) -> tuple[PyTree, ...]:
        cts = matching_leaves(
            "linear_transpose", "cotangent", ct, trace.tree, list(map(type_of, trace.outputs))
        )
        bound = [
            (seed, leaf) for seed, leaf in zip(part.seeds, cts, strict=True) if seed is not None
        ]
        applied = results.extended([seed for seed, _ in bound], [leaf for _, leaf in bound])
        cotangents: tuple[PyTree, ...] = unflatten(in_tree, applied.of(images))
        return cotangents

    return transposed
