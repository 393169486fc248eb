"""`jax.scipy.interpolate`: functions of several numbers between their values on a grid.

>>> f = tn.scipy.interpolate.RegularGridInterpolator(([0.0, 1.0],), np.array([0.0, 10.0]))
>>> f([[0.25]])
Tensor([2.5])
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tenferro import numpy as tn
from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import array, constant_size, option, promoted
from tenferro.runtime import Tensor

__all__ = ["RegularGridInterpolator"]

_NAME = "RegularGridInterpolator"
_METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """A function of n numbers that has given values on a rectangular grid.

    Args:
        points: for each of the n axes the coordinates of the grid, ascending.
        values: of shape [m₁, …, mₙ, ...].
        method: "linear" or "nearest".
        bounds_error: must be False.
        fill_value: what the function is outside of the grid; None for the nearest piece, continued.

    Raises:
        ShapeError: coordinates and values do not fit.
        ConfigError: there is no such method, `bounds_error` is true, or coordinates do not ascend.

    >>> grid = (np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    >>> f = tn.scipy.interpolate.RegularGridInterpolator(grid, np.array([[0.0, 2.0], [1.0, 3.0]]))
    >>> f((0.5, 0.5))
    Tensor(1.)
    >>> f(np.array([[1.0, 1.0], [9.0, 9.0]]))
    Tensor([ 2., nan])
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = np.nan,
    ) -> None:
        option(_NAME, "method", method, _METHODS)
        if bounds_error:
            raise ConfigError(f"{_NAME}: bounds_error must be False; choose a fill_value")
        (self.values,) = promoted(_NAME, values, inexact=True)
        self.grid = tuple([array(_NAME, each) for each in points])
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        if len(self.grid) > self.values.ndim:
            raise ShapeError(
                f"{_NAME}: there are {len(self.grid)} axes of points, but values {self.values.meta}"
            )
        for axis, nodes in enumerate(self.grid):
            self._check_axis(axis, nodes)

    def _check_axis(self, axis: int, nodes: AnyTensor) -> None:
        size = constant_size(_NAME, self.values, axis)
        if nodes.ndim != 1 or nodes.shape[0] != size or size < 2:
            raise ShapeError(
                f"{_NAME}: points {nodes.meta} must be a vector of at least 2, one for each of the "
                f"{size} values along axis {axis}"
            )
        if isinstance(nodes, Tensor) and not (np.diff(nodes.numpy()) > 0).all():
            raise ConfigError(f"{_NAME}: the points of axis {axis} must ascend strictly")

    def __call__(self, xi: Any, method: str | None = None) -> AnyTensor:
        """The values at places.

        Args:
            xi: of shape [..., n]; or a tuple of n arrays of one shape.
            method: that of the interpolator by default.
        """
        method = self.method if method is None else option(_NAME, "method", method, _METHODS)
        dims = len(self.grid)
        if isinstance(xi, tuple):
            parts = tn.broadcast_arrays(*(array(_NAME, part) for part in xi))
            places = tn.stack(list(parts), axis=-1)
        else:
            places = array(_NAME, xi)
            if places.ndim < 2:  # several places for one axis, or one place
                places = places.reshape(-1, dims)
        if not places.ndim or places.shape[-1] != dims:
            raise ShapeError(f"{_NAME}: places must be [..., {dims}], got {places.meta}")
        pieces = [self._piece(axis, places[..., axis]) for axis in range(dims)]
        further = (None,) * (self.values.ndim - dims)
        if method == "nearest":
            nearest = tuple(tn.where(part <= 0.5, low, low + 1) for low, part, _ in pieces)
            result = self.values[nearest]
        else:
            total: Any = 0
            for corner in itertools.product((0, 1), repeat=dims):
                indices = tuple(
                    low + step for step, (low, _, _) in zip(corner, pieces, strict=True)
                )
                weight: Any = 1.0
                for step, (_, part, _) in zip(corner, pieces, strict=True):
                    weight = weight * (part if step else 1 - part)
                total = total + self.values[indices] * weight[(..., *further)]
            result = total
        if self.fill_value is None:
            return result  # type: ignore[no-any-return]
        outside: Any = False
        for _, _, is_outside in pieces:
            outside = outside | is_outside
        return tn.where(outside[(..., *further)], self.fill_value, result).astype(self.values.dtype)

    def _piece(self, axis: int, x: Any) -> tuple[Any, Any, Any]:
        """The node below x, how far x is from it to the next one, and whether x is outside."""
        nodes = self.grid[axis]
        x, nodes = promoted(_NAME, x, nodes, inexact=True)
        low = tn.clip(tn.searchsorted(nodes, x) - 1, 0, nodes.shape[0] - 2)
        below, above = nodes[low], nodes[low + 1]
        return low, (x - below) / (above - below), (x < nodes[0]) | (x > nodes[-1])


MISSING = {
    "interp1d": "use tn.interp",
    "interpn": "use tn.scipy.interpolate.RegularGridInterpolator",
}
"""Names of `scipy.interpolate`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.interpolate", __all__, MISSING)
