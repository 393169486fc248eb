"""The allocator that XLA takes memory of the CPU from."""

from __future__ import annotations

import ctypes
import sys

from tenferro.errors import ConfigError, ExecutorError

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # parameters of mallopt, from malloc.h
NEVER = 2**31 - 1


def keep_host_memory(headroom: int = 256 << 20) -> None:
    """Let the C library of this *process* keep memory that is freed, for the next who asks.

    XLA on the CPU takes memory anew on each call. As the C library comes, blocks above 32 MiB are
    mapped from the system and given back each time, and every page of them is cleared when it is
    first touched, which takes longer than most of what is computed there: the product of the
    elements of two 2048² matrices takes a third of the time after this call. The process never
    becomes smaller again, and takes `headroom` bytes at a time; everything in it is concerned, JAX
    and NumPy too. Call it once, at the start. It cannot be undone.

    Args:
        headroom: bytes, less than 2 GiB.

    Raises:
        ConfigError: `headroom` is not such a number.
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
