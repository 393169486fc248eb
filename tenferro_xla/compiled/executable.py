"""A compiled program of fixed types on one device.

XLA on the CPU keeps the code of each executable in maps of its own, and Linux gives a process a
limited number of them. Beyond that, XLA fails, and so does whatever else asks for memory.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import jax
import numpy as np

from tenferro.errors import BindingError, DeviceError, class_of, counted
from tenferro.ir import Exact, ExecProgram, NumpyArray, ShapeExtent, TensorMeta, UpperBound
from tenferro.runtime import Tensor
from tenferro_xla.compiled.buffer_pool import Keep
from tenferro_xla.devices import (
    enter_x64,
    is_stopped,
    leave_x64,
    own_settings,
    refuse_not_finite,
)
from tenferro_xla.in_flight import FLIGHT, at_fork, refuse_forked, refuse_lost
from tenferro_xla.lowering import check_callbacks
from tenferro_xla.placement import OneDevice, Placement, Sharding, put, where
from tenferro_xla.platforms import Platform
from tenferro_xla.target import XlaTarget

__all__ = ["Lent", "LoadedExecutable", "check_placed", "private", "upload"]


Buffers = tuple[jax.Array, ...]
Upload = Callable[[NumpyArray], jax.Array]
"""Makes a NumPy array one of the devices."""


class LoadedExecutable:
    """A compiled program of fixed types on one device: device arrays in, device arrays out."""

    __slots__ = (
        "__weakref__", "_again", "_alignment", "_compiled", "_donated", "_keep", "_metas", "_name",
        "_patience", "_plain", "_target", "_unread", "code_size", "direct",
    )  # fmt: skip

    direct: Callable[..., Buffers]
    """Runs on buffers, and raises what JAX raises; see `explain`. The results belong to tensors:
    the memory of one that nobody has any more may be used again."""
    _plain: Callable[..., Buffers]
    """The same with results that belong to the caller."""
    _compiled: jax.stages.Compiled | None

    def __init__(
        self,
        program: ExecProgram,
        compiled: jax.stages.Compiled,
        target: XlaTarget,
        donated: tuple[int, ...] = (),
        again: Callable[[], jax.stages.Compiled] | None = None,
        keep: Keep | None = None,
    ) -> None:
        self._again, self._keep = again, keep
        spans = target.placement.spans_devices
        self._name = f"program {program.digest[:8]}" if spans else "program"
        self._donated = donated
        self._target = target
        self._metas = program.input_metas
        self._alignment = target.platform.alignment
        self._take(compiled)
        _LOADED.add(self)
        needs, work = compiled.memory_analysis(), compiled.cost_analysis() or {}
        # XLA on CPU reports 0; machine code of an op is about a KiB.
        code = 0 if needs is None else needs.generated_code_size_in_bytes
        self.code_size = int(code) or 1024 * (1 + len(program.instructions))
        seconds = SECONDS_PER_BYTE * work.get("bytes accessed", 0.0)
        seconds += SECONDS_PER_FLOP * work.get("flops", 0.0)
        inputs = 0 if needs is None else needs.argument_size_in_bytes
        most = MOST_WAITING * (WAITING + WAITING_PER_BYTE * inputs)
        brief = seconds < most and not program.bodies()
        shares = self._alignment > 1 and not (spans or donated) and bool(program.output_slots)
        self._patience = PATIENCE if shares and brief else 0
        reads = program.read_counts()
        self._unread = {at for at, slot in enumerate(program.input_slots) if slot not in reads}

    @property
    def compiled(self) -> jax.stages.Compiled:
        """What JAX has compiled."""
        compiled = self._compiled
        if compiled is None:
            assert self._again is not None, "it has been dropped"
            compiled = self._again()
            self._take(compiled)
        return compiled

    def drop(self) -> None:
        """Let go of the code, which is compiled again when it is needed."""
        if self._again is not None:
            self._compiled = None
            self._plain, self.direct = self._plain_again, self._call_again

    def refuse(self) -> None:
        """Refuse all calls from now on, in a process that was forked from one where XLA ran."""
        self._plain = self.direct = _refused

    def _take(self, compiled: jax.stages.Compiled) -> None:
        self._compiled = compiled
        self._plain = runner(compiled, self._target)
        if self._target.placement.spans_devices and (self._donated or has_collective(compiled)):
            self._plain = self._bounded_call
        self.direct = self._plain if self._keep is None else self._keep(self._plain)

    def _call_again(self, *buffers: jax.Array) -> Buffers:
        self._take(self.compiled)
        return self.direct(*buffers)

    def _plain_again(self, *buffers: jax.Array) -> Buffers:
        self._take(self.compiled)
        return self._plain(*buffers)

    def __call__(self, *buffers: jax.Array) -> Buffers:
        """Run on buffers of the program's input types.

        Raises:
            DeviceError: a buffer is on another device.
            ForkedError: the process was forked from one where XLA ran.
            BindingError: a buffer is of another type, or was donated.
            BackendFailureError: a callback of the user failed.
        """
        try:
            return self._plain(*buffers)
        except Exception as error:
            results = self.explain(error, buffers, host=False)
            if results is None:
                raise
            return results

    def run_host(self, *values: jax.Array | NumpyArray) -> Buffers:
        """The same for inputs that may be NumPy arrays, which are uploaded."""
        own = [self._own(value) if isinstance(value, np.ndarray) else value for value in values]
        try:
            with jax.enable_x64(True):
                return self._plain(*own)
        except Exception as error:
            results = self.explain(error, values)
            if results is None:
                raise
            return results

    def direct_host(self, *values: jax.Array | NumpyArray) -> Buffers:
        """As `direct` for inputs that may be NumPy arrays, which are uploaded.

        JAX may read a NumPy array after it has returned. So arrays are copied first, or else, if
        they are large, this returns when the results are there; see `_await`. What the program does
        not read is not copied.
        """
        lends, lent = self._patience, 0
        own: list[jax.Array | NumpyArray] = []
        for position, value in enumerate(values):
            if type(value) is not np.ndarray or position in self._unread:
                own.append(value)
            elif (size := value.nbytes) <= COPIED:
                own.append(value.copy())
            elif lends:
                own.append(value)
                lent += size
            else:
                own.append(self._own(value))
        before = enter_x64(True)
        try:
            results = self.direct(*own)
        finally:
            leave_x64(before)
        if lent:
            self._await(results[0], lent)
        return results

    def _await(self, result: jax.Array, lent: int) -> None:
        """Wait until a program has read so many bytes of arrays that may change afterwards.

        Callers could go on meanwhile. So waiting must not take much longer than it would take to
        copy the arrays; else they are copied in later calls.
        """
        start = time.perf_counter()
        result.block_until_ready()
        if self._patience != WAITS:
            worth_it = time.perf_counter() - start < WAITING + WAITING_PER_BYTE * lent
            self._patience = WAITS if worth_it else max(0, self._patience - 1)

    def _own(self, array: NumpyArray) -> jax.Array | NumpyArray:
        """What XLA is given for a NumPy array that may change after the call."""
        platform = self._target.platform
        if not platform.own_memory or array.nbytes < AWAITED:
            return private(array, self._alignment)
        return upload(array, self._target.placement.whole, platform)

    def _bounded_call(self, *buffers: jax.Array | NumpyArray) -> Buffers:
        bound = self._target.in_flight
        return tuple(FLIGHT.run(self.compiled, buffers, bound, self._name))

    def explain(
        self, error: Exception, buffers: Sequence[jax.Array | NumpyArray], host: bool = True
    ) -> Buffers | None:
        """Raise a typed error if a callback failed, or the buffers are not what the program takes.

        NumPy arrays are refused unless `host`. The results, if only a setting of JAX has stopped
        the call; None if nothing is known of the error.
        """
        check_callbacks(error)
        refuse_not_finite(error)
        if self._target.placement.spans_devices:
            refuse_lost(error)
        check_count(self._metas, buffers)
        refuse_deleted(buffers)
        for position, (meta, buffer) in enumerate(zip(self._metas, buffers, strict=True)):
            if not isinstance(buffer, jax.Array | np.ndarray):
                raise BindingError(
                    f"run: input {position} is {meta}, but is given {class_of(buffer)}"
                )
            check_input(position, meta, buffer)
            if isinstance(buffer, jax.Array):
                check_placed(buffer, self._target.placement)
            elif not host:
                raise BindingError(f"run: input {position}: {meta} is on the host; use run_host")
        _explain_shared(buffers, self._donated)
        if not is_stopped(error):
            return None
        with own_settings():
            return self.direct_host(*buffers)


COPIED = 1 << 14
"""Bytes up to which arrays are copied in any case."""
WAITING, WAITING_PER_BYTE = 2e-5, 5e-10
"""Seconds for which it is worth to wait: five times as long as it takes to copy the arrays. So a
call never takes more than a fifth longer for the copies."""
PATIENCE, WAITS = 8, -1
"""How many calls wait until arrays are copied, if none of them finds that waiting is worth it; what
stands in its place from the first that does."""
SECONDS_PER_BYTE, SECONDS_PER_FLOP = 1e-10, 1e-10
"""About how long a program takes for what XLA says that it does; loops are not in that."""
MOST_WAITING = 4
"""If a program takes about so many times longer than it is worth to wait, no call waits."""

_LOADED: weakref.WeakSet[LoadedExecutable] = weakref.WeakSet()
"""The executables of this process."""


def _refuse_all() -> None:
    for executable in list(_LOADED):
        executable.refuse()


at_fork(_refuse_all)


def _refused(*_: object) -> Buffers:
    refuse_forked("run")
    raise AssertionError("the process was forked")


def runner(compiled: jax.stages.Compiled, target: XlaTarget) -> Callable[..., Buffers]:
    """Runs what JAX has compiled, after checking devices where there are several.

    JAX would move an array from another device.
    """
    call = entry_of(compiled)
    if not target.checked:
        return call

    known: dict[int, object] = {}

    def checked_call(*buffers: jax.Array) -> Buffers:
        for buffer in buffers:
            sharding = getattr(buffer, "sharding", None)
            if id(sharding) not in known:
                if sharding is not None:  # NumPy arrays have none
                    check_placed(buffer, target.placement)
                if len(known) >= MOST_KNOWN:
                    known.clear()  # of arrays that are gone, and those of now are soon known again
                known[id(sharding)] = sharding
        return call(*buffers)

    return checked_call


def entry_of(compiled: jax.stages.Compiled) -> Callable[..., Buffers]:
    """The function in C++ that `compiled` makes and calls when it is called.

    To call it through `compiled` costs a tenth of a call of a small program. JAX has no public name
    for it; where it has changed, it is called through `compiled`.
    """
    unwrapped: Any = compiled
    try:
        call = unwrapped._executable.create_cpp_call(unwrapped._params)
    except (AttributeError, TypeError):
        call = None
    if type(call) is not type(_JITTED):  # JAX returns None where Python must handle each call
        call = compiled.__call__  # a bound method is called faster than its object
    return cast(Callable[..., Buffers], call)


_JITTED = jax.jit(lambda: ())
"""A function of JAX, for its class."""

MOST_KNOWN = 256
"""How many shardings an executable knows to be on its device. To compare two takes microseconds;
arrays that one executable has computed, or one executor uploaded, have the same one."""


def has_collective(compiled: jax.stages.Compiled) -> bool:
    """Whether devices wait for each other in an executable, as far as its text tells."""
    text = compiled.as_text()
    return text is None or any(f" {name}" in text for name in _COLLECTIVES)


_COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-")


def check_count(metas: Sequence[TensorMeta], values: Sequence[object]) -> None:
    """Raise BindingError unless there is a value for each input."""
    if len(metas) != len(values):
        raise BindingError(
            f"run: the program takes {counted(len(metas), 'input')}, got {len(values)}"
        )


def check_inputs(metas: Sequence[TensorMeta], arrays: Sequence[jax.Array | NumpyArray]) -> None:
    """Raise BindingError unless the arrays have the types of the inputs; see `check_input`."""
    check_count(metas, arrays)
    for position, (meta, array) in enumerate(zip(metas, arrays, strict=True)):
        check_input(position, meta, array)


def check_input(position: int, meta: TensorMeta, array: jax.Array | NumpyArray) -> None:
    """Raise BindingError unless an array has the type of an input, as far as that is known."""
    fits = array.dtype == meta.dtype and len(array.shape) == meta.rank
    if not fits or not all(map(_holds, meta.extents, array.shape)):
        actual = TensorMeta.of(array.dtype, array.shape)
        raise BindingError(f"run: input {position} is {meta}, but is given {actual}")


def _holds(extent: ShapeExtent, size: int) -> bool:
    match extent:
        case Exact(dim):
            return bool(dim == size)
        case UpperBound(int(bound)):
            return size <= bound
        case _:
            return True


def refuse_deleted(buffers: Sequence[object]) -> None:
    """Raise BindingError if a buffer has been donated."""
    for position, buffer in enumerate(buffers):
        if isinstance(buffer, jax.Array) and buffer.is_deleted():
            raise BindingError(
                f"run: input {position} was donated to an earlier call; pass a copy to that call"
            )


def _explain_shared(buffers: Sequence[object], donated: tuple[int, ...]) -> None:
    """Raise BindingError if a donated buffer is also another input."""
    for place in donated:
        for position, buffer in enumerate(buffers):
            if position != place and buffer is buffers[place]:
                raise BindingError(
                    f"run: inputs {min(place, position)} and {max(place, position)} are one array, "
                    "and it is donated; pass a copy for one of them"
                )


def private(array: NumpyArray, alignment: int = 1) -> NumpyArray:
    """A copy, aligned as the platform reads it.

    A read-only array is copied too: an array that was made of it before may write to its memory,
    and nothing that NumPy tells of an array says whether there is one. XLA copies a small array
    that is not aligned, which costs less than to align it.
    """
    small = array.nbytes <= UNALIGNED
    if small and type(array) is np.ndarray:
        return array.copy()
    if small or alignment == 1:
        return np.array(array, order="C")  # not of a subclass, which JAX may refuse
    memory = np.empty(array.nbytes + alignment, np.uint8)
    own: NumpyArray = np.ndarray(array.shape, array.dtype, memory, -memory.ctypes.data % alignment)
    own[...] = array
    return own


UNALIGNED = 1 << 16
"""Bytes up to which XLA's own copy of an array that is not aligned costs less than to align it."""


def upload(array: NumpyArray, sharding: Sharding, platform: Platform) -> jax.Array:
    """A NumPy array as one with this sharding, which later changes of it do not reach.

    A large one is not copied first where it is copied to the device: to wait until it is there
    takes a third of the time.
    """
    if not platform.own_memory or array.nbytes < AWAITED:
        return put(private(array, platform.alignment), sharding)
    moved = put(np.asarray(array), sharding)
    moved.block_until_ready()
    return moved


AWAITED = 1 << 20
"""Bytes from which the copy on the host is saved."""


class Lent:
    """Arrays of tensors on the host that calls read again and again, as arrays of the device.

    XLA reads memory that is aligned for it without a copy. The second call with a tensor copies its
    elements to such memory, and the tensor gets a view of it in place of its own, so that they are
    there once. The array of the device stays as long as that view does.
    """

    def __init__(self, sharding: Sharding, alignment: int) -> None:
        self._sharding, self._alignment = sharding, alignment
        self._known: dict[int, tuple[weakref.ref[NumpyArray], jax.Array | None]] = {}

    def __call__(self, tensor: Tensor) -> jax.Array | NumpyArray:
        """The array of the device; that of the host in the first call, and if others may change it.

        Nobody changes an array of a tensor that has memory of its own.
        """
        host: NumpyArray = tensor._buffer
        found = self._known.get(id(host))
        if found is None or found[0]() is not host:
            if host.base is None:
                self._remember(host, None)
            return host
        array = found[1]
        if array is None:
            own = private(host, self._alignment)
            (own if own.base is None else own.base).flags.writeable = False  # nor is any view
            array, view = put(own, self._sharding), own.view()
            self._remember(view, array)
            tensor._buffer = view
        return host if array.is_deleted() else array

    def _remember(self, host: NumpyArray, array: jax.Array | None) -> None:
        key = id(host)
        self._known[key] = weakref.ref(host, lambda _: self._known.pop(key, None)), array


def check_placed(buffer: jax.Array, placement: Placement) -> None:
    """Raise DeviceError unless the whole array is on the device.

    On a mesh, `MeshExecutable` has compared shardings.
    """
    if not isinstance(placement, OneDevice):
        return
    holders = buffer.sharding.device_set
    if len(holders) != 1 or placement.device not in holders:
        advice = "" if len(holders) == 1 else ", or run the program there with tn.jit(mesh=)"
        raise DeviceError(
            f"run: an array is on {where(buffer)}, but the program runs on {placement}; "
            f"move it with tn.device_put{advice}"
        )


# A bound on the memory maps that executables hold.

PART = 0.5
"""The part of the limit that is used."""
MOST = 256
"""How many maps an executable is thought to hold at most."""


class Droppable(Protocol):
    """An executable that can be dropped, and is compiled again when it is called."""

    def drop(self) -> None:
        """Let go of the code."""


class MemoryMaps:
    """The executables of a process, in the order in which they were made."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._maps, self._bound = proc / "self" / "maps", proc / "sys" / "vm" / "max_map_count"
        self._lock = threading.Lock()
        self._made: deque[weakref.ref[Droppable]] = deque()
        self._until_count = 0

    def add(self, executable: Droppable) -> None:
        """Note an executable; the older half of all is dropped if too many maps are in use."""
        dropped: list[weakref.ref[Droppable]] = []
        with self._lock:
            self._made.append(weakref.ref(executable))
            self._until_count -= 1
            if self._until_count <= 0:
                left = self._left()
                self._made = deque(each for each in self._made if each() is not None)
                if left < 0:
                    dropped = [self._made.popleft() for _ in range(len(self._made) // 2)]
                self._until_count = max(16, left // MOST)
        for reference in dropped:
            oldest = reference()
            if oldest is not None:
                oldest.drop()

    def _left(self) -> int:
        """How many maps may be made before executables are dropped."""
        try:
            bound = int(self._bound.read_text())
            with self._maps.open("rb") as file:
                return int(PART * bound) - sum(1 for _ in file)
        except (OSError, ValueError):  # not Linux
            return 1 << 30


MEMORY_MAPS = MemoryMaps()
