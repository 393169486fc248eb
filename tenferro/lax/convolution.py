"""Convolutions: the elements at each place of the kernel, contracted with the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenferro.errors import AxisError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike
from tenferro.lax.arguments import tuple_of
from tenferro.lax.dot import dot_general
from tenferro.lax.reductions import Padding, pads_of, windows
from tenferro.lax.shapes import pad, reshape, transpose
from tenferro.numpy import asarray, stack
from tenferro.ops.functions.products import check_precision

__all__ = [
    "ConvDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_with_general_padding",
]


class ConvDimensionNumbers(NamedTuple):
    """The batch, the channel and the spatial axes of lhs, kernel and result, in this order.

    Of the kernel, the channels of the result come first, then those of lhs.
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvDimensionNumbers | Sequence[str] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """A convolution, which does not flip the kernel.

    Args:
        lhs: batch, channels and space; by default in this order.
        rhs: the kernel: channels of the result, channels of lhs in one group, and space.
        window_strides: the distance of neighbouring windows along each spatial axis.
        padding: "VALID", "SAME", "SAME_LOWER", or how many zeros come before and after.
        lhs_dilation: the distance of neighbouring elements of lhs.
        rhs_dilation: the distance of neighbouring elements of the kernel.
        dimension_numbers: three texts such as `("NHWC", "HWIO", "NHWC")`, or
            `tn.lax.ConvDimensionNumbers`.
        feature_group_count: the number of groups of channels that are convolved separately.
        batch_group_count: must be 1.
        precision: has no effect, as of `tn.matmul`.
        preferred_element_type: the dtype in which it is computed.

    Raises:
        ShapeError: the operands do not fit.
        AxisError: the dimension numbers are not ones.

    >>> x, kernel = np.arange(5.0).reshape(1, 1, 5), np.ones((1, 1, 2))
    >>> tn.lax.conv_general_dilated(x, kernel, (1,), "VALID")
    Tensor([[[1., 3., 5., 7.]]])
    """
    name = "conv_general_dilated"
    if precision is not None:
        check_precision(name, precision)
    if batch_group_count != 1:
        raise ShapeError(f"{name}: batch_group_count must be 1; call it for each group")
    x, kernel = asarray(lhs), asarray(rhs)
    if x.ndim < 2 or kernel.ndim != x.ndim:
        raise ShapeError(f"{name}: {x.meta} and {kernel.meta} must have as many axes, at least 2")
    specs = conv_dimension_numbers(x.shape, kernel.shape, dimension_numbers)
    x, kernel = transpose(x, specs.lhs_spec), transpose(kernel, specs.rhs_spec)
    groups = feature_group_count
    if x.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise ShapeError(
            f"{name}: lhs with channels first is {x.meta} and the kernel {kernel.meta}; axis 1 of "
            f"lhs must be {groups} times that of the kernel, feature_group_count={groups} must "
            "divide axis 0 of the kernel"
        )
    rank = x.ndim - 2
    strides, spread, holes = (
        (1, 1, *tuple_of(name, field, values, rank, 1))
        for field, values in (
            ("window_strides", window_strides),
            ("lhs_dilation", lhs_dilation),
            ("rhs_dilation", rhs_dilation),
        )
    )
    window = (1, 1, *kernel.shape[2:])
    if not isinstance(padding, str):
        padding = ((0, 0), (0, 0), *padding)
    pairs = pads_of(name, x, window, strides, padding, spread, holes)  # type: ignore[arg-type]
    config = [(low, high, gap - 1) for (low, high), gap in zip(pairs, spread, strict=True)]
    parts = windows(name, pad(x, 0, config), window, strides, holes)  # type: ignore[arg-type]
    patches = stack([part for part, _ in parts], axis=2)
    result = _contracted(patches, kernel, groups, preferred_element_type)
    order = [0] * x.ndim
    for place, axis in enumerate(specs.out_spec):
        order[axis] = place
    return transpose(result, order)


def _contracted(
    patches: AnyTensor, kernel: AnyTensor, groups: int, preferred: DTypeLike | None
) -> AnyTensor:
    """The sum over channels and places; patches are [batch, channels, places, space]."""
    batch, _, places, *space = patches.shape
    out, each, *_ = kernel.shape
    if groups == 1:
        flat = reshape(kernel, (out, each, places))
        numbers: Any = (((1, 2), (1, 2)), ((), ()))
        mixed = dot_general(patches, flat, numbers, preferred_element_type=preferred)
        return transpose(mixed, (0, mixed.ndim - 1, *range(1, mixed.ndim - 1)))
    grouped = reshape(patches, (batch, groups, each, places, *space))
    flat = reshape(kernel, (groups, out // groups, each, places))
    numbers = (((2, 3), (2, 3)), ((1,), (0,)))
    mixed = dot_general(grouped, flat, numbers, preferred_element_type=preferred)
    last = mixed.ndim - 1  # [groups, batch, space, out per group]
    moved = transpose(mixed, (1, 0, last, *range(2, last)))
    return reshape(moved, (batch, out, *space))


def conv_dimension_numbers(
    lhs_shape: Sequence[object],
    rhs_shape: Sequence[object],
    dimension_numbers: ConvDimensionNumbers | Sequence[str] | None,
) -> ConvDimensionNumbers:
    """The axes that texts such as `("NHWC", "HWIO", "NHWC")` name.

    Raises:
        AxisError: a text does not name each axis once.

    >>> tn.lax.conv_dimension_numbers((1, 5, 2), (3, 2, 4), ("NWC", "WIO", "NWC")).lhs_spec
    (0, 2, 1)
    """
    rank = len(lhs_shape)
    if dimension_numbers is None:
        same = tuple(range(rank))
        return ConvDimensionNumbers(same, same, same)
    if hasattr(dimension_numbers, "lhs_spec"):
        return ConvDimensionNumbers(*dimension_numbers)
    texts = tuple(dimension_numbers)
    known = len(texts) == 3 and all(isinstance(text, str) for text in texts)
    if not known or not all(len({*text}) == len(text) == rank for text in texts):
        raise AxisError(
            "conv_general_dilated: dimension_numbers must be three texts that name each of the "
            f'{rank} axes once, such as ("NHWC", "HWIO", "NHWC"), got {dimension_numbers!r}'
        )
    letters = ("NC", "OI", "NC")
    if not all({*pair} <= {*text} for pair, text in zip(letters, texts, strict=True)):
        raise AxisError(
            "conv_general_dilated: dimension_numbers must name N and C of lhs and result, and O "
            f"and I of the kernel, got {texts}"
        )
    space = [letter for letter in texts[1] if letter not in "OI"]
    orders = [
        tuple(text.index(letter) for letter in (*pair, *space))
        for pair, text in zip(letters, texts, strict=True)
    ]
    return ConvDimensionNumbers(*orders)


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """A convolution with channels first.

    >>> tn.lax.conv(np.ones((1, 1, 3)), np.ones((1, 1, 2)), (1,), "SAME")
    Tensor([[[2., 2., 1.]]])
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding,
        precision=precision, preferred_element_type=preferred_element_type,
    )  # fmt: skip


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """A convolution with channels first, padded and dilated.

    >>> x, kernel = np.ones((1, 1, 3)), np.ones((1, 1, 2))
    >>> tn.lax.conv_with_general_padding(x, kernel, (1,), [(1, 1)], None, None)
    Tensor([[[1., 2., 2., 1.]]])
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
        precision=precision, preferred_element_type=preferred_element_type,
    )  # fmt: skip
