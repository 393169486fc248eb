"""einsum: tropical contractions of any number of tensors, two at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import opt_einsum

import tenferro as tn
from tenferro.errors import ShapeError
from tenferro.extension import apply
from tenferro_ext_tropical.ops import TropicalEinsum
from tenferro_ext_tropical.semiring import Kind, semiring
from tenferro_ext_tropical.subscripts import (
    Shape,
    Subscripts,
    check_dtype,
    numbered,
    parse,
    sizes_of,
)

Path = Sequence[tuple[int, ...]]

GUESS = 32
"""The size that stands for an unknown one when the order of contractions is chosen."""


def einsum(
    subscripts: str,
    *operands: Any,
    kind: Kind = "maxplus",
    optimize: str | Path = "auto",
) -> Any:
    """Einsum with + for × and max, or min, for the sum.

    `einsum("ij,jk->ik", a, b)` has the elements max_j (a_ij + b_jk). The notation is NumPy's;
    axes with one label must have one size.

    A product that is NaN is skipped. If no product is left, the result is the tropical zero: -inf,
    or inf for min-plus. The derivative is that of the first product that attains the result, and 0
    where the result is the tropical zero.

    Args:
        subscripts: such as `"ij,jk->ik"`.
        operands: float32 or float64 tensors, of any kind that functions of tenferro take.
        kind: `"maxplus"` or `"minplus"`.
        optimize: an order of contractions, or a way to find one, as for `opt_einsum.contract_path`.

    Raises:
        KindError: there is no such semiring.
        SubscriptsError: the notation is wrong, or does not fit the operands.
        DTypeError: an operand has no order, or no tropical zero.
        ShapeError: axes with one label have different sizes.

    >>> import numpy as np
    >>> hops = np.array([[0.0, 1.0, 5.0], [np.inf, 0.0, 1.0], [np.inf, np.inf, 0.0]])
    >>> einsum("ij,jk->ik", hops, hops, kind="minplus")
    Tensor([[ 0.,  1.,  2.],
            [inf,  0.,  1.],
            [inf, inf,  0.]])
    """
    semiring(kind)
    tensors = _tensors(operands)
    read = parse(subscripts, [len(_shape(x)) for x in tensors])
    for position, x in enumerate(tensors):
        check_dtype(position, x.dtype)
    sizes = sizes_of(read.inputs, [_shape(x) for x in tensors])
    tensors = _of_one_dtype(tensors)
    terms = list(read.inputs)
    for pair in _path(read, sizes, optimize):
        chosen = [(terms[i], tensors[i]) for i in pair]
        for i in sorted(pair, reverse=True):
            del terms[i], tensors[i]
        if len(chosen) == 1:
            chosen.append(("", tn.zeros((), dtype=chosen[0][1].dtype)))  # times one
        (first, x), (second, y) = chosen
        output = _output(first, second, read.output, terms)
        terms.append(output)
        tensors.append(apply(TropicalEinsum(kind, *numbered(first, second, output)), x, y))
    return tensors[0]


def _output(first: str, second: str, result: str, rest: Sequence[str]) -> str:
    """The labels of a step: those that the result or another operand still needs."""
    if not rest:
        return result
    needed = set(result).union(*rest)
    return "".join([label for label in dict.fromkeys(first + second) if label in needed])


def _path(read: Subscripts, sizes: dict[str, Any], optimize: str | Path) -> list[tuple[int, ...]]:
    """Pairs of operands in order; a step of one operand if there is only one."""
    if len(read.inputs) <= 2:
        return [tuple(range(len(read.inputs)))]
    shapes = [
        tuple([max(1, size) if isinstance(size := sizes[label], int) else GUESS for label in term])
        for term in read.inputs
    ]
    steps, _ = opt_einsum.contract_path(str(read), *shapes, shapes=True, optimize=optimize)
    path: list[tuple[int, ...]] = []
    count = len(read.inputs)
    for step in steps:
        path.extend(_pairs(tuple(step), count))
        count -= len(step) - 1
    return path


def _pairs(step: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """A step of several operands as steps of two: the first two, then their result and the next.

    The result of a step is the last of the remaining operands.
    """
    rest = sorted(step)
    pairs: list[tuple[int, ...]] = []
    while len(rest) > 1:
        first, second = rest[:2]
        pairs.append((first, second))
        count -= 1
        rest = [*(i - 2 for i in rest[2:]), count - 1]
        rest = [rest[-1], *rest[:-1]] if len(rest) > 1 else rest
    return pairs


def _tensors(operands: Sequence[Any]) -> list[Any]:
    """Operands with a dtype and a shape; a Python number takes the dtype of the others."""
    numbers = [isinstance(x, int | float) and not isinstance(x, bool) for x in operands]
    tensors = [
        x if number or (hasattr(x, "dtype") and hasattr(x, "ndim")) else tn.asarray(x)
        for x, number in zip(operands, numbers, strict=True)
    ]
    dtypes = [x.dtype for x, number in zip(tensors, numbers, strict=True) if not number]
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    return [
        tn.asarray(x, dtype=dtype) if number else x
        for x, number in zip(tensors, numbers, strict=True)
    ]


def _of_one_dtype(tensors: Sequence[Any]) -> list[Any]:
    dtype = np.result_type(*[x.dtype for x in tensors])
    return [x if x.dtype == dtype else tn.astype(x, dtype) for x in tensors]


def _shape(x: Any) -> Shape:
    """The sizes of the axes; None for an axis whose size is bounded or unknown."""
    try:
        return tuple(x.shape)
    except ShapeError:
        return (None,) * int(x.ndim)
