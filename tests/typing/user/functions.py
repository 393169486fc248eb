"""A program of a user: what array functions take and return."""

from __future__ import annotations

from typing import Any, assert_type

import jax.numpy as jnp
import numpy as np

import tenferro as tn
from tenferro.ir import AnyTensor, ArrayLike, Axis, Dim
from tenferro.ir.typing import Array

NUMPY = np.ones((2, 3))
TENSOR = tn.Tensor(NUMPY)


def layer(x: Array, weight: Array, bias: Array) -> AnyTensor:
    return tn.tanh(x @ weight + bias)


def loss(x: Array, axis: Axis = None) -> AnyTensor:
    shifted = x - x.mean(axis, keepdims=True)
    return tn.sum(shifted * shifted, axis) / x.shape[0]


def normalized(x: ArrayLike) -> AnyTensor:
    values = tn.asarray(x)
    return (values / tn.sqrt(tn.sum(values * tn.conj(values)))).real


def users() -> None:
    assert_type(layer(NUMPY, TENSOR, NUMPY), AnyTensor)
    assert_type(loss(TENSOR, axis=(0, 1)), AnyTensor)
    assert_type(normalized([1.0, 2.0]), AnyTensor)
    assert_type(tn.grad(loss)(NUMPY) is None, bool)


def operands() -> None:
    assert_type(tn.sin(NUMPY), AnyTensor)
    assert_type(tn.sin(TENSOR), AnyTensor)
    assert_type(tn.sin(jnp.ones(3)), AnyTensor)
    assert_type(tn.sin(1), AnyTensor)
    assert_type(tn.sin(np.float64(1)), AnyTensor)
    assert_type(tn.sin([[1.0, 2j], (True, NUMPY)]), AnyTensor)
    assert_type(tn.add(x1=TENSOR, x2=tn.TracedTensor.input(("n",)).shape[0]), AnyTensor)


def options() -> None:
    assert_type(tn.sum(NUMPY, 0, dtype=tn.float32, keepdims=True), AnyTensor)
    assert_type(tn.max(NUMPY, axis=[0, 1]), AnyTensor)
    assert_type(tn.reshape(NUMPY, ("n", -1), order="F"), AnyTensor)
    assert_type(tn.tensordot(NUMPY, NUMPY, axes=([0], [0])), AnyTensor)
    assert_type(tn.tensordot(NUMPY, NUMPY, axes=((0, 1), (0, 1))), AnyTensor)
    assert_type(tn.pad(NUMPY, ((1, 1), (0, 2)), constant_values=1j), AnyTensor)
    assert_type(tn.roll(NUMPY, np.array([1, 2]), (0, 1)), AnyTensor)
    assert_type(tn.zeros((2, 3), np.int64), AnyTensor)
    assert_type(tn.arange(0, 1.0, np.float32(0.1), dtype=float), AnyTensor)
    assert_type(tn.clip(NUMPY, max=TENSOR), AnyTensor)
    assert_type(tn.einsum("ij,kj->ik", NUMPY, TENSOR), AnyTensor)


def results() -> None:
    assert_type(tn.split(NUMPY, 3, axis=1), list[AnyTensor])
    assert_type(tn.unstack(NUMPY), tuple[AnyTensor, ...])
    assert_type(tn.top_k(NUMPY, 2), tuple[AnyTensor, AnyTensor])
    assert_type(tn.meshgrid([1, 2], [3, 4], indexing="ij"), tuple[AnyTensor, ...])
    assert_type(tn.atleast_2d(1.0), AnyTensor)
    assert_type(tn.atleast_2d(1.0, [2.0]), list[AnyTensor])
    assert_type(tn.concat([NUMPY, TENSOR], axis=None), AnyTensor)
    assert_type(tn.stack(NUMPY), AnyTensor)
    assert_type(tn.unique(NUMPY), AnyTensor)
    assert_type(tn.unique(NUMPY, axis=0, size=3, fill_value=0.0), AnyTensor)
    values, counts = tn.unique(NUMPY, return_counts=True)
    assert_type(tn.intersect1d(NUMPY, TENSOR), AnyTensor)
    common = tn.intersect1d(NUMPY, values, return_indices=True)
    assert_type(common, tuple[AnyTensor, AnyTensor, AnyTensor])
    assert_type(tn.where(NUMPY > 0, size=2, fill_value=counts), tuple[AnyTensor, ...])
    assert_type(tn.broadcast_shapes((2, 1), TENSOR.shape, 3), tuple[Dim, ...])
    assert_type(tn.size(NUMPY, 0), Dim)
    assert_type(tn.can_cast("int32", tn.float64), bool)
    assert_type(tn.result_type(NUMPY, "f32", 1), np.dtype[Any])


def expressions() -> None:
    x = tn.exp(TENSOR)
    assert_type(-x + 1 < 2 * x**2, AnyTensor)
    assert_type(1.5 / (x @ NUMPY.T) // TENSOR % 2, AnyTensor)
    assert_type(x == None, AnyTensor)  # noqa: E711  # elementwise
    assert_type(~(x > 0) & (x != 1) | True, AnyTensor)
    assert_type(x[0, ..., None, 1:], AnyTensor)
    assert_type(x[x > 0], AnyTensor)
    assert_type(x[[0, 1]].T.reshape(-1), AnyTensor)
    assert_type(x.at[0].set(1).at[1:].add(x[1:]), AnyTensor)
    assert_type(x.sum().astype("float32").clip(0, 1), AnyTensor)
    assert_type(x.numpy(), np.ndarray[Any, Any])
    assert_type([row.ndim for row in x], list[int])
    assert_type(float(x.sum()), float)
    assert_type(np.asarray(x).ndim, int)
    if isinstance(x, tn.Tensor):
        assert_type(x.to_device("host"), tn.Tensor)


def methods_keep_the_kind(x: tn.Tensor, y: tn.TracedTensor, z: tn.EagerTensor) -> None:
    assert_type(x.sum(axis=0) + 1, tn.Tensor)
    assert_type(1 - y.T, tn.TracedTensor)
    assert_type((z * z).mean(), tn.EagerTensor)
    assert_type(y.at[0].get(), AnyTensor)
