"""What NVIDIA's driver says: the CUDA that it takes, its GPUs, their free memory."""

from __future__ import annotations

import ctypes

__all__ = ["DRIVER", "driver_gpus", "driver_version", "free_gpu_bytes"]

DRIVER = "libcuda.so.1"
"""The driver's library on Linux."""

_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE


def driver_version(driver: str = DRIVER) -> tuple[int, int] | None:
    """The newest CUDA that the driver takes, as `(12, 4)`; None without a driver."""
    number = ctypes.c_int()
    try:
        failed = ctypes.CDLL(driver).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if failed or not number.value else (number.value // 1000, number.value % 1000 // 10)


def driver_gpus(driver: str = DRIVER) -> tuple[int | None, str | None]:
    """How many GPUs the driver finds, and why it does not start; both None without a driver.

    No memory of a GPU is touched.
    """
    count = ctypes.c_int()
    name = ctypes.c_char_p()
    try:
        library = ctypes.CDLL(driver)
        status = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
        if status and status != _NO_DEVICE:
            library.cuGetErrorName(status, ctypes.byref(name))
            return None, (name.value or b"").decode() or f"error {status} of CUDA"
    except (OSError, AttributeError):
        return None, None
    return count.value, None


def free_gpu_bytes(number: int, driver: str = DRIVER) -> int | None:
    """The bytes that no process has of the memory of a GPU; None if the driver does not say.

    `number` is that of the GPU among those that the process finds. The driver is asked in the
    primary context, in which XLA runs.
    """
    context, popped = ctypes.c_void_p(), ctypes.c_void_p()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    device = ctypes.c_int()
    try:
        library = ctypes.CDLL(driver)
        if library.cuInit(0) or library.cuDeviceGet(ctypes.byref(device), number):
            return None
        if library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device):
            return None
        try:
            if library.cuCtxPushCurrent_v2(context):
                return None
            failed = library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
            library.cuCtxPopCurrent_v2(ctypes.byref(popped))
        finally:
            library.cuDevicePrimaryCtxRelease_v2(device)
    except (OSError, AttributeError):
        return None
    return None if failed else free.value
