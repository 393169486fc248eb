"""Results that NumPy reads where they are."""

from __future__ import annotations

import weakref

import jax
import numpy as np

from tenferro.exec_ir import Array

LARGE = 1 << 22
"""Bytes from which it pays to use the memory of a result again; see `tenferro_xla.compiled.kept`.

Half of the time of a kernel that only writes so much goes into memory that the system has just
given to the process.
"""


class Views:
    """The NumPy arrays that share the memory of large arrays of JAX on the CPU.

    JAX keeps the NumPy array that it has made of an array, so that neither goes before the other.
    These are made anew when nobody has one, and it is known whether somebody has.
    """

    def __init__(self) -> None:
        self._made: dict[int, weakref.ref[Array]] = {}

    def of(self, array: jax.Array) -> Array | None:
        """A read-only NumPy array on the memory of an array; None if there cannot be one."""
        place = _place(array)
        if place is None:
            return None
        view = self._open(place)
        if view is not None and view.dtype == array.dtype and view.shape == array.shape:
            return view
        try:
            view = np.from_dlpack(array)  # type: ignore[arg-type]  # JAX has fewer types there
        except (BufferError, RuntimeError, TypeError, ValueError):  # not a dtype of DLPack
            return None
        self._made[place] = weakref.ref(view)
        if len(self._made) > MOST:
            self._made = {at: made for at, made in self._made.copy().items() if made() is not None}
        return view

    def is_open(self, array: jax.Array) -> bool:
        """Whether somebody has a NumPy array on the memory of this one."""
        place = _place(array)
        return place is not None and self._open(place) is not None

    def _open(self, place: int) -> Array | None:
        made = self._made.get(place)
        return None if made is None else made()


def _place(array: jax.Array) -> int | None:
    """The address of the memory of a large array on the CPU; None of others."""
    if array.nbytes < LARGE or not array.is_fully_addressable:
        return None
    if len(array.sharding.device_set) != 1 or array.platform() != "cpu":
        return None
    place: int = array.unsafe_buffer_pointer()
    return place


MOST = 256
"""Entries from which those are removed that stand for arrays that are gone."""

VIEWS = Views()
