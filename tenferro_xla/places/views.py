"""Who may reach the memory of a large array without having the array."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from tenferro.exec_ir import Array

LARGE = 1 << 24
"""Bytes from which it pays to use the memory of a result again; see `tenferro_xla.compiled.kept`.

The C library takes blocks from 32 MiB on from the system each time, and smaller ones often.
"""


class Views:
    """What shares the memory of large arrays of JAX on the CPU.

    JAX keeps the NumPy array that it has made of an array, so that neither goes before the other.
    Those of large arrays are made here, anew when nobody has one, so that it is known whether
    somebody has. An array that users have may share its memory with others of JAX; that is noted.

    Nothing here waits for a computation, except for the elements.
    """

    def __init__(self) -> None:
        self._views: dict[int, tuple[weakref.ref[jax.Array], weakref.ref[Array]]] = {}
        self._handed_out: dict[int, weakref.ref[jax.Array]] = {}

    def of(self, array: jax.Array) -> Array | None:
        """A read-only NumPy array on the memory of a large array; None if there cannot be one."""
        view = self._open(array)
        if view is not None or not _is_large(array):
            return view
        array.block_until_ready()  # what is computed may need the lock that DLPack would hold
        try:
            view = np.from_dlpack(array)  # type: ignore[arg-type]  # JAX has fewer types there
        except (BufferError, RuntimeError, TypeError, ValueError):  # not a dtype of DLPack
            return None
        self._views[id(array)] = weakref.ref(array, _removal(self._views, array)), weakref.ref(view)
        return view

    def hand_out(self, array: jax.Array) -> None:
        """Note that users have an array."""
        if _is_large(array):
            removal = _removal(self._handed_out, array)
            self._handed_out[id(array)] = weakref.ref(array, removal)

    def are_open(self, array: jax.Array) -> bool:
        """Whether others may reach the memory of an array."""
        return id(array) in self._handed_out or self._open(array) is not None

    def _open(self, array: jax.Array) -> Array | None:
        owner, view = self._views.get(id(array), _NOTHING)
        return view() if owner() is array else None


def _removal(entries: dict[int, Any], array: jax.Array) -> Callable[[object], None]:
    """Removes the entry of an array that is gone."""
    key = id(array)

    def remove(_: object) -> None:
        entries.pop(key, None)

    return remove


def _is_large(array: jax.Array) -> bool:
    if array.nbytes < LARGE or not array.is_fully_addressable:
        return False
    return len(array.sharding.device_set) == 1 and array.platform() == "cpu"


_NOTHING: Any = (lambda: None, lambda: None)
VIEWS = Views()
