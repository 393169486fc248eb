"""Running the segments of a program in which data decide sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np

from tenferro.compiler import SegmentPlan, XlaSegment, plan_segments, specialise
from tenferro.computegraph import BoundedCache, Capacity
from tenferro.config import config
from tenferro.errors import BindingError
from tenferro.exec_ir import Array, ExecProgram, verify
from tenferro.ops import size_of_scalar
from tenferro.shape import Exact, ShapeExtent, TensorMeta, UpperBound, make_meta
from tenferro_xla.compiled.executable import Buffers, LoadedExecutable, private


@dataclass(frozen=True, slots=True)
class Ready:
    """A segment for the sizes that it has met.

    Attributes:
        program: the segment with constant extents.
        digest: the program's.
        label: names the segment, whatever its sizes; for reports.
        sizes: the scalars that the program was made for; for reports.
        known: scalars that were computed on the host, by slot.
    """

    program: ExecProgram
    digest: str
    label: str
    sizes: Mapping[str, int]
    known: Mapping[int, Array]


CompileSegment = Callable[[Ready], LoadedExecutable]
"""The executable of a segment, from the cache of whoever runs it, if it is there."""


class SegmentedExecutable:
    """A program as a function of device arrays, each segment compiled for the sizes that it meets.

    Between segments nothing leaves the device but the scalars that are sizes.

    Attributes:
        plan: the segments.
        downloaded: how many scalars have come to the host so far.
    """

    code_size = 0
    """Its segments have executables of their own."""

    def __init__(
        self, program: ExecProgram, digest: str, device: jax.Device, compile_segment: CompileSegment
    ) -> None:
        verify(program)
        self.plan: SegmentPlan = plan_segments(program)
        self.downloaded = 0
        self._digest = digest
        self._device = device
        self._compile = compile_segment
        self._hosted = frozenset(slot for each in self.plan.segments for slot in each.hosted)
        self._ready: BoundedCache[tuple[object, ...], Ready] = BoundedCache(
            Capacity(config.cache_entries)
        )

    def __call__(self, *buffers: jax.Array) -> Buffers:
        """Run on buffers of the program's input types.

        Raises:
            BindingError: a buffer is of another type.
            DeviceError: a buffer is on another device.
            RuntimeSizeError: a scalar that is to be a size is NaN or infinite.
        """
        return self._run(buffers, {})

    def run_host(self, *values: jax.Array | Array) -> Buffers:
        """The same where inputs may be NumPy arrays, which are uploaded."""
        slots = self.plan.program.input_slots
        hosts = {
            slot: value
            for slot, value in zip(slots, values, strict=False)
            if isinstance(value, np.ndarray) and value.ndim == 0
        }
        with jax.enable_x64(True):
            return self._run([self._put(value) for value in values], hosts)

    def _run(self, buffers: Sequence[jax.Array], hosts: dict[int, Array]) -> Buffers:
        program = self.plan.program
        _check(program.input_metas, buffers)
        values = dict(zip(program.input_slots, buffers, strict=True))
        for position, segment in enumerate(self.plan.segments):
            hosts.update(self._downloads(segment, values, hosts))
            ready = self._prepared(segment, values, hosts)
            hosts.update(ready.known)
            if segment.outputs:
                results = self._compile(ready)(*[values[slot] for slot in segment.inputs])
                values.update(zip(segment.outputs, results, strict=True))
            self._forget(position, values)
        return tuple([values[slot] for slot in program.output_slots])

    def _downloads(
        self, segment: XlaSegment, values: Mapping[int, jax.Array], hosts: Mapping[int, Array]
    ) -> dict[int, Array]:
        """The scalars that the segment needs on the host and that are not there."""
        missing = [slot for slot in segment.scalars if slot not in hosts]
        self.downloaded += len(missing)
        return {slot: np.asarray(values[slot]) for slot in missing}

    def _prepared(
        self, segment: XlaSegment, values: Mapping[int, jax.Array], hosts: Mapping[int, Array]
    ) -> Ready:
        """The segment for the shapes and sizes at hand; written now, unless they were met."""
        inputs = [values[slot] for slot in segment.inputs]
        sizes = {
            slot: hosts[slot].item() if slot in self._hosted else size_of_scalar(hosts[slot])
            for slot in segment.scalars
        }
        types = tuple([(each.shape, each.dtype) for each in inputs])
        key = (segment.number, types, *sizes.values())
        found = self._ready.get(key)
        if found is not None:
            return found
        metas = [make_meta(each.dtype, each.shape) for each in inputs]
        made = specialise(segment, metas, {slot: hosts[slot] for slot in sizes})
        named = {f"%{slot}": sizes[slot] for slot in sizes if slot not in self._hosted}
        label = f"{segment.number}/{self._digest}"
        ready = Ready(made.program, made.program.digest, label, named, made.known)
        return self._ready.put(key, ready)

    def _forget(self, position: int, values: dict[int, jax.Array]) -> None:
        """Let go of what nothing reads any more."""
        later = self.plan.segments[position + 1 :]
        needed = {slot for each in later for slot in (*each.inputs, *each.scalars)}
        needed.update(self.plan.program.output_slots)
        for slot in [slot for slot in values if slot not in needed]:
            del values[slot]

    def _put(self, value: jax.Array | Array) -> jax.Array:
        if isinstance(value, jax.Array):
            return value
        placed: jax.Array = jax.device_put(private(value), self._device)
        return placed


def _check(metas: Sequence[TensorMeta], buffers: Sequence[jax.Array]) -> None:
    """Raise BindingError unless the buffers have the declared types, as far as they are known."""
    if len(metas) != len(buffers):
        raise BindingError(f"run: the program takes {len(metas)} inputs, got {len(buffers)}")
    for position, (meta, buffer) in enumerate(zip(metas, buffers, strict=True)):
        shape = buffer.shape
        fits = buffer.dtype == meta.dtype and len(shape) == meta.rank
        if not fits or not all(map(_holds, meta.extents, shape)):
            given = TensorMeta.of(buffer.dtype, shape)
            raise BindingError(f"run: input {position} is {meta}, but is given {given}")


def _holds(extent: ShapeExtent, size: int) -> bool:
    match extent:
        case Exact(dim):
            return bool(dim == size)
        case UpperBound(int(bound)):
            return size <= bound
        case _:
            return True
