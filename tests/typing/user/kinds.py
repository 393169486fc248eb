"""Every kind of array is an `Array`, every tensor an `AnyTensor`."""

from __future__ import annotations

from typing import Any, assert_type

import jax
import numpy as np
from numpy.typing import NDArray

import tenferro as tn
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.ir.typing import Array


def takes_array(x: Array) -> None: ...


def takes_tensor(x: AnyTensor) -> None: ...


def takes_array_like(x: ArrayLike) -> None: ...


def tensors(concrete: tn.Tensor, traced: tn.TracedTensor, eager: tn.EagerTensor) -> None:
    takes_tensor(concrete)
    takes_tensor(traced)
    takes_tensor(eager)
    takes_array(concrete)
    takes_array(traced)
    takes_array(eager)


def arrays_of_numpy(
    any_dtype: NDArray[Any],
    bools: NDArray[np.bool_],
    integers: NDArray[np.int64],
    halves: NDArray[np.float16],
    floats: NDArray[np.float64],
    complexes: NDArray[np.complex64],
    matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> None:
    takes_array(any_dtype)
    takes_array(bools)
    takes_array(integers)
    takes_array(halves)
    takes_array(floats)
    takes_array(complexes)
    takes_array(matrix)
    takes_tensor(floats)  # E: incompatible type "ndarray


def array_likes(x: Array, y: AnyTensor, of_jax: jax.Array, size: tn.SymDim) -> None:
    takes_array_like(x)
    takes_array_like(y)
    takes_array_like(of_jax)
    takes_array_like([x, (y, 1.0)])
    takes_array(y)
    takes_tensor(x)  # E: incompatible type "Array"
    takes_array(of_jax)  # E: incompatible type
    takes_array_like("text")  # E: incompatible type "str"
    takes_array_like(["text"])  # E: List item 0 has incompatible type "str"
    takes_array_like({1: 2})  # E: incompatible type "dict[int, int]"
    takes_array_like(None)  # E: incompatible type "None"


def what_all_have_in_common(x: Array) -> None:
    assert_type(2 * x, AnyTensor | np.ndarray[Any, Any])
    assert_type(x.ndim, int)
    takes_array(-(2 * x + x.T @ x)[0, 1:])
    x.at  # noqa: B018  # E: "Array" has no attribute "at"
    x.numpy()  # E: "Array" has no attribute "numpy"
