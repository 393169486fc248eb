"""The memory of large results, which later calls use again.

XLA on the CPU takes the memory of results from the C library on every call, and the C library takes
large blocks from the system, which clears each page when it is first touched. That is most of the
time of a kernel that only writes a large array. So the results of compiled functions are kept here
too. When nobody else has one any more, it becomes the place of a result of a later call.
"""

from __future__ import annotations

import math
import sys
import sysconfig
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax

from tenferro.compiler import kernels
from tenferro.errors import ConfigError
from tenferro.exec_ir import ExecProgram
from tenferro.options import count
from tenferro.shape import TensorMeta
from tenferro.values import free_host_bytes
from tenferro_xla.places import LARGE, VIEWS

Type = tuple[tuple[int, ...], Any]
"""Shape and dtype of an array."""
Run = Callable[..., tuple[jax.Array, ...]]
Keep = Callable[[Run], Run]
"""Makes what runs a program one that uses the memory of its results again."""


class KeptResults:
    """Large results of the compiled functions of an executor.

    Args:
        most: bytes that may be kept; None for a sixteenth of what is free when it is first asked.

    Raises:
        ConfigError: `most` is not a number of bytes.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most if most is None else count("kept_bytes", most, 0, "a number of bytes")
        self._lock = threading.Lock()
        self._arrays: list[jax.Array] = []

    @property
    def most(self) -> int:
        """The bytes that may be kept."""
        if self._most is None:
            try:
                self._most = free_host_bytes() // 16
            except ConfigError:  # this system does not tell
                self._most = 1 << 28
        return self._most

    def take(self, types: Sequence[Type]) -> list[jax.Array] | None:
        """Arrays of these types that nobody else has, which are kept no longer; None if one lacks.

        >>> import jax.numpy as jnp
        >>> kept, shape = KeptResults(), (512, 512)
        >>> held = jnp.zeros(shape)
        >>> kept.keep([held], 2)
        >>> kept.take([(shape, held.dtype)]) is None
        True
        >>> held = None
        >>> len(kept.take([(shape, jnp.zeros(()).dtype)]))
        1
        """
        with self._lock:
            found = self._free(types)
            if found is None:
                return None
            arrays = [self._arrays[place] for place in found]
            for place in sorted(found, reverse=True):
                del self._arrays[place]
            return arrays

    def has(self, types: Sequence[Type]) -> bool:
        """Whether there are arrays to take."""
        with self._lock:
            return self._free(types) is not None

    def keep(self, results: Sequence[jax.Array], most: int) -> None:
        """Keep results, and of the type of each of them no more than `most`."""
        with self._lock:
            self._arrays += results
            number: Counter[Type] = Counter()
            total, kept = 0, []
            for array in reversed(self._arrays):  # the latest first
                kind = array.shape, array.dtype
                if array.is_deleted():  # the user has donated it
                    continue
                if number[kind] < most and total + array.nbytes <= self.most:
                    number[kind] += 1
                    total += array.nbytes
                    kept.append(array)
            self._arrays = kept[::-1]

    def forget(self, array: jax.Array) -> None:
        """Keep an array no longer: others may share its memory from now on."""
        if array.nbytes < LARGE:
            return
        with self._lock:
            self._arrays = [each for each in self._arrays if each is not array]

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._arrays = []

    def _free(self, types: Sequence[Type]) -> list[int] | None:
        """The places of arrays of these types that nobody else has; None if one lacks."""
        found: list[int] = []
        for shape, dtype in types:
            for place in range(len(self._arrays)):
                if place in found or _holders(self._arrays, place) != ALONE:
                    continue
                array = self._arrays[place]
                if array.shape == shape and array.dtype == dtype and _is_unread(array):
                    found.append(place)
                    break
            else:
                return None
        return found


def _holders(shelf: Sequence[object], place: int) -> int:
    """How many hold an entry of a list, the list and this function included."""
    return sys.getrefcount(shelf[place])


def _is_unread(array: jax.Array) -> bool:
    """Whether an array is there, and nobody reads it as one of NumPy."""
    return not array.is_deleted() and not VIEWS.is_open(array)


ALONE = _holders([object()], 0) if not sysconfig.get_config_var("Py_GIL_DISABLED") else -1
"""`_holders` of what only the list holds. Without the lock of Python its counts are not exact."""


class KeepingCall:
    """Runs a program, and writes its results where earlier ones have been.

    The program that takes places for its results is compiled a second time. That is done when calls
    that could have had a place have lost more time without one than compiling takes.

    Args:
        run: runs the program as it is.
        program: what it runs.
        kept: the results of earlier calls.
        compiling: about how many seconds compiling takes.
        compile_with: compiles the program with places for these outputs as further inputs, and
            returns what runs it.
    """

    def __init__(
        self,
        run: Run,
        program: ExecProgram,
        kept: KeptResults,
        compiling: float,
        compile_with: Callable[[tuple[int, ...]], Run],
    ) -> None:
        self._run, self._kept, self._compile_with = run, kept, compile_with
        self._outputs = large_outputs(program)
        metas = [program.output_metas[place] for place in self._outputs]
        self._types = [(meta.static_shape or (), meta.dtype) for meta in metas]
        self._most = 2 * max(Counter(self._types).values(), default=0)
        self._lost, self._bytes = 0.0, sum(map(_bytes, metas))
        self._compiling = compiling
        self._with_places: Run | None = None
        self._lock = threading.Lock()
        self._called = False

    def __call__(self, *buffers: Any) -> tuple[jax.Array, ...]:
        """The results for these arrays."""
        places = self._places()
        if places is None:
            results = self._run(*buffers)
        else:
            assert self._with_places is not None
            results = self._with_places(*buffers, *places)
            del places
        if self._called:  # who calls once shall not find memory kept
            self._kept.keep([results[place] for place in self._outputs], self._most)
        self._called = True
        return results

    def _places(self) -> list[jax.Array] | None:
        if self._with_places is not None:
            return self._kept.take(self._types)
        if self._compiling > LONGEST or not self._kept.has(self._types):
            return None
        self._lost += SECONDS_PER_BYTE * self._bytes
        if self._lost < self._compiling:
            return None
        with self._lock:
            if self._with_places is None:
                self._with_places = self._compile_with(self._outputs)
        return self._kept.take(self._types)


def keeping(
    program: ExecProgram,
    kept: KeptResults,
    kernel_seconds: float,
    compile_with: Callable[[tuple[int, ...]], Run],
) -> Keep | None:
    """How a program uses the memory of its results again; None if it has no large ones.

    Nor does one that calls back: the error of a call would reach the next one with the place of its
    result. `kernel_seconds` is how long compiling takes for each kernel; for the rest see
    `KeepingCall`.
    """
    if not kept.most or not program.portable or not large_outputs(program):
        return None
    seconds = kernels(program) * kernel_seconds
    return lambda run: KeepingCall(run, program, kept, seconds, compile_with)


def large_outputs(program: ExecProgram) -> tuple[int, ...]:
    """The outputs that are worth keeping: large ones that the program computes, each once."""
    slots = program.output_slots
    return tuple(
        [
            place
            for place, (slot, meta) in enumerate(zip(slots, program.output_metas, strict=True))
            if slot not in program.input_slots and slots.count(slot) == 1 and _bytes(meta) >= LARGE
        ]
    )


def _bytes(meta: TensorMeta) -> int:
    return math.prod(meta.static_shape or ()) * meta.dtype.itemsize


SECONDS_PER_BYTE = 2e-10
"""What a byte costs that the system gives to the process anew."""
LONGEST = 1.0
"""Seconds of compiling from which a program is not compiled again."""
