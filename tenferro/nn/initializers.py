"""Initial weights from keys, with the names, defaults and bits of `jax.nn.initializers`.

Each function but `zeros` and `ones` returns a function of a key, a shape and a dtype. The default
dtype is float64.

>>> tn.nn.initializers.glorot_normal()(tn.random.key(0), (3, 2)).shape
(3, 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from tenferro import linalg, random
from tenferro import numpy as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, DType, DTypeLike, as_dtype, is_complex
from tenferro.missing_names import attributes

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Axes = int | Sequence[int]


class Initializer(Protocol):
    """A function of a key, a shape and a dtype."""

    def __call__(self, key: Any, shape: Any, dtype: DTypeLike | None = None) -> AnyTensor:
        """The weights."""


def zeros(key: Any, shape: Any, dtype: DTypeLike | None = None) -> AnyTensor:
    """Zeros; the key is not read.

    >>> zeros(None, (2,))
    Tensor([0., 0.])
    """
    return tn.zeros(shape, as_dtype(dtype))


def ones(key: Any, shape: Any, dtype: DTypeLike | None = None) -> AnyTensor:
    """Ones; the key is not read.

    >>> ones(None, (2,))
    Tensor([1., 1.])
    """
    return tn.ones(shape, as_dtype(dtype))


def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """The same value everywhere.

    >>> constant(3.0)(tn.random.key(0), (2,))
    Tensor([3., 3.])
    """

    return _initializer(
        lambda key, shape, kind: tn.broadcast_to(tn.cast(tn.asarray(value), kind), shape), dtype
    )


def _initializer(draw: Callable[[Any, Any, DType], AnyTensor], default: Any) -> Initializer:
    """The weights that a function draws, of `default` where a call says no dtype."""

    def weights(key: Any, shape: Any, dtype: DTypeLike | None = default) -> AnyTensor:
        return draw(key, shape, as_dtype(dtype))

    return weights


def uniform(scale: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> Initializer:
    """Uniform between 0 and `scale`.

    >>> uniform()(tn.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _scaled(random.uniform, scale, dtype)


def normal(stddev: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> Initializer:
    """Normal with this standard deviation.

    >>> normal(0.1)(tn.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _scaled(random.normal, stddev, dtype)


def truncated_normal(
    stddev: ArrayLike = 0.01,
    dtype: DTypeLike | None = None,
    lower: float = -2.0,
    upper: float = 2.0,
) -> Initializer:
    """`stddev` times the normal distribution between `lower` and `upper`.

    >>> truncated_normal(0.1)(tn.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _scaled(partial(random.truncated_normal, lower=lower, upper=upper), stddev, dtype)


def _scaled(draw: Any, scale: ArrayLike, dtype: DTypeLike | None) -> Initializer:
    """What a distribution draws, times a number."""
    return _initializer(
        lambda key, shape, kind: (
            draw(key, shape=shape, dtype=kind) * tn.cast(tn.asarray(scale), kind)
        ),
        dtype,
    )


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Weights whose variance is `scale` over the number of inputs, outputs, or their mean.

    Args:
        scale: a positive number.
        mode: what divides it: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg".
        distribution: "normal", "truncated_normal" or "uniform".
        in_axis: the axes of inputs; all axes that are not named count for both.
        out_axis: the axes of outputs.
        batch_axis: axes that count for neither.
        dtype: floating-point; float64 by default.

    Raises:
        ConfigError: there is no such mode or distribution.
        DTypeError: dtype is complex.
        ShapeError: the shape has less than two axes.

    >>> variance_scaling(1.0, "fan_in", "uniform")(tn.random.key(0), (2, 3)).shape
    (2, 3)
    """
    if mode not in _FANS:
        raise ConfigError(f"variance_scaling: mode must be one of {', '.join(_FANS)}, got {mode!r}")
    if distribution not in _DRAWS:
        raise ConfigError(
            f"variance_scaling: distribution must be one of {', '.join(_DRAWS)}, got "
            f"{distribution!r}"
        )

    def weights(key: Any, shape: Any, kind: DType) -> AnyTensor:
        if is_complex(kind):
            raise DTypeError("variance_scaling: dtype must be floating-point, got a complex one")
        fan_in, fan_out = _fans(tuple(shape), in_axis, out_axis, batch_axis)
        deviation = math.sqrt(scale / _FANS[mode](fan_in, fan_out))
        draw, factor = _DRAWS[distribution]
        values: AnyTensor = draw(key, shape=shape, dtype=kind)
        return values * tn.asarray(deviation * factor, kind)

    return _initializer(weights, dtype)


_FANS: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: math.sqrt(fan_in * fan_out),
}
_DEVIATION_BETWEEN_2 = 0.87962566103423978
"""The standard deviation of the normal distribution between -2 and 2."""
_DRAWS: dict[str, tuple[Any, float]] = {
    "normal": (random.normal, 1.0),
    "truncated_normal": (
        partial(random.truncated_normal, lower=-2.0, upper=2.0),
        1 / _DEVIATION_BETWEEN_2,
    ),
    "uniform": (partial(random.uniform, minval=-1.0), math.sqrt(3.0)),
}


def _fans(shape: tuple[int, ...], inputs: Axes, outputs: Axes, batch: Axes) -> tuple[float, float]:
    """The numbers of inputs and of outputs."""
    if len(shape) < 2:
        raise ShapeError(
            f"variance_scaling: the shape must have at least 2 axes, got {shape}; use normal or "
            "uniform"
        )

    def extent(axes: Axes) -> int:
        return math.prod(shape[axis] for axis in ([axes] if isinstance(axes, int) else axes))

    named = extent(inputs) * extent(outputs) * extent(batch)
    field = math.prod(shape) / max(named, 1)
    return extent(inputs) * field, extent(outputs) * field


def _named(name: str, scale: float, mode: str, distribution: str) -> Any:
    def initializer(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    initializer.__name__ = initializer.__qualname__ = name
    initializer.__doc__ = f"`variance_scaling({scale}, {mode!r}, {distribution!r})`."
    return initializer


glorot_uniform = xavier_uniform = _named("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = _named("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _named("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _named("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = _named("he_uniform", 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = _named("he_normal", 2.0, "fan_in", "truncated_normal")


def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """`scale` times a matrix with orthonormal columns, or rows if it is wide.

    Args:
        scale: a number.
        column_axis: the axis of columns; all others are rows.
        dtype: floating-point; float64 by default.

    Raises:
        ShapeError: the shape has less than two axes.

    >>> q = orthogonal()(tn.random.key(0), (4, 2))
    >>> bool(tn.allclose(q.T @ q, tn.eye(2)))
    True
    """

    def weights(key: Any, shape: Any, kind: DType) -> AnyTensor:
        if len(shape) < 2:
            raise ShapeError(f"orthogonal: the shape must have at least 2 axes, got {shape}")
        columns = shape[column_axis]
        rows = math.prod(shape) // max(columns, 1)
        drawn = random.normal(key, (max(rows, columns), min(rows, columns)), kind)
        q, r = linalg.qr(drawn)
        q = q * tn.sign(tn.diagonal(r))
        square: Any = q if columns > rows else q.T
        rest = [size for axis, size in enumerate(shape) if axis != column_axis % len(shape)]
        return scale * tn.moveaxis(square.reshape((columns, *rest)), 0, column_axis)

    return _initializer(weights, dtype)


def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Kernels of convolutions, 0 but for a matrix of `orthogonal` in the middle.

    Args:
        scale: a number.
        column_axis: as of `orthogonal`.
        dtype: floating-point; float64 by default.

    Raises:
        ShapeError: the shape does not have 3 to 5 axes, or has more inputs than outputs.

    >>> delta_orthogonal()(tn.random.key(0), (3, 2, 2))[0]
    Tensor([[0., 0.],
            [0., 0.]])
    """

    def weights(key: Any, shape: Any, dtype: DTypeLike | None = dtype) -> AnyTensor:
        if len(shape) not in (3, 4, 5) or shape[-1] < shape[-2]:
            raise ShapeError(
                "delta_orthogonal: the shape must have 3 to 5 axes, and at least as many outputs "
                f"(last) as inputs, got {shape}"
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((size - 1) // 2 for size in shape[:-2])
        return tn.zeros(shape, matrix.dtype).at[middle].set(matrix)

    return weights


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.nn.initializers", __all__)
