"""`einsum` and `einsum_plan`: read a call, plan its network, contract it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenferro.compiler import MemoryLimit
from tenferro.config import DEFAULT_RULES, RULES_OF_PROCESS, rules_here
from tenferro.core import BoundedCache
from tenferro.errors import DTypeError, PathError, SubscriptError, class_of
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    Dim,
    DType,
    DTypeLike,
    Exact,
    InputDim,
    TensorMeta,
    TensorSpec,
    promoted_dtype,
    symbol,
)
from tenferro.network.display import with_progress_bar
from tenferro.network.einsum_op import EinsumOp
from tenferro.network.memory_limit import Slices, bytes_of, read_slices, within
from tenferro.network.plan import EinsumPlan
from tenferro.network.planner import PLANNER, order_of, specification
from tenferro.network.search import Auto, EinsumOptimize, as_optimize
from tenferro.network.subscripts import NestedEinsum, Subscripts
from tenferro.ops.functions import apply, refuse_out
from tenferro.ops.functions.products import check_precision, preferred
from tenferro.runtime import HOST_MODEL, Tensor, by_dtype_rules, holder_of, planned_model
from tenferro.transforms import apply as apply_extension

__all__ = ["PLANS", "einsum", "einsum_path", "einsum_plan"]

Bytes = int | float | str | None
PLANS: BoundedCache[Any, EinsumPlan] = PLANNER.plans
"""The plans of calls of `einsum`, each with its compiled program."""


def einsum(
    expression: Any,
    *operands: ArrayLike,
    out: object = None,
    optimize: Any = True,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
    slices: Any = None,
    memory_limit: Bytes = None,
) -> AnyTensor:
    """Sum of products of the operands over the labels that the output does not have.

    Args:
        expression: subscripts such as `"ij,jk->ik"`, in which parentheses give the order;
            `Subscripts`; or a pair of lists of integers. It may also be the first operand, with
            lists of integers between the operands: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
        operands: arrays of any kind; dtypes are promoted as NumPy does.
        out: None, as arrays are not written to.
        optimize: True searches for an order; False contracts from left to right; a path, a
            `NestedEinsum`, a `ContractionTree` or an `EinsumPlan` is the order itself, and so is a
            `PathInfo` of opt_einsum or a tree of cotengra with its slices;
            `ContractionOptimizerOptions` are the options of the search; an optimizer of opt_einsum
            or cotengra is asked once for a network of these sizes. "auto" is True.
        precision: has no effect, as of `tn.matmul`.
        preferred_element_type: the dtype in which it is computed.
        slices: labels to loop over in order to save memory, or the least number of slices. True
            slices as much as the memory limit needs and is the default of an automatic order;
            False does not slice. The default of a tree of cotengra is its own slices.
        memory_limit: most bytes that intermediates and the result may take at once, as predicted:
            a number, a text such as `"1.5 GB"`, or `"device"` for as much as is free when the plan
            is made, rounded down. The device is that of the operands, or that of the function
            which `tn.jit` compiles; otherwise the host.

    Raises:
        SubscriptError: the subscripts are invalid, or do not fit the number or ranks of operands.
        ShapeError: a label has two sizes.
        PathError: the order does not contract the operands to one value.
        MemoryLimitError: the contraction needs more memory than is allowed; the text names slices
            that fit.

    >>> einsum("ij,jk->ik", np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[1., 2.],
            [3., 4.]])
    >>> einsum("ii->i", np.arange(4.0).reshape(2, 2))
    Tensor([0., 3.])
    """
    if out is not None:
        refuse_out("einsum", out)
    if precision is not None:
        check_precision("einsum", precision)
    call = read_call(expression, operands, optimize, slices, memory_limit)
    if preferred_element_type is not None:
        whole = preferred("einsum", call.dtype, preferred_element_type)
        call = replace(call, operands=[each.astype(whole) for each in call.operands])
    if any(not isinstance(size, int) for shape in call.shapes for size in shape):
        return _unplanned(call)
    return apply(_planned(call).contract, *call.operands)


def einsum_plan(
    expression: Any,
    *operands: Any,
    optimize: Any = True,
    slices: Any = None,
    memory_limit: Bytes = None,
) -> EinsumPlan:
    """The plan by which `einsum` contracts these operands: arrays or `TensorSpec`s of known sizes.

    >>> plan = tn.einsum_plan("ij,jk,kl->il", *[tn.TensorSpec((8, 8))] * 3)
    >>> print(plan)
    einsum ij,jk,kl->il, float64
    2.05e+03 flops, peak 1 KiB, largest intermediate 64 elements
    step  contraction        flops     B x M x N x K  bytes
    3     #1, #2: jk,kl->jl  1.02e+03  1x8x8x8        512
    4     #0, %3: ij,jl->il  1.02e+03  1x8x8x8        512
    """
    return _planned(read_call(expression, operands, optimize, slices, memory_limit))


@dataclass(frozen=True, slots=True)
class EinsumCall:
    """The arguments of a call of `einsum`, parsed and checked.

    Attributes:
        plan: the plan that `optimize=` is, if it is one.
        strategy: what makes the plan otherwise.
        limit: the memory limit in bytes.
    """

    subscripts: Subscripts
    operands: Sequence[Any]
    shapes: Sequence[tuple[Dim, ...]]
    plan: EinsumPlan | None
    strategy: EinsumOptimize
    slices: Slices
    limit: int | None

    @property
    def dtype(self) -> DType:
        """The operands' common dtype."""
        return promoted_dtype(*[operand.meta.dtype for operand in self.operands])


def read_call(
    expression: Any,
    operands: Sequence[Any],
    optimize: Any,
    slices: Any = None,
    memory_limit: Bytes = None,
) -> EinsumCall:
    """Subscripts, operands and strategy of a call in any of its forms; "auto" is True."""
    if isinstance(optimize, str) and optimize == "auto":
        optimize = True
    if _is_interleaved(expression, operands):
        arguments = [expression, *operands]
        output = arguments.pop() if len(arguments) % 2 else None
        expression, operands = (arguments[1::2], output), arguments[0::2]
    _check_arguments(expression, operands)
    limit = MemoryLimit.read("einsum", memory_limit)
    if (rules_here.get() or RULES_OF_PROCESS[0]) is not DEFAULT_RULES:
        operands = by_dtype_rules(tuple(operands))
    values = [_operand(operand, position) for position, operand in enumerate(operands)]
    if not values:
        raise SubscriptError("einsum: there are no operands; pass at least one")
    if isinstance(expression, str) and "(" in expression:
        expression = NestedEinsum.parse(expression)
    if isinstance(expression, NestedEinsum):
        if optimize is not True and optimize is not None:
            raise PathError("einsum: the parentheses give the order; leave optimize out")
        expression, optimize = expression.subscripts, expression
    subscripts = _subscripts(expression, [value.meta.rank for value in values])
    shapes = [_sizes(position, value.meta) for position, value in enumerate(values)]
    plan = optimize if isinstance(optimize, EinsumPlan) else None
    made = order_of(optimize, subscripts, shapes)
    order = plan or made
    strategy = as_optimize(optimize if order is None else order.path)
    if slices is None and made is not None and made.slices:
        slices = made.slices
    automatic = strategy.options if isinstance(strategy, Auto) else None
    chosen = read_slices(slices, subscripts, automatic is not None)
    most = None if automatic is None else automatic.memory_limit
    if limit is not None:
        most = bytes_of(limit, holder_of(values))
    return EinsumCall(subscripts, values, shapes, plan, strategy, chosen, most)


def _check_arguments(expression: Any, operands: Sequence[Any]) -> None:
    """Raise a typed error for arguments that are exchanged, in a list, or of another kind."""
    if not isinstance(expression, str) and any(isinstance(each, str) for each in operands):
        raise SubscriptError(
            "einsum: the subscripts come first; write einsum('ij,jk->ik', x, y), not "
            "einsum(x, y, 'ij,jk->ik')"
        )
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        arrays = [hasattr(item, "shape") for item in operands[0]]
        if arrays and all(arrays) and isinstance(expression, str) and "," in expression:
            raise SubscriptError(
                f"einsum: {expression} takes its operands one by one, not in "
                f"{class_of(operands[0])}; write einsum({expression!r}, *operands)"
            )


def _subscripts(expression: Any, ranks: Sequence[int]) -> Subscripts:
    match expression:
        case Subscripts():
            return expression
        case str():
            return Subscripts.parse(expression, ranks)
        case (inputs, output):
            return Subscripts.from_labels(inputs, output, ranks)
        case _:
            raise SubscriptError(
                f"einsum: the first argument is subscripts, got {class_of(expression)}"
            )


def _is_interleaved(expression: Any, operands: Sequence[Any]) -> bool:
    """Whether the call alternates operands and lists of labels."""
    if isinstance(expression, str | Subscripts | NestedEinsum) or not operands:
        return False
    labels = operands[0]
    return isinstance(labels, list | tuple) and all(
        label is ... or (isinstance(label, int) and not isinstance(label, bool)) for label in labels
    )


def _operand(operand: Any, position: int) -> Any:
    if isinstance(operand, TensorSpec) or isinstance(getattr(operand, "meta", None), TensorMeta):
        return operand
    try:
        return Tensor(operand)
    except DTypeError as error:
        raise DTypeError(f"einsum: operand {position}: {error}") from None


def _planned(call: EinsumCall) -> EinsumPlan:
    """The plan for operands of known sizes; cached by network, types and options."""
    if call.plan is not None:
        call.plan.check_shapes(call.subscripts, call.shapes)
        return within(call.plan, call.slices, call.limit)
    spec = specification(call.strategy, call.subscripts, call.shapes)
    options = call.strategy.options if isinstance(call.strategy, Auto) else None
    shapes = tuple(_known(call.shapes))
    dtype = call.dtype
    device = planned_model(holder_of(call.operands))

    def make() -> EinsumPlan:
        with with_progress_bar(options) as reporting:
            tree = PLANNER.tree(call.subscripts, shapes, spec, reporting, device.costs)
        plan = EinsumPlan(shapes, dtype, tree, device.costs, runs=device.runs)
        return within(plan, call.slices, call.limit)

    key: tuple[Any, ...] = (call.subscripts, shapes, dtype, spec, call.slices, call.limit)
    if device is not HOST_MODEL:
        key = (*key, device)
    return PLANS.get_or_make(key, make)


def _sizes(position: int, meta: TensorMeta) -> tuple[Dim, ...]:
    """The sizes of an operand; a data-dependent size becomes a symbol of its own."""
    if meta.dims is not None:
        return meta.dims
    return tuple(
        extent.dim if isinstance(extent, Exact) else symbol(InputDim(position, axis))
        for axis, extent in enumerate(meta.extents)
    )


def _known(shapes: Sequence[tuple[Dim, ...]]) -> list[tuple[int, ...]]:
    known: list[tuple[int, ...]] = []
    for shape in shapes:
        sizes = tuple(size for size in shape if isinstance(size, int))
        if len(sizes) != len(shape):
            raise PathError(
                f"einsum: a plan needs known sizes, got [{', '.join(map(str, shape))}]; call "
                "einsum itself, which plans when the sizes are known"
            )
        known.append(sizes)
    return known


def _unplanned(call: EinsumCall) -> AnyTensor:
    """Record one op, which is planned once its sizes are known."""
    if call.slices.kind in ("labels", "count"):
        raise PathError(
            "einsum: slices= needs known sizes, but an operand has symbolic sizes; pass "
            "memory_limit= instead"
        )
    strategy = call.strategy
    if call.limit is not None:
        if not isinstance(strategy, Auto):
            raise PathError(
                "einsum: memory_limit= needs known sizes or an automatic order, but an operand has "
                "symbolic sizes; pass optimize=True"
            )
        strategy = Auto(replace(strategy.options, memory_limit=call.limit))
    plan = specification(strategy, call.subscripts, call.shapes)
    network = call.subscripts.canonical()
    dtype = call.dtype
    operands = [x if x.meta.dtype == dtype else x.astype(dtype) for x in call.operands]
    op = EinsumOp(network.inputs, network.output, plan)
    result: AnyTensor = apply_extension(op, *operands)  # the op has one output
    return result


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = True
) -> tuple[list[tuple[int, ...]], EinsumPlan]:
    """The order in which `tn.einsum` contracts a network, and the plan, which prints its costs.

    >>> import numpy as np
    >>> tn.einsum_path("ij,jk,k->i", np.ones((2, 9)), np.ones((9, 9)), np.ones(9))[0]
    [(1, 2), (0, 1)]
    """
    plan = einsum_plan(subscripts, *operands, optimize=optimize)
    return [tuple(pair) for pair in plan.path], plan
