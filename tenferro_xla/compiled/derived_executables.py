"""Executables made of others: at rounded sizes, in segments, for the shardings of inputs."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import numpy as np
from jax.sharding import NamedSharding

from tenferro.compiler.device import (
    Axes,
    Buckets,
    PaddedProgram,
    SegmentPlan,
    SizeRounding,
    XlaSegment,
    plan_segments,
    specialise_segment,
)
from tenferro.config import config
from tenferro.core import BoundedCache, Capacity
from tenferro.errors import BindingError, DeviceError, TenferroError
from tenferro.ir import (
    ExecProgram,
    Leaf,
    NumpyArray,
    SymDim,
    TensorMeta,
    make_meta,
    verify,
)
from tenferro.ops import Pad, Slice, size_of_scalar
from tenferro.runtime import Shardings
from tenferro_xla.compiled.executable import (
    Buffers,
    LoadedExecutable,
    Upload,
    check_count,
    check_inputs,
    private,
    refuse_deleted,
)
from tenferro_xla.placement import (
    OnMesh,
    automatic,
    canonical_sharding,
    check_divides,
    put,
    where,
)

__all__ = ["BucketedExecutable", "SegmentedExecutable", "buckets_of"]


# Sizes rounded up, so that one executable serves many of them.

RunOp = Callable[..., Buffers]
"""Runs one op on device arrays."""


class BucketedExecutable:
    """A program for its true sizes, run by an executable for larger ones.

    Inputs are padded with zeros, and outputs are sliced on the device.
    """

    code_size = 0
    """The cache counts the code of the inner executable, which is an entry of its own."""

    def __init__(
        self,
        bound: ExecProgram,
        masked: PaddedProgram,
        true_sizes: Mapping[Leaf, int],
        bucket_sizes: Mapping[Leaf, int],
        executable: LoadedExecutable,
        run_op: RunOp,
        upload: Upload,
    ) -> None:
        self._metas = bound.input_metas
        self._masked = masked
        self._buckets = bucket_sizes
        self._executable = executable
        self._run_op = run_op
        self._upload = upload
        with jax.enable_x64(True):
            self._sizes = [self._upload(np.asarray(true_sizes[leaf])) for leaf in masked.sizes]
            zeros = {meta.dtype: np.zeros((), meta.dtype) for meta in self._metas}
            self._zeros = {dtype: self._upload(zero) for dtype, zero in zeros.items()}
        self._cuts = _cuts(bound, masked, bucket_sizes)

    def __call__(self, *buffers: jax.Array) -> Buffers:
        """Run on buffers of the true sizes.

        Raises:
            BindingError: a buffer is of another type.
        """
        return self._run(buffers)

    def run_host(self, *values: jax.Array | NumpyArray) -> Buffers:
        """The same for inputs that may be NumPy arrays, which are padded before the upload."""
        with jax.enable_x64(True):
            return self._run(values)

    def _run(self, values: Sequence[jax.Array | NumpyArray]) -> Buffers:
        check_inputs(self._metas, values)
        padded = [
            self._padded(value, axes)
            for value, axes in zip(values, self._masked.inputs, strict=True)
        ]
        results = self._executable(*padded, *self._sizes)
        return tuple(
            [
                result if cut is None else self._run_op(cut, result)[0]
                for result, cut in zip(results, self._cuts, strict=True)
            ]
        )

    def _padded(self, value: jax.Array | NumpyArray, axes: Axes) -> jax.Array:
        """An input at the sizes that are compiled for, on the device."""
        missing = [
            self._buckets[axes[axis]] - size if axis in axes else 0
            for axis, size in enumerate(value.shape)
        ]
        if isinstance(value, np.ndarray):
            pads = [(0, more) for more in missing]
            return self._upload(np.pad(value, pads) if any(missing) else value)
        if not any(missing):
            return value
        none = (0,) * len(missing)
        return self._run_op(Pad(none, tuple(missing), none), value, self._zeros[value.dtype])[0]


def _cuts(
    bound: ExecProgram, masked: PaddedProgram, buckets: Mapping[Leaf, int]
) -> list[Slice | None]:
    """For each output the slice that removes its padding; None if it has no padding."""
    cuts: list[Slice | None] = []
    for meta, axes in zip(bound.output_metas, masked.outputs, strict=True):
        shape = meta.static_shape
        assert shape is not None, "the program is bound"
        exact = all(buckets[leaf] == shape[axis] for axis, leaf in axes.items())
        cuts.append(None if exact else Slice((0,) * len(shape), shape, (1,) * len(shape)))
    return cuts


# Which sizes of a program share an executable without being asked to.

EXACT = 4
"""A program is compiled for each of its first so many sizes; further ones are rounded up."""
OPERATION = 1e-9
"""Seconds of an operation, about."""
CALLS = 100
"""Calls whose work on padding, together, may take as long as to compile for the exact size."""
STEPS = (1, 8)
"""Steps from a power of two to the next, coarsest first; the first that costs little is taken."""
LEAST = 4
"""A shared program has at least so many instructions for each array that is padded or cut."""
MOST_HISTORIES = 4096


def buckets_of(
    bucketing: Mapping[str, SizeRounding] | Literal["auto"] | None, may_choose: bool
) -> Buckets | None:
    """The buckets that a user asks for; None to choose them. On a mesh parts have exact sizes."""
    if bucketing == "auto":
        return None if may_choose else Buckets({})
    return Buckets({} if bucketing is None else bucketing)


@dataclass
class SizeHistory:
    """What is known of a program: the sizes it was compiled for, and those that no padding fits."""

    exact: int = 0
    refused: set[str] = field(default_factory=set)


class SizeSharing:
    """Rounds sizes up where a program has been compiled for several, and padding costs little.

    What it chooses follows from the program and the order of its sizes, not from a clock.

    Args:
        kernel_seconds: about how long compiling takes for each instruction.
    """

    def __init__(self, kernel_seconds: float) -> None:
        self._kernel_seconds = kernel_seconds
        self._lock = threading.Lock()
        self._known: BoundedCache[str, SizeHistory] = BoundedCache(Capacity(MOST_HISTORIES))

    def sizes(
        self, program: ExecProgram, digest: str, sizes: Mapping[Leaf, int]
    ) -> dict[Leaf, int] | None:
        """The sizes to compile for, those that may be rounded up; None for the exact ones."""
        with self._lock:
            known = self._known.get_or_make(digest, SizeHistory)
            free: dict[Leaf, int] = {
                leaf: size
                for leaf, size in sizes.items()
                if isinstance(leaf, SymDim) and leaf.name not in known.refused and size > 0
            }
            if free and known.exact >= EXACT and _mostly_inside(program, free):
                # operations on padding in a call that cost little compared with compiling
                granted = len(program.instructions) * self._kernel_seconds / (OPERATION * CALLS)
                most = program.bind(dict(sizes)).work() + granted
                for larger in _rounded(free):
                    if _work(program, {**sizes, **larger}) <= most:
                        return larger
            known.exact += 1
            return None

    def refuse(self, digest: str, symbol: str) -> None:
        with self._lock:
            self._known.get_or_make(digest, SizeHistory).refused.add(symbol)

    def clear(self) -> None:
        self._known.clear()


def _rounded(sizes: Mapping[Leaf, int]) -> Iterator[dict[Leaf, int]]:
    for steps in STEPS:
        yield {leaf: _up(size, steps) for leaf, size in sizes.items()}


def _up(size: int, steps: int) -> int:
    """The least size not below `size` of those that divide each octave into equal steps."""
    octave = (1 << (size - 1).bit_length()) // 2
    step = max(1, octave // steps)
    return -(-size // step) * step


def _work(program: ExecProgram, sizes: Mapping[Leaf, int]) -> float:
    """The operations for these sizes; infinitely many if the program does not allow them."""
    try:
        return program.bind(dict(sizes)).work()
    except TenferroError:
        return math.inf


def _mostly_inside(program: ExecProgram, sizes: Mapping[Leaf, int]) -> bool:
    """Whether a program computes much in addition to padding its inputs and cutting its outputs."""
    metas = (*program.input_metas, *program.output_metas)
    touched = sum(not meta.symbols().isdisjoint(sizes) for meta in metas)
    return len(program.instructions) >= LEAST * touched


SizesKey = tuple[tuple[str, int], ...]
"""Names of symbols, in order, and their sizes."""


def sizes_key(sizes: Mapping[Any, int]) -> SizesKey:
    """Sizes as part of a key: the names of the symbols in order."""
    return tuple(sorted((str(leaf), size) for leaf, size in sizes.items()))


def sizes_text(sizes: Mapping[Leaf, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes_key(sizes)) or "no symbols"


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
        check_inputs(program.input_metas, buffers)
        values = dict(zip(program.input_slots, buffers, strict=True))
        for position, segment in enumerate(self.plan.segments):
            missing = [slot for slot in segment.scalars if slot not in hosts]
            self.downloaded += len(missing)
            hosts.update((slot, np.asarray(values[slot])) for slot in missing)
            ready = self._prepared(segment, values, hosts)
            hosts.update(ready.known)
            if segment.outputs:
                results = self._compile(ready)(*[values[slot] for slot in segment.inputs])
                values.update(zip(segment.outputs, results, strict=True))
            self._forget(position, values)
        return tuple([values[slot] for slot in program.output_slots])

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
        special = specialise_segment(segment, metas, {slot: hosts[slot] for slot in sizes})
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


# A mesh: one executable for each set of shardings of the inputs.

Load = Callable[[tuple[NamedSharding, ...]], LoadedExecutable]
"""Compiles the program for inputs that are divided so."""


class MeshExecutable:
    """A program of fixed types on a mesh, compiled for the shardings that its inputs have.

    Inputs whose shardings are declared must have these; NumPy arrays are uploaded part by part.

    Raises:
        ShardingError: a declared sharding does not divide its array.
    """

    code_size = 0
    """The cache counts the code of the executables for shardings, which are its entries too."""

    def __init__(
        self, program: ExecProgram, placement: OnMesh, shardings: Shardings, load: Load
    ) -> None:
        self._metas = program.input_metas
        self._placement = placement
        self._names = shardings.names
        self._load = load
        self._declared = _all(shardings.inputs, len(self._metas))
        outputs = _all(shardings.outputs, len(program.output_metas))
        _check_all(self._metas, self._declared, self._name)
        _check_all(program.output_metas, outputs, lambda position: f"result {position}")
        self._known: dict[tuple[Any, ...], LoadedExecutable] = {}

    def __call__(self, *buffers: jax.Array) -> Buffers:
        """Run on buffers of the program's input types.

        Raises:
            DeviceError: a buffer is on another device or mesh, or is divided otherwise.
            BindingError: a buffer is of another type, or was donated.
        """
        return self._of(buffers)(*buffers)

    def run_host(self, *values: jax.Array | NumpyArray) -> Buffers:
        """The same for inputs that may be NumPy arrays, which are uploaded."""
        check_count(self._metas, values)
        buffers = [
            put(private(value), sharding or self._placement.whole)
            if isinstance(value, np.ndarray)
            else value
            for value, sharding in zip(values, self._declared, strict=True)
        ]
        return self._of(buffers)(*buffers)

    def of(self, shardings: Sequence[NamedSharding]) -> LoadedExecutable:
        """The executable for inputs that are divided so."""
        return self._load(tuple([canonical_sharding(sharding) for sharding in shardings]))

    def _of(self, buffers: Sequence[jax.Array]) -> LoadedExecutable:
        try:
            key = tuple([buffer.sharding for buffer in buffers])
        except AttributeError:
            raise BindingError(
                f"run: takes arrays on {self._placement}, got "
                f"{', '.join(type(buffer).__name__ for buffer in buffers)}; use run_host"
            ) from None
        executable = self._known.get(key)
        if executable is None:
            check_count(self._metas, buffers)
            for position, buffer in enumerate(buffers):
                self._check(position, buffer)
            if len(self._known) >= config.cache_entries:
                self._known.clear()
            executable = self._known[key] = self.of(key)  # type: ignore[arg-type]  # checked
        for buffer in buffers:
            if buffer.is_deleted():  # JAX would read what is not there
                refuse_deleted(buffers)
        return executable

    def _check(self, position: int, buffer: jax.Array) -> None:
        """Raise DeviceError unless the buffer is on the mesh, divided as is declared."""
        sharding, declared = buffer.sharding, self._declared[position]
        if not isinstance(sharding, NamedSharding) or (
            automatic(sharding.mesh) != self._placement.mesh
        ):
            raise DeviceError(
                f"run: {self._name(position)} is on {where(buffer)}, but the program runs on "
                f"{self._placement}; move it with tn.device_put"
            )
        if declared is not None and not sharding.is_equivalent_to(declared, buffer.ndim):
            raise DeviceError(
                f"run: {self._name(position)} is divided by {sharding.spec} on {self._placement}, "
                f"but in_shardings says {declared.spec}; move it with tn.device_put"
            )

    def _name(self, position: int) -> str:
        if position < len(self._names):
            return f"argument {self._names[position]}"
        return f"input {position}"


def _all(shardings: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    return (*shardings, *(None,) * (count - len(shardings)))


def _check_all(
    metas: Sequence[TensorMeta], shardings: Sequence[Any], name: Callable[[int], str]
) -> None:
    """Raise ShardingError unless each declared sharding divides its array."""
    for position, (meta, sharding) in enumerate(zip(metas, shardings, strict=True)):
        if sharding is not None:
            assert meta.static_shape is not None, "the program is bound"
            check_divides(sharding, meta.static_shape, f"jit: {name(position)}", meta)
