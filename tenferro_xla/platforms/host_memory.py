"""Settings of the C library's allocator, which XLA uses on the CPU."""

from __future__ import annotations

import ctypes
import sys

from tenferro.errors import ConfigError, ExecutorError

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # parameters of mallopt, from malloc.h
NEVER = 2**31 - 1


def keep_host_memory(headroom: int = 256 << 20) -> None:
    """Let the C library of this *process* keep freed memory for later allocations.

    XLA on the CPU allocates its buffers on each call. With glibc's default settings, blocks above
    32 MiB are mapped from the system and returned to it each time, and the system clears every page
    when it is first used. That takes longer than most computations on them. Results of compiled
    functions are spared it: see `XlaExecutor(kept_bytes=)`. This call is for other buffers, such
    as the temporaries of programs. The memory of the process then never shrinks and grows by
    `headroom` bytes at a time. This affects the whole process, including JAX and NumPy. Call it
    once, at the start. It cannot be undone.

    Args:
        headroom: bytes, less than 2 GiB.

    Raises:
        ConfigError: `headroom` is not a number of bytes below 2 GiB.
        ExecutorError: the C library is not glibc.

    Source: `mallopt(3)` of the Linux manual.
    """
    if not isinstance(headroom, int) or not 0 <= headroom <= NEVER:
        raise ConfigError(
            f"keep_host_memory: headroom is {headroom!r}; it must be a number of bytes below 2 GiB"
        )
    mallopt = _mallopt()
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, NEVER), (TOP_PAD, headroom))
    if not all(mallopt(name, value) for name, value in settings):
        raise ExecutorError("keep_host_memory: the C library refused the setting")


def _mallopt() -> ctypes._NamedFuncPointer:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is None or not hasattr(library, "gnu_get_libc_version"):
        raise ExecutorError(f"keep_host_memory: needs glibc, which {sys.platform} lacks here")
    return library.mallopt
