"""`tn.scipy.ndimage`, `interpolate`, `integrate` and `cluster` are those of JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.scipy.cluster.vq
import jax.scipy.interpolate
import jax.scipy.ndimage
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError
from tests.in_jax import in_jax

rng = np.random.default_rng(0)
MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_arrays_at_coordinates_are_those_of_jax(mode: str, dtype: str) -> None:
    calls = [
        (
            (rng.normal(size=shape) * 10).astype(dtype),
            [rng.uniform(-6, 9, size=(3, 4)) for _ in shape],
            order,
        )
        for shape in ((4,), (3, 5), (2, 3, 4))
        for order in (0, 1)
    ]
    results = in_jax(lambda: [jax.scipy.ndimage.map_coordinates(*call, mode, 3) for call in calls])
    for call, expected in zip(calls, results, strict=True):
        found = tn.scipy.ndimage.map_coordinates(*call, mode, 3)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, 1e-12, 1e-12)


GRID = (np.array([0, 1, 2.5, 4.0]), np.array([-1.0, 0, 3]), np.array([0.0, 1]))
VALUES = rng.normal(size=(4, 3, 2, 2))
PLACES = rng.uniform(-2, 5, size=(20, 3))


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, 0.0, None])
def test_functions_on_a_grid_are_those_of_jax(method: str, fill: float | None) -> None:
    ours = tn.scipy.interpolate.RegularGridInterpolator(GRID, VALUES, method, fill_value=fill)
    with jax.enable_x64(True):
        theirs = jax.scipy.interpolate.RegularGridInterpolator(
            GRID, VALUES, method, fill_value=fill
        )
    calls = (PLACES, PLACES.reshape(4, 5, 3), tuple(PLACES.T), PLACES[0], tuple(PLACES[0]))
    results = in_jax(lambda *calls: [theirs(places) for places in calls], *calls)
    for places, expected in zip(calls, results, strict=True):
        found = ours(places)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, 1e-12, 1e-12)


def test_gradients_and_batches_are_those_of_jax() -> None:
    x, places = rng.normal(size=(4, 5)), np.array([[0.5, 2.2], [1.3, 2.7]])

    def loss(m: Any, xp: Any) -> Any:
        def of(x: Any, places: Any, values: Any) -> Any:
            shown = m.ndimage.map_coordinates(x, [places[0], places[1]], 1)
            f = m.interpolate.RegularGridInterpolator(GRID, values, fill_value=0.0)
            return xp.sum(shown**2) + xp.sum(f(PLACES) ** 2)

        return of

    expected = in_jax(jax.grad(loss(jax.scipy, jax.numpy), (0, 1, 2)), x, places, VALUES)
    found = tn.jit(tn.grad(loss(tn.scipy, tn), (0, 1, 2)))(x, places, VALUES)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-10, 1e-12)
    each = tn.vmap(lambda x: tn.scipy.ndimage.map_coordinates(x, [places[0]], 1))(x)
    assert each.shape == (4, 2)
    narrow = tn.scipy.ndimage.map_coordinates(x.astype("float32"), [places[0], places[1]], 1)
    assert narrow.dtype == np.float32


def test_sums_and_nearest_vectors_are_those_of_jax() -> None:
    assert tn.scipy.integrate.trapezoid is tn.trapezoid
    x = rng.normal(size=(5, 3))
    for obs, codes in ((x, x[:2] + 0.1), (x[:, 0], x[:2, 0])):
        expected = in_jax(lambda o=obs, c=codes: jax.scipy.cluster.vq.vq(o, c))
        for one, other in zip(tn.scipy.cluster.vq.vq(obs, codes), expected, strict=True):
            np.testing.assert_allclose(one, other)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ConfigError, match="order must be one of 0, 1, got 3"):
        tn.scipy.ndimage.map_coordinates(VALUES, [PLACES] * 4, 3)
    with pytest.raises(ShapeError, match="got 1 coordinates for the 4 axes"):
        tn.scipy.ndimage.map_coordinates(VALUES, [PLACES], 1)
    grid: Any = tn.scipy.interpolate.RegularGridInterpolator
    with pytest.raises(ConfigError, match="the points of axis 0 must ascend"):
        grid((GRID[0][::-1],), VALUES)
    with pytest.raises(ConfigError, match="bounds_error must be False"):
        grid(GRID, VALUES, bounds_error=True)
    with pytest.raises(ShapeError, match=r"places must be \[..., 3\]"):
        grid(GRID, VALUES)(PLACES[:, :2])
    with pytest.raises(ShapeError, match="one for each of the 4 values along axis 0"):
        grid((GRID[1],), VALUES)
    with pytest.raises(ShapeError, match="differ in the second axis"):
        tn.scipy.cluster.vq.vq(PLACES, PLACES[:, :2])
