"""Running the segments of a program in which data decide sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np

from tenferro.compiler.device import SegmentPlan, XlaSegment, plan_segments, specialise
from tenferro.config import config
from tenferro.core import BoundedCache, Capacity
from tenferro.errors import BindingError
from tenferro.ir import (
    Exact,
    ExecProgram,
    NumpyArray,
    ShapeExtent,
    TensorMeta,
    UpperBound,
    make_meta,
    verify,
)
from tenferro.ops import size_of_scalar
from tenferro_xla.compiled.executable import Buffers, Upload

__all__ = ["SegmentedExecutable"]


@dataclass(frozen=True, slots=True)
class Ready:
    """A segment for the sizes of one run.

    Attributes:
        program: the segment with constant extents.
        digest: the program's.
        label: the name of the segment in reports; the same for all sizes.
        sizes: the scalars that sizes are taken from, for reports.
        known: scalars that were computed on the host, by slot.
    """

    program: ExecProgram
    digest: str
    label: str
    sizes: Mapping[str, int]
    known: Mapping[int, NumpyArray]


CompileSegment = Callable[[Ready], Callable[..., Buffers]]
"""The executable of a segment, cached or compiled now."""


class SegmentedExecutable:
    """A program as a function of device arrays; each segment is compiled for the sizes of a run.

    Between segments only the scalars that are sizes leave the device.

    Attributes:
        plan: the segments.
        downloaded: number of scalars copied to the host so far.
    """

    code_size = 0
    """The cache counts the code of the segments, which are entries of their own."""

    def __init__(
        self,
        program: ExecProgram,
        digest: str,
        upload: Upload,
        compile_segment: CompileSegment,
    ) -> None:
        verify(program)
        self.plan: SegmentPlan = plan_segments(program)
        self.downloaded = 0
        self._digest = digest
        self._upload = upload
        self._compile = compile_segment
        self._hosted = frozenset(slot for seg in self.plan.segments for slot in seg.hosted)
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

    def run_host(self, *values: jax.Array | NumpyArray) -> Buffers:
        """The same for inputs that may be NumPy arrays, which are uploaded."""
        slots = self.plan.program.input_slots
        hosts = {
            slot: value
            for slot, value in zip(slots, values, strict=False)
            if isinstance(value, np.ndarray) and value.ndim == 0
        }
        with jax.enable_x64(True):
            return self._run([self._put(value) for value in values], hosts)

    def _run(self, buffers: Sequence[jax.Array], hosts: dict[int, NumpyArray]) -> Buffers:
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
        self, segment: XlaSegment, values: Mapping[int, jax.Array], hosts: Mapping[int, NumpyArray]
    ) -> dict[int, NumpyArray]:
        """The scalars that the segment needs on the host and that are not there yet."""
        missing = [slot for slot in segment.scalars if slot not in hosts]
        self.downloaded += len(missing)
        return {slot: np.asarray(values[slot]) for slot in missing}

    def _prepared(
        self, segment: XlaSegment, values: Mapping[int, jax.Array], hosts: Mapping[int, NumpyArray]
    ) -> Ready:
        """The segment for the current shapes and sizes, cached or specialised now."""
        inputs = [values[slot] for slot in segment.inputs]
        sizes = {
            slot: hosts[slot].item() if slot in self._hosted else size_of_scalar(hosts[slot])
            for slot in segment.scalars
        }
        types = tuple([(array.shape, array.dtype) for array in inputs])
        key = (segment.number, types, *sizes.values())
        cached = self._ready.get(key)
        if cached is not None:
            return cached
        metas = [make_meta(array.dtype, array.shape) for array in inputs]
        special = specialise(segment, metas, {slot: hosts[slot] for slot in sizes})
        named = {f"%{slot}": sizes[slot] for slot in sizes if slot not in self._hosted}
        label = f"{segment.number}/{self._digest}"
        ready = Ready(special.program, special.program.identity, label, named, special.known)
        return self._ready.put(key, ready)

    def _forget(self, position: int, values: dict[int, jax.Array]) -> None:
        """Drop the values that no later segment and no output reads."""
        later = self.plan.segments[position + 1 :]
        needed = {slot for seg in later for slot in (*seg.inputs, *seg.scalars)}
        needed.update(self.plan.program.output_slots)
        for slot in [slot for slot in values if slot not in needed]:
            del values[slot]

    def _put(self, value: jax.Array | NumpyArray) -> jax.Array:
        if isinstance(value, jax.Array):
            return value
        return self._upload(value)


def _check(metas: Sequence[TensorMeta], buffers: Sequence[jax.Array]) -> None:
    """Raise BindingError unless the buffers have the declared types, as far as they are known."""
    if len(metas) != len(buffers):
        raise BindingError(f"run: the program takes {len(metas)} inputs, got {len(buffers)}")
    for position, (meta, buffer) in enumerate(zip(metas, buffers, strict=True)):
        shape = buffer.shape
        fits = buffer.dtype == meta.dtype and len(shape) == meta.rank
        if not fits or not all(map(_holds, meta.extents, shape)):
            actual = TensorMeta.of(buffer.dtype, shape)
            raise BindingError(f"run: input {position} is {meta}, but is given {actual}")


def _holds(extent: ShapeExtent, size: int) -> bool:
    match extent:
        case Exact(dim):
            return bool(dim == size)
        case UpperBound(int(bound)):
            return size <= bound
        case _:
            return True
