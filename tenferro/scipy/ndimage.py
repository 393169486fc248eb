"""`jax.scipy.ndimage`: arrays at places between their elements.

>>> tn.scipy.ndimage.map_coordinates([0.0, 10.0], [[0.25]], order=1)
Tensor([2.5])
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tenferro import numpy as tn
from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, dtype_kind
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import array, constant_size, option

__all__ = ["map_coordinates"]


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> AnyTensor:
    """The array at coordinates, interpolated.

    Args:
        input: the array.
        coordinates: for each of its axes an array of places, all of one shape.
        order: 0 for the nearest element, 1 for a linear function between neighbours.
        mode: what is outside of the array: "constant", `cval`; "nearest", the nearest element;
            "wrap", the array repeated; "mirror", mirrored at the middles of its first and last
            elements; "reflect", mirrored at their ends. "constant" and "wrap" are what SciPy calls
            "grid-constant" and "grid-wrap".
        cval: a number.

    Raises:
        ShapeError: there are not as many coordinates as axes.
        ConfigError: there is no such order or mode.

    >>> x = np.arange(6.0).reshape(2, 3)
    >>> tn.scipy.ndimage.map_coordinates(x, [[0.5], [1.5]], order=1)
    Tensor([3.])
    """
    name = "map_coordinates"
    option(name, "order", order, (0, 1))
    option(name, "mode", mode, ("constant", "nearest", "wrap", "mirror", "reflect"))
    x = array(name, input)
    if not isinstance(coordinates, Iterable):
        raise DTypeError(f"{name}: coordinates must be an array for each axis, got {coordinates!r}")
    places = [array(name, each) for each in coordinates]
    if len(places) != x.ndim:
        raise ShapeError(f"{name}: got {len(places)} coordinates for the {x.ndim} axes of {x.meta}")
    shape = tn.broadcast_shapes(*(place.shape for place in places)) if places else ()
    choices = [_neighbours(place, order) for place in places]
    outside = tn.asarray(cval).astype(x.dtype)
    total: Any = 0
    for chosen in itertools.product(*choices):
        indices, inside, weight = [], True, 1
        for axis, (index, part) in enumerate(chosen):
            size = constant_size(name, x, axis)
            if mode == "constant":
                inside = inside & (index >= 0) & (index < size)
            indices.append(_within(index, size, mode))
            weight = weight * part
        element = x[tuple(indices)] if indices else x
        if mode == "constant" and indices:
            element = tn.where(inside, element, outside)
        total = total + element * weight
    if dtype_kind(x.dtype) in "iub" and order:
        total = tn.trunc(total + tn.copysign(0.5, total))
    return tn.broadcast_to(total, shape).astype(x.dtype)


def _neighbours(place: Any, order: int) -> list[tuple[Any, Any]]:
    """The indices near a place, each with its weight."""
    if dtype_kind(place.dtype) in "iu":
        return [(place, 1)]
    if order == 0:
        return [(tn.trunc(place + tn.copysign(0.5, place)).astype("int64"), 1)]
    low = tn.floor(place)
    above = place - low
    index = low.astype("int64")
    return [(index, 1 - above), (index + 1, above)]


def _within(index: Any, size: int, mode: str) -> Any:
    """An index as one of the array."""
    if mode in ("constant", "nearest"):
        return tn.clip(index, 0, max(size - 1, 0))
    if mode == "wrap":
        return index % max(size, 1)
    if mode == "mirror":
        period = max(2 * (size - 1), 1)
        return tn.abs((index + size - 1) % period - (size - 1)) if size > 1 else index * 0
    period = max(2 * size, 1)
    turned = index % period
    return tn.where(turned < size, turned, period - 1 - turned)


MISSING = {"gaussian_filter": "use tn.scipy.signal.convolve with a kernel"}
"""Names of `scipy.ndimage`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.ndimage", __all__, MISSING)
