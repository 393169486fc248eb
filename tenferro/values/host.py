"""Arrays on the host: how array-like data become one, and types of buffers."""

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
    """A compact, read-only copy of array-like data in a dtype that tenferro has.

    Raises:
        DTypeError: the data has no such dtype, or does not fit the one asked for.
        ShapeError: the data is ragged.
    """
    if (
        hasattr(data, "__dlpack__")
        and not isinstance(data, np.ndarray | np.generic)
        and not hasattr(data, "__array__")
    ):
        data = np.from_dlpack(data)
    wanted = None if dtype is None else as_dtype(dtype)
    given = getattr(data, "dtype", None)
    if wanted is not None and getattr(given, "kind", "") == "c" and wanted.kind != "c":
        raise DTypeError(f"tensor: {given} data does not fit {wanted}; take its real part first")
    try:
        array = np.array(data, dtype=wanted, order="C", copy=True)
    except TenferroError:
        raise
    except ValueError as error:
        raise ShapeError(f"tensor: {error}") from None
    except (TypeError, OverflowError) as error:
        raise DTypeError(f"tensor: {error}") from None
    array = array.astype(as_dtype(array.dtype), copy=False)
    array.setflags(write=False)
    return array
