"""`jax.image`: images in other sizes.

>>> tn.image.resize(np.array([[1.0, 3.0]]), (1, 4), "linear")
Tensor([[1. , 1.5, 2.5, 3. ]])
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tenferro import numpy as tn
from tenferro.config import flag
from tenferro.errors import AxisError, ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Shape, in_single
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import array, constant_size, promoted, sizes
from tenferro.ops.functions import normal_axis

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How the elements of a resized image are computed from those near them."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "area": ResizeMethod.AREA,
}


def _method(name: str, method: Any) -> ResizeMethod:
    if isinstance(method, str):
        method = _NAMES.get(method.lower(), method)
    known = getattr(method, "name", None) in ResizeMethod.__members__
    if not known:  # JAX's own method is one too
        raise ConfigError(f"{name}: method must be one of {', '.join(_NAMES)}, got {method!r}")
    return ResizeMethod[method.name]


def resize(
    image: ArrayLike,
    shape: Shape,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> AnyTensor:
    """An image in another shape; the axes whose size stays are not touched.

    Args:
        image: an array.
        shape: the sizes of the result.
        method: a `ResizeMethod` or its name: "nearest", "linear", "cubic", "cubic-pytorch",
            "lanczos3", "lanczos5" or "area".
        antialias: widen the kernel where the image becomes smaller.
        precision: changes nothing.

    Integers become float64, but for "nearest".

    Raises:
        ShapeError: the shape has another number of axes.
        ConfigError: there is no such method.

    >>> tn.image.resize(np.arange(4), (2,), "nearest")
    Tensor([1, 3])
    """
    name = "resize"
    kind = _method(name, method)
    (value,) = [array(name, image)] if kind is ResizeMethod.NEAREST else _inexact(name, image)
    goal = sizes(name, shape)
    if len(goal) != value.ndim:
        raise ShapeError(
            f"{name}: shape {tuple(goal)} must have a size for each axis of {value.meta}"
        )
    changed = [axis for axis, size in enumerate(goal) if size != value.shape[axis]]
    for axis in changed:
        _check_not_empty(name, value, axis)
        if not goal[axis]:
            return tn.zeros(goal, dtype=value.dtype)
    if kind is ResizeMethod.NEAREST:
        for axis in changed:
            own = constant_size(name, value, axis)
            places = tn.floor((tn.arange(goal[axis]) + 0.5) * (own / goal[axis])).astype(int)
            value = tn.take(value, places, axis=axis, mode="clip")
        return value  # type: ignore[no-any-return]
    for axis in changed:
        scale = goal[axis] / constant_size(name, value, axis)
        value = _resampled(value, axis, goal[axis], scale, 0.0, kind, antialias)
    return value  # type: ignore[no-any-return]


def _check_not_empty(name: str, x: AnyTensor, axis: int) -> None:
    if x.shape[axis] == 0:
        raise ShapeError(f"{name}: axis {axis} of {x.meta} has no elements")


def _inexact(name: str, image: ArrayLike) -> list[Any]:
    return promoted(name, image, inexact=True)


def scale_and_translate(
    image: ArrayLike,
    shape: Shape,
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> AnyTensor:
    """An image scaled and moved: what is at x along an axis comes to x·scale + translation.

    Elements are at their middles, at 0.5, 1.5, …; what comes from outside of the image is 0;
    "cubic-pytorch" without `antialias` continues its edges.

    Args:
        image: an array.
        shape: the sizes of the result.
        spatial_dims: the axes that are scaled.
        scale: a factor for each of them.
        translation: a distance for each of them.
        method: as in `resize`, but for "nearest".
        antialias: as in `resize`.
        precision: changes nothing.

    Raises:
        AxisError: an axis is named twice.
        ShapeError: the sizes of other axes differ, or there is not one number for each axis.

    >>> tn.image.scale_and_translate(np.ones(2), (4,), (0,), np.ones(1), np.ones(1), "linear")
    Tensor([0., 1., 1., 0.])
    """
    name = "scale_and_translate"
    kind = _method(name, method)
    if kind is ResizeMethod.NEAREST:
        raise ConfigError(f"{name}: method must not be 'nearest'; use resize")
    (value,) = _inexact(name, image)
    goal = sizes(name, shape)
    axes = [normal_axis(name, axis, value.ndim) for axis in spatial_dims]
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: spatial_dims {tuple(spatial_dims)} name an axis twice")
    factors, shifts = (tn.asarray(each) for each in (scale, translation))
    if factors.shape != (len(axes),) or shifts.shape != (len(axes),):
        raise ShapeError(
            f"{name}: scale {factors.meta} and translation {shifts.meta} must have a number for "
            f"each of {len(axes)} axes"
        )
    fixed = [axis for axis in range(value.ndim) if axis not in axes]
    if len(goal) != value.ndim or any(goal[axis] != value.shape[axis] for axis in fixed):
        raise ShapeError(
            f"{name}: shape {tuple(goal)} must have the sizes of {value.meta} along other axes"
        )
    for number, axis in enumerate(axes):
        _check_not_empty(name, value, axis)
        value = _resampled(
            value, axis, goal[axis], factors[number], shifts[number], kind, antialias
        )
    return value  # type: ignore[no-any-return]


def _resampled(
    x: Any, axis: int, size: int, scale: Any, shift: Any, kind: ResizeMethod, antialias: bool
) -> Any:
    """The image with `size` elements along an axis."""
    own = x.shape[axis]
    dtype = in_single(x.real.dtype)
    inverse = tn.asarray(1.0 / scale).astype(dtype)
    shift = tn.asarray(shift).astype(dtype)
    places = (tn.arange(size, dtype=dtype) + 0.5) * inverse - shift * inverse - 0.5
    weights = _weights(places, tn.arange(own, dtype=dtype), inverse, kind, antialias)
    if kind is not ResizeMethod.CUBIC_PYTORCH or antialias:  # else its edges go on
        weights = tn.where((places < -0.5) | (places > own - 0.5), 0.0, weights)
    weights = weights.astype(x.dtype)
    return tn.moveaxis(tn.tensordot(x, weights, axes=((axis,), (0,))), -1, axis)


def _weights(places: Any, nodes: Any, inverse: Any, kind: ResizeMethod, antialias: bool) -> Any:
    """How much each element of an image, in rows, counts for each of the result, in columns."""
    if kind is ResizeMethod.AREA:
        half = inverse / 2
        low = tn.maximum(places - half, nodes[:, None] - 0.5)
        high = tn.minimum(places + half, nodes[:, None] + 0.5)
        return _normalized(tn.maximum(high - low, 0.0))
    wide = tn.maximum(inverse, 1.0) if flag("resize: antialias", antialias) else 1.0
    if kind is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _with_edges(places, nodes.shape[0])
    return _normalized(_KERNELS[kind](tn.abs(places - nodes[:, None]) / wide))


def _normalized(weights: Any) -> Any:
    total = tn.sum(weights, axis=0, keepdims=True)
    some = tn.abs(total) > 1000 * float(tn.finfo("float32").eps)
    return tn.where(some, weights / tn.where(some, total, 1.0), 0.0)


def _with_edges(places: Any, own: Any) -> Any:
    """Weights of an image with two more elements at each end, equal to its first and last one."""
    nodes = tn.arange(own + 4, dtype=places.dtype) - 2
    weights = _normalized(_cubic(tn.abs(places - nodes[:, None]), -0.75))
    inside = weights[2:-2].at[0].add(weights[0] + weights[1])
    return inside.at[-1].add(weights[-1] + weights[-2])


def _triangle(x: Any) -> Any:
    return tn.maximum(1 - x, 0.0)


def _cubic(x: Any, a: float = -0.5) -> Any:
    """The kernel of Keys, which is smooth, and 0 from 2 on."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return tn.where(x < 1, near, tn.where(x < 2, far, 0.0))


def _lanczos(radius: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        away = x > 1e-3
        angle = math.pi * tn.where(away, x, 1.0)
        value = radius * tn.sin(angle) * tn.sin(angle / radius) / (angle * angle)
        return tn.where(x > radius, 0.0, tn.where(away, value, 1.0))

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _cubic,
    ResizeMethod.CUBIC_PYTORCH: _cubic,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
}


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.image", __all__)
