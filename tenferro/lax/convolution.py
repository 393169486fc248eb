"""Convolutions: the elements at each place of the kernel, contracted with the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenferro.errors import AxisError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike
from tenferro.lax.arguments import tuple_of
from tenferro.lax.dot import dot_general
from tenferro.lax.reductions import Padding, pads_of, windows
from tenferro.lax.shapes import pad, reshape, rev, transpose
from tenferro.numpy import asarray, stack
from tenferro.ops.functions.products import check_precision

__all__ = [
    "ConvDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_transpose",
    "conv_with_general_padding",
    "padtype_to_pads",
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
        batch_group_count: the number of groups of the batch, each of which is convolved with its
            part of the kernels; the result has so many times fewer entries.
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
    x, kernel = asarray(lhs), asarray(rhs)
    if x.ndim < 2 or kernel.ndim != x.ndim:
        raise ShapeError(f"{name}: {x.meta} and {kernel.meta} must have as many axes, at least 2")
    specs = conv_dimension_numbers(x.shape, kernel.shape, dimension_numbers)
    x, kernel = transpose(x, specs.lhs_spec), transpose(kernel, specs.rhs_spec)
    groups = feature_group_count
    if batch_group_count != 1:
        x, groups = _batch_as_channels(x, kernel, groups, batch_group_count), batch_group_count
    if x.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise ShapeError(
            f"{name}: lhs with channels first is {x.meta} and the kernel {kernel.meta}; axis 1 of "
            f"lhs must be {groups} times that of the kernel, feature_group_count={groups} must "
            "divide axis 0 of the kernel"
        )
    patches = _patches(
        name, x, kernel.shape[2:], window_strides, padding, lhs_dilation, rhs_dilation
    )
    result = _contracted(patches, kernel, groups, preferred_element_type)
    return _placed(result, specs.out_spec)


def _batch_as_channels(x: AnyTensor, kernel: AnyTensor, groups: int, count: int) -> AnyTensor:
    """Groups of the batch as groups of channels: [g·n, c, ...] as [n, g·c, ...]."""
    batch, channels, *space = x.shape
    if groups != 1:
        raise ShapeError(
            "conv_general_dilated: one of feature_group_count and batch_group_count must be 1, got "
            f"{groups} and {count}"
        )
    if count < 1 or batch % count or kernel.shape[0] % count:
        raise ShapeError(
            f"conv_general_dilated: batch_group_count={count} must divide the batch of {x.meta}, "
            f"with the batch first, and axis 0 of the kernel {kernel.meta}"
        )
    parts = reshape(x, (count, batch // count, channels, *space))
    moved = transpose(parts, (1, 0, *range(2, parts.ndim)))
    return reshape(moved, (batch // count, count * channels, *space))


def _placed(result: AnyTensor, spec: Sequence[int]) -> AnyTensor:
    """The axes batch, channels, space where `spec` says."""
    order = [0] * result.ndim
    for place, axis in enumerate(spec):
        order[axis] = place
    return transpose(result, order)


def _patches(
    name: str,
    x: AnyTensor,
    window_shape: Sequence[Any],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
) -> AnyTensor:
    """The elements of each window: [batch, channels, places in the window, space]."""
    rank = x.ndim - 2
    strides, spread, holes = (
        (1, 1, *tuple_of(name, field, values, rank, 1))
        for field, values in (
            ("window_strides", window_strides),
            ("lhs_dilation", lhs_dilation),
            ("rhs_dilation", rhs_dilation),
        )
    )
    window = (1, 1, *window_shape)
    if not isinstance(padding, str):
        padding = ((0, 0), (0, 0), *padding)
    pairs = pads_of(name, x.shape, window, strides, padding, spread, holes)
    config = [(low, high, gap - 1) for (low, high), gap in zip(pairs, spread, strict=True)]
    parts = windows(name, pad(x, 0, config), window, strides, holes)
    return stack([part for part, _ in parts], axis=2)


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


_LETTERS = "HWD"


def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvDimensionNumbers | Sequence[str] | None = None,
    transpose_kernel: bool = False,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> AnyTensor:
    """A convolution of the elements of lhs with zeros between them: one with fractional strides.

    Args:
        lhs: batch, space and channels; by default in this order.
        rhs: the kernel: space, channels of lhs, channels of the result.
        strides: the distance of neighbouring elements of lhs in the result.
        padding: "SAME" or "VALID", those of the convolution whose transpose this is; or how many
            zeros come before and after lhs.
        rhs_dilation: the distance of neighbouring elements of the kernel.
        dimension_numbers: as in `conv_general_dilated`.
        transpose_kernel: flip the kernel and exchange its channels, which makes this the transpose
            of a convolution with the kernel.
        precision: has no effect, as of `tn.matmul`.
        preferred_element_type: the dtype in which it is computed.
        use_consistent_padding: numbers in `padding` too are those of the convolution whose
            transpose this is.

    >>> x, kernel = np.ones((1, 3, 1)), np.ones((2, 1, 1))
    >>> tn.lax.conv_transpose(x, kernel, (2,), "VALID").ravel()
    Tensor([1., 1., 1., 1., 1., 1.])
    """
    name = "conv_transpose"
    x, kernel = asarray(lhs), asarray(rhs)
    rank = x.ndim - 2
    if dimension_numbers is None and 0 <= rank <= len(_LETTERS):
        space = _LETTERS[:rank]
        dimension_numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    specs = conv_dimension_numbers(x.shape, kernel.shape, dimension_numbers)
    steps = tuple_of(name, "strides", strides, rank, 1)
    holes = tuple_of(name, "rhs_dilation", rhs_dilation, rank, 1)
    reach = [
        (kernel.shape[axis] - 1) * hole + 1
        for axis, hole in zip(specs.rhs_spec[2:], holes, strict=True)
    ]
    pads: Padding
    if isinstance(padding, str):
        pads = [_transposed_pads(name, *each, padding) for each in zip(reach, steps, strict=True)]
    elif use_consistent_padding:
        pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(reach, padding, strict=True)]
    else:
        pads = padding
    if transpose_kernel:
        out, each, *spatial = specs.rhs_spec
        order = list(range(kernel.ndim))
        order[out], order[each] = each, out
        kernel = transpose(rev(kernel, spatial), order)
    return conv_general_dilated(
        x, kernel, (1,) * rank, pads, steps, holes, specs,
        precision=precision, preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _transposed_pads(name: str, reach: int, step: int, padding: str) -> tuple[int, int]:
    """What the transpose of a padded convolution is padded with along one axis."""
    total = reach + step - 2
    if padding.upper() == "VALID":
        return reach - 1, total + max(reach - step, 0) - (reach - 1)
    if padding.upper() != "SAME":
        raise ShapeError(f"{name}: padding must be 'SAME', 'VALID' or pairs, got {padding!r}")
    low = reach - 1 if step > reach - 1 else -(-total // 2)
    return low, total - low


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvDimensionNumbers | Sequence[str] | None = None,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """The windows of lhs, each as the channels of one element of the result.

    Args:
        lhs: batch, channels and space; by default in this order.
        filter_shape: the size of a window along each spatial axis.
        window_strides: as in `conv_general_dilated`, like the other arguments.

    >>> x = np.arange(4.0).reshape(1, 1, 4)
    >>> tn.lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")
    Tensor([[[0., 1., 2.],
             [1., 2., 3.]]])
    """
    name = "conv_general_dilated_patches"
    if precision is not None:
        check_precision(name, precision)
    x = asarray(lhs)
    window = tuple_of(name, "filter_shape", filter_shape, max(x.ndim - 2, 0), 1)
    specs = conv_dimension_numbers(x.shape, (1, 1, *window), dimension_numbers)
    x = transpose(x, specs.lhs_spec)
    patches = _patches(name, x, window, window_strides, padding, lhs_dilation, rhs_dilation)
    batch, channels, places, *space = patches.shape
    result = _placed(reshape(patches, (batch, channels * places, *space)), specs.out_spec)
    return result if preferred_element_type is None else result.astype(preferred_element_type)


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvDimensionNumbers | Sequence[str] | None = None,
    precision: object = None,
) -> AnyTensor:
    """A convolution with a kernel of its own at each place.

    Args:
        lhs: batch, channels and space; by default in this order.
        rhs: the kernels: channels of the result, elements of a window, and space of the result.
        window_strides: as in `conv_general_dilated`, like the other arguments.
        padding: the same.
        filter_shape: the size of a window along each spatial axis.

    >>> x, kernels = np.arange(4.0).reshape(1, 1, 4), np.ones((1, 2, 3))
    >>> tn.lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,))
    Tensor([[[1., 3., 5.]]])
    """
    name = "conv_general_dilated_local"
    if precision is not None:
        check_precision(name, precision)
    x, kernel = asarray(lhs), asarray(rhs)
    specs = conv_dimension_numbers(x.shape, kernel.shape, dimension_numbers)
    first = tuple(range(x.ndim))
    patches = conv_general_dilated_patches(
        transpose(x, specs.lhs_spec), filter_shape, window_strides, padding,
        lhs_dilation, rhs_dilation, ConvDimensionNumbers(first, first, first),
    )  # fmt: skip
    kernel = transpose(kernel, specs.rhs_spec)
    if patches.shape[1:] != kernel.shape[1:]:
        raise ShapeError(
            f"{name}: the windows of lhs, with channels first, are {patches.meta}, and the kernels "
            f"{kernel.meta}; all axes but the first must be equal"
        )
    space = tuple(range(2, x.ndim))
    mixed = dot_general(patches, kernel, (((1,), (1,)), (space, space)))  # [space, batch, channels]
    last = len(space)
    return _placed(transpose(mixed, (last, last + 1, *range(last))), specs.out_spec)


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """How many elements "SAME", "SAME_LOWER" or "VALID" puts before and after along each axis.

    >>> tn.lax.padtype_to_pads((5,), (3,), (2,), "SAME")
    [(1, 1)]
    """
    name = "padtype_to_pads"
    rank = len(in_shape)
    window = tuple_of(name, "window_shape", window_shape, rank, 1)
    strides = tuple_of(name, "window_strides", window_strides, rank, 1)
    whole = tuple_of(name, "in_shape", in_shape, rank, 1)
    return [
        (int(low), int(high))
        for low, high in pads_of(name, whole, window, strides, padding, (1,) * rank, (1,) * rank)
    ]
