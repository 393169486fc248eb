"""NumPy arrays of array-like data, and types of buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.ma import MaskedArray, is_masked

from tenferro.config import dtype_rules
from tenferro.errors import DTypeError, ExchangeError, ShapeError, TenferroError, class_of
from tenferro.ir import Dim, NumpyArray, TensorMeta, as_dtype, dtype_kind, make_meta
from tenferro.ops.functions import entering
from tenferro.runtime.executors import Buffer

__all__ = ["buffer_meta", "host_array", "narrowed", "refuse_masked", "sealed"]


def buffer_meta(buffer: Buffer) -> TensorMeta:
    """The type of a NumPy or device array."""
    shape: tuple[Dim, ...] = buffer.shape
    return make_meta(buffer.dtype, shape)


def host_array(data: object, dtype: object = None) -> NumpyArray:
    """A contiguous, read-only copy of array-like data, of a dtype that tenferro supports.

    Raises:
        DTypeError: the dtype of the data is not supported, the data does not fit `dtype`, such as
            NaN an integer, or it is masked.
        ShapeError: the data is ragged.
    """
    refuse_masked(data)
    if (
        hasattr(data, "__dlpack__")
        and not isinstance(data, np.ndarray | np.generic)
        and not hasattr(data, "__array__")
    ):
        data = np.from_dlpack(data)
    target = None if dtype is None else as_dtype(dtype)
    source = getattr(data, "dtype", None)
    if target is not None and getattr(source, "kind", "") == "c" and dtype_kind(target) != "c":
        raise DTypeError(f"tensor: {source} data does not fit {target}; take its real part first")
    try:
        array = np.array(data, dtype=target, order="C", copy=True)
    except TenferroError:
        raise
    except ValueError as error:
        ragged = "inhomogeneous" in str(error)
        raise (ShapeError if ragged else DTypeError)(f"tensor: {error}") from None
    except (TypeError, OverflowError) as error:
        advice = entering(data)
        what = f"takes arrays and numbers, got {type(data).__name__}{advice}" if advice else error
        raise DTypeError(f"tensor: {what}") from None
    if array.dtype == object and isinstance(data, int):
        raise DTypeError("tensor: the integer does not fit in 64 bits")
    if (
        source is None
        and target is None
        and dtype_kind(array.dtype) in "fc"
        and is_of_numbers(data)
    ):
        array = array.astype(
            as_dtype(complex if dtype_kind(array.dtype) == "c" else float), copy=False
        )
    elif source is None and target is None and dtype_rules().narrows:
        array = narrowed(array)
    array = array.astype(as_dtype(array.dtype), copy=False)
    array.setflags(write=False)
    return array


NARROWER: dict[Any, np.dtype[Any]] = {
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(complex): np.dtype(np.complex64),
}


def narrowed(value: Any) -> Any:
    """An array of NumPy in floats of 32 bits, if its floats have 64; any other value as it is.

    >>> narrowed(np.ones(2)).dtype, narrowed(np.arange(2)).dtype
    (dtype('float32'), dtype('int64'))
    """
    if not isinstance(value, np.ndarray | np.generic) or dtype_kind(value.dtype) not in "fc":
        return value
    narrow = NARROWER.get(value.dtype.newbyteorder("="))
    if narrow is None:
        return value
    with np.errstate(over="ignore", under="ignore"):
        return value.astype(narrow)


def is_of_numbers(data: object) -> bool:
    """Whether data is a Python number, or a list of numbers or of such lists."""
    stack = [data]
    while stack:
        part = stack.pop()
        if isinstance(part, list | tuple):
            stack += part
        elif hasattr(part, "dtype") or not isinstance(part, int | float | complex):
            return False
    return True


def refuse_masked(data: object) -> None:
    """Raise DTypeError for an array of NumPy some of whose elements are masked."""
    if isinstance(data, MaskedArray) and is_masked(data):
        raise DTypeError(
            f"tensor: {make_meta(data.dtype, data.shape)} has masked elements, and tensors have no "
            "masks; fill them, by data.filled(0.0) for example"
        )


def shared_array(data: object) -> NumpyArray:
    """A read-only view of the memory of an array on the host.

    Whoever owns the memory must not change it, or the tensors made of it change too.

    Raises:
        ExchangeError: only a copy can be used: `data` is not an array on the host, or its dtype or
            layout is not one that tenferro has.
        DTypeError: the data is masked.
    """
    refuse_masked(data)
    try:
        if isinstance(data, np.ndarray) or not hasattr(data, "__dlpack__"):
            array = np.asarray(data, copy=False)
        else:
            array = np.from_dlpack(data)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise ExchangeError(
            f"asarray: {class_of(data)} cannot be shared: {_first(error)}; allow a copy"
        ) from None
    native = as_dtype(array.dtype) == array.dtype and array.dtype.isnative
    if not (native and array.flags.c_contiguous and array.flags.aligned):
        raise ExchangeError(
            f"asarray: an array of dtype {array.dtype.str} with strides {array.strides} cannot be "
            "shared, since tensors are compact and native; allow a copy"
        )
    view = array.view(np.ndarray)
    view.setflags(write=False)
    return view


def sealed(data: Buffer, views: bool = False) -> NumpyArray:
    """A compact array of its own memory, read-only; the same one if it is such an array.

    If `views`, it may also be a view of all of another array, which nobody changes any more.
    """
    array = data if type(data) is np.ndarray else np.asarray(data)
    flags, base = array.flags, array.base
    whole = base is None or (views and getattr(base, "nbytes", 0) == array.nbytes)
    if not (whole and flags.c_contiguous):
        array = array.copy(order="C")
        flags = array.flags
    flags.writeable = False
    return array


def _first(error: Exception) -> str:
    """The first line of the text of an error, without a full stop."""
    return str(error).partition("\n")[0].rstrip(".")


def exported(
    array: NumpyArray,
    stream: object,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """A DLPack capsule of a read-only array on the host.

    The memory is shared with consumers that know of read-only arrays, from DLPack 1.0 on.

    Raises:
        ExchangeError: the capsule cannot be had without a copy, or is wanted on another device.
    """
    if stream is not None or tuple(dl_device or DLPACK_HOST) != DLPACK_HOST:
        raise ExchangeError(
            "__dlpack__: the tensor is on the host, which has no streams; move it with to_device"
        )
    if max_version is not None and max_version[0] >= 1 and not copy:
        return array.__dlpack__(max_version=max_version)
    if copy is False:
        raise ExchangeError(
            "__dlpack__: before version 1.0 DLPack has no read-only arrays; allow a copy"
        )
    return array.copy().__dlpack__()


DLPACK_HOST = (1, 0)
"""The main memory, as DLPack numbers devices."""
