"""`tn.image` is `jax.image`."""

from __future__ import annotations

from typing import Any

import jax
import jax.image
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import AxisError, ConfigError, ShapeError
from tests.in_jax import in_jax

rng = np.random.default_rng(0)
X = rng.normal(size=(5, 7, 2))
METHODS = [
    *("nearest", "linear", "cubic-pytorch", "area"),
    *(
        pytest.param(name, marks=pytest.mark.exhaustive)
        for name in ("cubic", "lanczos3", "lanczos5")
    ),
]
SHAPES = [(9, 7, 2), (3, 11, 2)]
MOVES = [([1.0, 1.0], [0.5, -1.0]), ([2.0, 0.3], [0.1, 0.2])]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
def test_images_are_those_of_jax(method: str, antialias: bool) -> None:
    def images(m: Any, x: Any) -> list[Any]:
        resized = [m.resize(x, shape, method, antialias) for shape in SHAPES]
        if method == "nearest":
            return resized
        return resized + [
            m.scale_and_translate(x, (6, 8, 2), (0, 1), np.array(s), np.array(t), method, antialias)
            for s, t in MOVES
        ]

    expected = in_jax(lambda: images(jax.image, X))
    found = tn.jit(lambda x: images(tn.image, x), executor="numpy")(X)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, 1e-9, 1e-11)


def test_derivatives_dtypes_and_batches_are_those_of_jax() -> None:
    weights = rng.normal(size=(3, 9, 2))

    def loss(m: Any, xp: Any) -> Any:
        return lambda x, s, t: xp.sum(
            m.scale_and_translate(x, (3, 9, 2), (0, 1), s, t, "cubic") * weights
            + m.resize(x, (3, 9, 2), "linear") ** 2
        )

    at = (X, np.array([0.7, 1.2]), np.array([0.1, 0.3]))
    expected = in_jax(lambda: jax.grad(loss(jax.image, jax.numpy), (0, 1, 2))(*at))
    found = tn.jit(tn.grad(loss(tn.image, tn), (0, 1, 2)))(*at)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-8, 1e-9)
    narrow = tn.image.resize(X.astype("float32"), (3, 9, 2), "lanczos3")
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, tn.image.resize(X, (3, 9, 2), "lanczos3"), 1e-4, 1e-5)
    each = tn.vmap(lambda x: tn.image.resize(x, (3, 9), "cubic"))(np.moveaxis(X, -1, 0))
    np.testing.assert_allclose(
        each, np.moveaxis(tn.image.resize(X, (3, 9, 2), "cubic").numpy(), -1, 0)
    )
    assert tn.image.resize(np.arange(4), (2,), jax.image.ResizeMethod.LINEAR).dtype == np.float64


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ShapeError, match="must have a size for each axis"):
        tn.image.resize(X, (3, 3), "linear")
    with pytest.raises(ConfigError, match="method must be one of nearest, linear"):
        tn.image.resize(X, (3, 3, 2), "sharp")
    with pytest.raises(ConfigError, match="must not be 'nearest'; use resize"):
        tn.image.scale_and_translate(X, (3, 3, 2), (0,), [1.0], [0.0], "nearest")
    with pytest.raises(AxisError, match="name an axis twice"):
        tn.image.scale_and_translate(X, (3, 3, 2), (0, 0), [1.0, 1.0], [0.0, 0.0], "linear")
    with pytest.raises(ShapeError, match="must have a number for each of 2 axes"):
        tn.image.scale_and_translate(X, (3, 3, 2), (0, 1), [1.0], [0.0], "linear")
