"""`einsum`: any network of tensors, planned and contracted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.arrays import convert, result_dtype
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply
from tenferro.errors import DTypeError, PathError, SubscriptError
from tenferro.extension import apply as apply_extension
from tenferro.network.lowering import emit_network
from tenferro.network.nested import NestedEinsum
from tenferro.network.op import EinsumOp
from tenferro.network.optimize import Auto, EinsumOptimize, Nested, as_optimize
from tenferro.network.plan import EinsumPlan
from tenferro.network.planner import PLANNER, check_memory, specification
from tenferro.network.subscripts import Subscripts
from tenferro.runtime import Tensor
from tenferro.shape import BOOL, INT64, Dim, DType, TensorMeta, TensorSpec, as_dtype


def einsum(expression: Any, *operands: Any, optimize: Any = True) -> Any:
    """Sum of products of the operands over the labels that the output does not have.

    Args:
        expression: subscripts such as `"ij,jk->ik"`; parentheses in them give the order. Or
            `Subscripts`, or a pair of lists of integers. Or, with lists of integers in between, the
            first operand: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
        operands: arrays of any kind; dtypes are promoted as NumPy does.
        optimize: True searches for the order, False contracts from left to right; a path, a
            `NestedEinsum`, a `ContractionTree`, an `EinsumPlan` or `ContractionOptimizerOptions`
            say it.

    Raises:
        SubscriptError: the subscripts are none, or do not fit the number or ranks of operands.
        ShapeError: a label has two sizes.
        PathError: the order does not contract the operands to one.
        MemoryLimitError: intermediates need more memory than the options allow.

    >>> einsum("ij,jk->ik", np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[1., 2.],
            [3., 4.]])
    >>> einsum("ii->i", np.arange(4.0).reshape(2, 2))
    Tensor([0., 3.])
    """
    call = read_call(expression, operands, optimize)
    if any(not isinstance(size, int) for shape in call.shapes for size in shape):
        return _late(call)
    plan = _planned(call)
    network = call.subscripts
    sizes, pairs = plan.tree.sizes, plan.tree.pairs

    def contract(at: Emitter[V], *values: V) -> V:
        dtype = result_dtype(at, list(values))
        numbers = [convert(at, value, INT64 if dtype == BOOL else dtype) for value in values]
        result = emit_network(at, network, sizes, pairs, numbers)
        return convert(at, result, dtype)

    contract.__name__ = "einsum"
    return apply(contract, *call.operands)


def einsum_plan(expression: Any, *operands: Any, optimize: Any = True) -> EinsumPlan:
    """How `einsum` would contract these operands, arrays or `TensorSpec`s of known sizes.

    >>> plan = einsum_plan("ij,jk,kl->il", *[TensorSpec((8, 8))] * 3)
    >>> print(plan)
    einsum ij,jk,kl->il, float64
    2.05e+03 flops, peak 1 KiB, largest intermediate 64 elements
    step  contraction           flops     B x M x N x K  bytes
    3     #0, #1: ij,jk->ik     1.02e+03  1x8x8x8        512
    4     %3, #2: ik,kl->il     1.02e+03  1x8x8x8        512
    """
    return _planned(read_call(expression, operands, optimize))


class Call:
    """The arguments of `einsum`, read."""

    __slots__ = ("operands", "plan", "shapes", "strategy", "subscripts")

    def __init__(
        self,
        subscripts: Subscripts,
        operands: Sequence[Any],
        strategy: EinsumOptimize,
        plan: EinsumPlan | None,
    ) -> None:
        self.subscripts = subscripts
        self.operands = operands
        self.strategy = strategy
        self.plan = plan
        self.shapes = [_meta(operand).exact_shape("einsum", "operand") for operand in operands]

    @property
    def dtype(self) -> DType:
        """The operands' common dtype."""
        return as_dtype(np.result_type(*[_meta(operand).dtype for operand in self.operands]))


def read_call(expression: Any, operands: Sequence[Any], optimize: Any) -> Call:
    """Subscripts, operands and strategy, whatever the form of the call."""
    if _is_interleaved(expression, operands):
        expression, operands = _interleaved([expression, *operands])
    values = [_operand(operand, position) for position, operand in enumerate(operands)]
    if not values:
        raise SubscriptError("einsum: there are no operands")
    ranks = [_meta(value).rank for value in values]
    if isinstance(expression, str) and "(" in expression:
        expression = NestedEinsum.parse(expression)
    if isinstance(expression, NestedEinsum):
        if optimize is not True and optimize is not None:
            raise PathError("einsum: parentheses give the order already; leave optimize out")
        return Call(expression.subscripts, values, Nested(expression), None)
    subscripts = _subscripts(expression, ranks)
    if isinstance(optimize, EinsumPlan):
        return Call(subscripts, values, as_optimize(optimize.path), optimize)
    return Call(subscripts, values, as_optimize(optimize), None)


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
                f"einsum: takes subscripts first, got a {type(expression).__name__}"
            )


def _is_interleaved(expression: Any, operands: Sequence[Any]) -> bool:
    """Whether the call alternates operands and lists of labels."""
    if isinstance(expression, str | Subscripts | NestedEinsum) or not operands:
        return False
    labels = operands[0]
    return isinstance(labels, list | tuple) and all(
        label is ... or (isinstance(label, int) and not isinstance(label, bool)) for label in labels
    )


def _interleaved(arguments: list[Any]) -> tuple[Any, list[Any]]:
    output = arguments.pop() if len(arguments) % 2 else None
    return (arguments[1::2], output), arguments[0::2]


def _operand(operand: Any, position: int) -> Any:
    if isinstance(operand, TensorSpec) or isinstance(getattr(operand, "meta", None), TensorMeta):
        return operand
    try:
        return Tensor(operand)
    except DTypeError as error:
        raise DTypeError(f"einsum: operand {position}: {error}") from None


def _meta(operand: Any) -> TensorMeta:
    meta: TensorMeta = operand.meta
    return meta


def _planned(call: Call) -> EinsumPlan:
    """The plan for operands of known sizes."""
    if call.plan is not None:
        call.plan.check_shapes(call.subscripts, call.shapes)
        return call.plan
    spec = specification(call.strategy, call.subscripts, call.shapes)
    options = call.strategy.options if isinstance(call.strategy, Auto) else None
    shapes = [tuple(int(size) for size in shape) for shape in _known(call.shapes)]
    tree = PLANNER.tree(call.subscripts, shapes, spec, options)
    plan = EinsumPlan(tuple(shapes), call.dtype, tree)
    if options is not None:
        check_memory(tree, plan.dtype.itemsize, options.memory_limit)
    return plan


def _known(shapes: Sequence[tuple[Dim, ...]]) -> list[tuple[int, ...]]:
    known: list[tuple[int, ...]] = []
    for shape in shapes:
        sizes = tuple(size for size in shape if isinstance(size, int))
        if len(sizes) != len(shape):
            raise PathError(
                f"einsum: a plan needs sizes that are known, got [{', '.join(map(str, shape))}]"
            )
        known.append(sizes)
    return known


def _late(call: Call) -> Any:
    """One op in the graph, planned when the sizes are known."""
    plan = specification(call.strategy, call.subscripts, call.shapes)
    network = call.subscripts.canonical()
    operands = [_of_dtype(operand, call.dtype) for operand in call.operands]
    return apply_extension(EinsumOp(network.inputs, network.output, plan), *operands)


def _of_dtype(operand: Any, dtype: DType) -> Any:
    return operand if _meta(operand).dtype == dtype else operand.astype(dtype)
