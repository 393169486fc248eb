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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from tenferro.compiler import kernels
from tenferro.config import count
from tenferro.errors import ConfigError
from tenferro.ir import ExecProgram, TensorMeta
from tenferro.runtime import free_host_bytes
from tenferro_xla.placement import LARGE, VIEWS

Type = tuple[tuple[int, ...], Any]
"""Shape and dtype of an array."""
Run = Callable[..., tuple[jax.Array, ...]]
Keep = Callable[[Run], Run]
"""Makes what runs a program one that uses the memory of its results again."""


class BufferPool:
    """Large results of the compiled functions of an executor.

    Nobody waits for it: garbage collection and signals run code of users at any time, also while it
    is in use. Who finds it in use takes nothing and keeps nothing.

    Args:
        most: bytes that may be kept; None for a sixteenth of what is free when it is first asked.

    Raises:
        ConfigError: `most` is not a number of bytes.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most if most is None else count("kept_bytes", most, 0, "a number of bytes")
        self._in_use = threading.Lock()
        self._arrays: dict[Type, list[jax.Array]] = {}  # what was kept last is last
        self._bytes = 0

    @property
    def most(self) -> int:
        """The bytes that may be kept."""
        if self._most is None:
            try:
                self._most = free_host_bytes() // 16
            except ConfigError:  # this system does not tell
                self._most = 1 << 28
        return self._most

    def __len__(self) -> int:
        """Number of arrays that are kept."""
        return sum(map(len, self._arrays.values()))

    def take(self, types: Mapping[Type, int]) -> dict[Type, list[jax.Array]] | None:
        """So many arrays of each type that nobody else has, kept no longer; None if one lacks.

        >>> import jax.numpy as jnp
        >>> pool, shape = BufferPool(), (512, 512)
        >>> held = jnp.zeros(shape)
        >>> types = {(shape, held.dtype): 1}
        >>> pool.keep([held], 2)
        >>> pool.take(types) is None
        True
        >>> held = None
        >>> len(pool.take(types)[shape, jnp.zeros(()).dtype])
        1
        """
        if not self._in_use.acquire(blocking=False):
            return None
        try:
            free = {kind: self._free(kind, number) for kind, number in types.items()}
            if any(len(free[kind]) < number for kind, number in types.items()):
                return None
            reused = {}
            for kind, places in free.items():
                reused[kind] = [self._arrays[kind].pop(place) for place in reversed(places)]
                self._bytes -= sum(array.nbytes for array in reused[kind])
            return reused
        finally:
            self._in_use.release()

    def has(self, types: Mapping[Type, int]) -> bool:
        """Whether there are arrays to take."""
        if not self._in_use.acquire(blocking=False):
            return False
        try:
            return all(len(self._free(kind, number)) == number for kind, number in types.items())
        finally:
            self._in_use.release()

    def keep(self, results: Sequence[jax.Array], most: int) -> None:
        """Keep results, and of the type of each of them no more than `most`: the latest."""
        if not self._in_use.acquire(blocking=False):
            return
        dropped: list[jax.Array] = []  # let go of when the lock is free
        try:
            for array in results:
                kind = array.shape, array.dtype
                shelf = self._arrays.pop(kind, [])
                of_users = [each for each in shelf if VIEWS.is_handed_out(each)]
                dropped += of_users  # they will never be free
                shelf = [each for each in shelf if not VIEWS.is_handed_out(each)]
                shelf.append(array)
                self._bytes += array.nbytes - sum(each.nbytes for each in of_users)
                self._arrays[kind] = shelf
                dropped += self._dropped(kind, len(shelf) - most)
            for kind in list(self._arrays):
                while self._bytes > self.most and self._arrays.get(kind):
                    dropped += self._dropped(kind, 1)
                if self._bytes <= self.most:
                    break
        finally:
            self._in_use.release()

    def clear(self) -> None:
        """Keep nothing."""
        alone = self._in_use.acquire(timeout=1.0)
        dropped, self._arrays, self._bytes = self._arrays, {}, 0
        if alone:
            self._in_use.release()
        del dropped  # when it is not in use

    def _dropped(self, kind: Type, number: int) -> list[jax.Array]:
        """The oldest arrays of a type, which are kept no longer."""
        shelf = self._arrays[kind]
        oldest = [shelf.pop(0) for _ in range(number)]
        self._bytes -= sum(array.nbytes for array in oldest)
        if not shelf:
            del self._arrays[kind]
        return oldest

    def _free(self, kind: Type, number: int) -> list[int]:
        """The places of at most so many arrays of a type that can be overwritten."""
        shelf = self._arrays.get(kind, [])
        found: list[int] = []
        for place in range(len(shelf)):
            if len(found) == number:
                break
            if _holders(shelf, place) == ALONE and _is_at_rest(shelf[place]):
                found.append(place)
        return found


def _holders(shelf: Sequence[object], place: int) -> int:
    """How many hold an entry of a list, the list and this function included."""
    return sys.getrefcount(shelf[place])


ALONE = _holders([object()], 0) if not sysconfig.get_config_var("Py_GIL_DISABLED") else -1
"""`_holders` of what only the list holds. Without the lock of Python its counts are not exact."""


def _is_at_rest(array: jax.Array) -> bool:
    """Whether an array has been computed without an error, and nobody else reaches its memory.

    A result that takes the place of one with an error would have that error.
    """
    if array.is_deleted() or VIEWS.are_open(array) or not array.is_ready():  # type: ignore[attr-defined]  # JAX has no type there
        return False
    try:
        array.block_until_ready()
    except RuntimeError:
        return False
    return True


class PooledCall:
    """Runs a program, and writes its results where earlier ones have been.

    The program that takes places for its results is compiled a second time. That is done when calls
    that could have had a place have lost more time without one than compiling takes.

    Args:
        run: runs the program as it is.
        program: what it runs.
        outputs: those that are kept.
        pool: the results of earlier calls.
        compiling: about how many seconds compiling takes.
        compile_with: compiles the program with places for these outputs as further inputs, and
            returns what runs it.
    """

    def __init__(
        self,
        run: Run,
        program: ExecProgram,
        outputs: tuple[int, ...],
        pool: BufferPool,
        compiling: float,
        compile_with: Callable[[tuple[int, ...]], Run],
    ) -> None:
        self._run, self._pool, self._compile_with = run, pool, compile_with
        self._outputs = outputs
        metas = [program.output_metas[place] for place in outputs]
        self._types = [(meta.static_shape or (), meta.dtype) for meta in metas]
        self._numbers = Counter(self._types)
        self._most = 2 * max(self._numbers.values())
        self._lost, self._bytes = 0.0, sum(map(_bytes, metas))
        self._compiling = compiling
        self._with_places: Run | None = None
        self._unfit = compiling > LONGEST
        self._in_use = threading.Lock()
        self._called = False

    def __call__(self, *buffers: Any) -> tuple[jax.Array, ...]:
        """The results for these arrays."""
        run = self._with_places or self._compiled()
        free = None if run is None else self._pool.take(self._numbers)
        if run is None or free is None:
            results = self._run(*buffers)
        else:
            results = run(*buffers, *[free[kind].pop() for kind in self._types])
        if self._called:  # who calls once shall not find memory kept
            self._pool.keep([results[place] for place in self._outputs], self._most)
        self._called = True
        return results

    def _compiled(self) -> Run | None:
        """What runs the program with places, if it is worth it by now."""
        if self._unfit or not self._pool.has(self._numbers):
            return None
        self._lost += SECONDS_PER_BYTE * self._bytes
        if self._lost < self._compiling or not self._in_use.acquire(blocking=False):
            return None  # another call compiles it
        try:
            if self._with_places is None:
                self._with_places = self._compile_with(self._outputs)
        except Exception:  # the program runs as it is, whatever this was
            self._unfit = True
        finally:
            self._in_use.release()
        return self._with_places


def pooled(
    program: ExecProgram,
    pool: BufferPool,
    kernel_seconds: float,
    compile_with: Callable[[tuple[int, ...]], Run],
) -> Keep | None:
    """How a program uses the memory of its results again; None if it has no large ones.

    `kernel_seconds` is how long compiling takes for each kernel; for the rest see `PooledCall`.
    """
    outputs = large_outputs(program)
    if not outputs or not pool.most or ALONE < 0:
        return None
    seconds = kernels(program) * kernel_seconds
    return lambda run: PooledCall(run, program, outputs, pool, seconds, compile_with)


def large_outputs(program: ExecProgram) -> tuple[int, ...]:
    """The outputs that are worth keeping: large ones, each once; XLA copies what is an input."""
    pairs = enumerate(zip(program.output_slots, program.output_metas, strict=True))
    large = [(place, slot) for place, (slot, meta) in pairs if _bytes(meta) >= LARGE]
    times = Counter(program.output_slots) if large else Counter()
    return tuple([place for place, slot in large if times[slot] == 1])


def _bytes(meta: TensorMeta) -> int:
    return math.prod(meta.static_shape or ()) * meta.dtype.itemsize


SECONDS_PER_BYTE = 2e-10
"""What a byte costs that the system gives to the process anew."""
LONGEST = 1.0
"""Seconds of compiling from which a program is not compiled again."""
