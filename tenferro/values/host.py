"""NumPy arrays of array-like data, and types of buffers."""

from __future__ import annotations

import numpy as np

from tenferro.errors import DTypeError, ShapeError, TenferroError
from tenferro.exec_ir import Array
from tenferro.shape import Dim, TensorMeta, as_dtype, make_meta
from tenferro.values.executors import Buffer


def buffer_meta(buffer: Buffer) -> TensorMeta:
    """The type of a NumPy or device array."""
    shape: tuple[Dim, ...] = buffer.shape
    return make_meta(buffer.dtype, shape)


def host_array(data: object, dtype: object = None) -> Array:
    """A contiguous, read-only copy of array-like data, of a dtype that tenferro supports.

    Raises:
        DTypeError: the dtype of the data is not supported, or the data does not fit `dtype`.
        ShapeError: the data is ragged.
    """
    if (
        hasattr(data, "__dlpack__")
        and not isinstance(data, np.ndarray | np.generic)
        and not hasattr(data, "__array__")
    ):
        data = np.from_dlpack(data)
    target = None if dtype is None else as_dtype(dtype)
    source = getattr(data, "dtype", None)
    if target is not None and getattr(source, "kind", "") == "c" and target.kind != "c":
        raise DTypeError(f"tensor: {source} data does not fit {target}; take its real part first")
    try:
        array = np.array(data, dtype=target, order="C", copy=True)
    except TenferroError:
        raise
    except ValueError as error:
        raise ShapeError(f"tensor: {error}") from None
    except (TypeError, OverflowError) as error:
        raise DTypeError(f"tensor: {error}") from None
    array = array.astype(as_dtype(array.dtype), copy=False)
    array.setflags(write=False)
    return array
