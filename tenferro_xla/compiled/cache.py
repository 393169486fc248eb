"""`Executables`: what one executor has compiled."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
from jax.sharding import NamedSharding

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    MemoryLimit,
    Observer,
    OptimizerOptions,
    resolve_sizes,
    run_passes,
)
from tenferro.compiler.device import Buckets, PlanFamilies, is_dynamic, mask_program
from tenferro.core import BoundedCache, CacheStats, Capacity
from tenferro.errors import (
    DistributedError,
    PadSafetyError,
    TenferroError,
    UnsupportedExtensionError,
)
from tenferro.ir import (
    ExecOp,
    ExecProgram,
    Leaf,
    NumpyArray,
    check_budget,
    make_meta,
    program_of_op,
)
from tenferro.ops.extension import Extension
from tenferro.runtime import INFERRED, Shardings, planning_for
from tenferro_xla.compiled.buffer_pool import BufferPool, pooled
from tenferro_xla.compiled.compile_log import CompileLog, CompileReport, Part, announced, subject_of
from tenferro_xla.compiled.derived_executables import (
    BucketedExecutable,
    MeshExecutable,
    Ready,
    SegmentedExecutable,
    SizeSharing,
    sizes_key,
)
from tenferro_xla.compiled.disk_cache import cached_executable
from tenferro_xla.compiled.executable import MEMORY_MAPS, Buffers, LoadedExecutable, runner, upload
from tenferro_xla.compiled.stablehlo import (
    Module,
    compile_stablehlo,
    lower_to_stablehlo,
    pinned_by,
    prepare,
    require_bound,
    usable_donations,
)
from tenferro_xla.distributed import agree_among_processes
from tenferro_xla.in_flight import refuse_forked
from tenferro_xla.placement import OnMesh
from tenferro_xla.target import XlaTarget

__all__ = ["CompileRequest", "Executables", "Loaded"]


# The executables of one executor: compiled at first use, and cached within bounds.

Loaded = LoadedExecutable | SegmentedExecutable | BucketedExecutable | MeshExecutable
"""A program on a device: whole, in segments where data decide sizes, or at sizes rounded up; or on
a mesh of devices."""


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """What is asked of a compilation, besides the program.

    Attributes:
        identity: that of the user's program, whose symbols have names.
        sizes: of these symbols; of a segment, the scalars that its sizes are taken from.
        donated: inputs whose buffers an output of the same type may use; a buffer without such an
            output is not overwritten.
        options: of the passes.
        shardings: how inputs and outputs are divided on a mesh.
        part: whether it is the whole program, one at sizes rounded up, a segment, or one op.
    """

    identity: str
    sizes: Mapping[Any, int] = field(default_factory=dict)
    donated: tuple[int, ...] = ()
    options: OptimizerOptions = DEFAULT_OPTIONS
    shardings: Shardings = INFERRED
    part: Part = "program"

    @property
    def key(self) -> tuple[object, ...]:
        """The key of the executable."""
        return self.identity, sizes_key(self.sizes), self.donated, self.options, self.shardings


class Executables:
    """A bounded cache of executables, and the log of what was compiled and why."""

    def __init__(
        self,
        target: XlaTarget,
        capacity: Capacity,
        buckets: Buckets | None,
        kept_bytes: int | None = None,
    ) -> None:
        self.target, self.pool = target, BufferPool(kept_bytes)
        self._buckets = Buckets({}) if buckets is None else buckets
        self._sharing = SizeSharing(target.platform.kernel_seconds) if buckets is None else None
        self.cache: BoundedCache[Hashable, Loaded] = BoundedCache(
            capacity, measure=lambda executable: executable.code_size
        )
        self._log = CompileLog()

    def of(self, program: ExecProgram, request: CompileRequest) -> Loaded:
        """The program for the sizes of its symbols, compiled now or before."""
        if request.donated and not isinstance(self.target.placement, OnMesh):
            donated = usable_donations(program, request.donated, request.sizes)
            request = replace(request, donated=donated)
        return self.cache.get_or_make(request.key, lambda: self._for_sizes(program, request))

    def _for_sizes(self, program: ExecProgram, request: CompileRequest) -> Loaded:
        """The program for these sizes, or for larger ones that others share."""
        sizes = request.sizes
        rounded = self._buckets.rounded(sizes)
        if rounded:
            larger = {leaf: self._buckets.size(leaf, sizes[leaf]) for leaf in rounded}
            return self._for_larger_sizes(program, request, larger)
        if self._sharing is not None and not request.donated and not request.options.memory_limit:
            while shared := self._sharing.sizes(program, request.identity, sizes):
                try:
                    return self._for_larger_sizes(program, request, shared)
                except PadSafetyError as error:
                    self._sharing.refuse(request.identity, error.symbol)
                except TenferroError:  # the larger sizes are over the budget, for example
                    break  # what is wrong at the exact sizes too is said of these
        return self._for_exact_sizes(program, request)

    def op(self, op: ExecOp, operands: Sequence[jax.Array]) -> Loaded:
        """One op on operands of these types."""
        key = (op.identity, tuple([(array.shape, array.dtype) for array in operands]))
        executable = self.cache.get(key)
        if executable is None:
            program = program_of_op(op, [make_meta(array.dtype, array.shape) for array in operands])
            request = CompileRequest(program.identity, part="op")
            executable = self.cache.put(key, self._for_exact_sizes(program, request))
        return executable

    def resolved(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int],
        options: OptimizerOptions,
        observe: Observer | None = None,
    ) -> ExecProgram:
        """The program for these sizes, of ops that XLA runs; before the passes of the target."""
        goal = self.target.optimized_for
        if not program.bodies() and not program.has_op(Extension):  # nothing is planned
            return resolve_sizes(program, goal, sizes, options, observe)
        with planning_for(self.target):
            return resolve_sizes(program, goal, sizes, options, observe)

    def _for_exact_sizes(self, program: ExecProgram, request: CompileRequest) -> Loaded:
        """The program whole, or in segments if data decide sizes in it."""
        bound = self.resolved(program, request.sizes, request.options)
        if is_dynamic(bound):
            return self._in_segments(bound, request)
        return self._whole(bound, request)

    def _in_segments(self, bound: ExecProgram, request: CompileRequest) -> SegmentedExecutable:
        """A program that is compiled part by part, when the sizes of each part are known."""
        require_bound(bound)
        options, placement = request.options, self.target.placement
        if isinstance(placement, OnMesh) and len(placement.processes) > 1:
            raise DistributedError(
                f"compile: data decide sizes in the program, and {placement} has devices of "
                f"{len(placement.processes)} processes, which would have to agree on them; give "
                "the sizes bounds, or run it on the devices of one process"
            )

        def segment(ready: Ready) -> Loaded:
            """A segment for given sizes; sizes that give the same program share an executable."""
            own = CompileRequest(ready.label, ready.sizes, options=options, part="segment")
            return self.cache.get_or_make(
                CompileRequest(ready.digest, options=options).key,
                lambda: self._whole(self.resolved(ready.program, {}, options), own),
            )

        return SegmentedExecutable(bound, request.identity, self.upload, segment)

    def _whole(
        self, bound: ExecProgram, request: CompileRequest
    ) -> LoadedExecutable | MeshExecutable:
        """A program of constant sizes; on a mesh it is compiled when shardings are known."""
        placement, shardings = self.target.placement, request.shardings
        if not isinstance(placement, OnMesh):
            return self.compile(bound, replace(request, shardings=INFERRED))

        def for_shardings(inputs: tuple[NamedSharding, ...]) -> LoadedExecutable:
            outputs = shardings.outputs
            if not inputs:  # nothing else says where the program runs
                declared = outputs or (None,) * len(bound.output_metas)
                outputs = tuple([each or placement.whole for each in declared])
            own = Shardings(inputs, outputs, shardings.names)
            donated = usable_donations(bound, request.donated, shardings=own)
            divided = replace(request, donated=donated, shardings=own)
            key = (*divided.key, request.part)
            executable = self.cache.get(key)
            if executable is None:
                specs = [None if each is None else str(each.spec) for each in inputs + outputs]
                lowering = self.target.lowering
                choices = (request.options, lowering.precision, lowering.shared_slices)
                types = (bound.digest, key[1], donated, str(placement), specs)
                agree_among_processes(placement.processes, (*types, *choices))
                executable = self.cache.put(key, self.compile(bound, divided))
            assert isinstance(executable, LoadedExecutable), "the shardings are known"
            return executable

        return MeshExecutable(bound, placement, shardings, for_shardings)

    def _for_larger_sizes(
        self, program: ExecProgram, request: CompileRequest, rounded: Mapping[Leaf, int]
    ) -> Loaded:
        """The program for sizes that are rounded up; equal rounded sizes share an executable."""
        sizes, options = dict(request.sizes), request.options
        bound = program.bind(sizes)  # raises an error if the true sizes do not fit
        check_budget(bound, self.target.max_bytes)
        larger = {**sizes, **rounded}
        named = self._with_names(program, request, larger, frozenset(rounded))
        masked = mask_program(named, frozenset(rounded))
        own = CompileRequest(request.identity, larger, options=options, part="bucket")
        executable = self.cache.get_or_make(
            replace(own, identity=masked.program.identity).key,
            lambda: self.compile(self.resolved(masked.program, larger, options), own),
        )
        assert isinstance(executable, LoadedExecutable), "a masked program is static"
        return BucketedExecutable(
            bound, masked, sizes, larger, executable, self.run_op, self.upload
        )

    def _with_names(
        self,
        program: ExecProgram,
        request: CompileRequest,
        larger: Mapping[Leaf, int],
        rounded: frozenset[Leaf],
    ) -> ExecProgram:
        """The program of ops that XLA runs, its sizes still named, planned for the larger ones.

        Raises:
            PadSafetyError: an op is lowered, or resolved, for constant sizes only.
            TenferroError: the program does not fit these sizes either.
        """
        planned = run_passes(program, [PlanFamilies(tuple(larger.items()))])
        try:
            return self.resolved(planned, {}, request.options)
        except TenferroError as error:
            self.resolved(program, request.sizes, request.options)
            first = str(min(rounded, key=str))
            if isinstance(error, UnsupportedExtensionError):
                reason = "it is lowered for constant sizes only"
                raise PadSafetyError(error.family_id, first, reason) from error
            reason = f"it needs constant sizes: {str(error).splitlines()[0]}"
            raise PadSafetyError("program", first, reason) from error

    def upload(self, array: NumpyArray) -> jax.Array:
        """A NumPy array as one of the devices, each of which holds all of it."""
        return upload(array, self.target.placement.whole, self.target.platform)

    def run_op(self, op: ExecOp, *operands: jax.Array) -> Buffers:
        """The results of one op, computed immediately."""
        return self.op(op, operands)(*operands)

    def compile(
        self, bound: ExecProgram, request: CompileRequest, module: Module | None = None
    ) -> LoadedExecutable:
        """A program of constant sizes, or its given lowering, compiled and ready to be called.

        Raises:
            ForkedError: the process was forked from one where XLA ran.
        """
        options, donated = request.options.on_device(self.target.free_bytes), request.donated
        request = replace(request, options=options)
        if options.memory_limit is not None:
            module = None  # XLA may need more for it than the limit allows

        by_xla = functools.partial(self._by_xla, bound, request, module)

        def run_with(places: tuple[int, ...]) -> Callable[..., Buffers]:
            run = runner(by_xla(places), self.target)
            MEMORY_MAPS.add(loaded)  # once more, for its second executable
            return run

        compiled = by_xla()
        if isinstance(self.target.placement, OnMesh):
            return LoadedExecutable(bound, compiled, self.target, donated)
        platform = self.target.platform
        owned = request.part == "program" and not donated and options.memory_limit is None
        keep = None
        if owned and platform.maps_results:
            keep = pooled(bound, self.pool, platform.kernel_seconds, run_with)
        loaded = LoadedExecutable(bound, compiled, self.target, donated, by_xla, keep)
        MEMORY_MAPS.add(loaded)
        return loaded

    def _by_xla(
        self,
        bound: ExecProgram,
        request: CompileRequest,
        module: Module | None,
        places: tuple[int, ...] = (),
    ) -> jax.stages.Compiled:
        """What XLA compiles of a program within its memory limit, or what is on disk; recorded.

        `module` is the program lowered, if that has been done. For each output in `places` it takes
        one more input: an array that the output overwrites.
        """
        options, donated, shardings = request.options, request.donated, request.shardings
        refuse_forked("compile")
        start = time.perf_counter()

        def compile_with(options: OptimizerOptions) -> jax.stages.Compiled:
            pinned = pinned_by(bound, self.target.placement, shardings)
            prepared = prepare(bound, self.target, options, pinned=pinned)
            lowered = lower_to_stablehlo(prepared, self.target, donated, shardings, places)
            return compile_stablehlo(lowered, self.target)

        def compile_within(goal: MemoryLimit) -> tuple[jax.stages.Compiled, int | None]:
            compiled = compile_with(options.limited(goal))
            needs = compiled.memory_analysis()
            return compiled, needs and needs.temp_size_in_bytes + needs.output_size_in_bytes

        compile_now = functools.partial(compile_with, options)
        if options.memory_limit is not None:
            compile_now = functools.partial(options.memory_limit.searched, compile_within, "XLA")
        with announced(bound):
            if places:
                compiled, from_disk = compile_now(), False
            elif module is not None:
                compiled, from_disk = compile_stablehlo(module, self.target), False
            else:
                compiled, from_disk = cached_executable(
                    bound, self.target, donated, options, compile_now
                )
        seconds, sizes = time.perf_counter() - start, sizes_key(request.sizes)
        subject = subject_of(bound, request.identity, sizes, donated, request.part, places)
        self._log.record(subject, seconds, from_disk)
        return compiled

    def clear(self) -> None:
        """Drop all executables, the buffer pool, and what is known of sizes."""
        self.cache.clear()
        self.pool.clear()
        if self._sharing is not None:
            self._sharing.clear()

    def stats(self) -> CacheStats:
        """Entries, hits, misses and evictions of the cache, and bytes of code."""
        return self.cache.stats()

    def explain(self, executor: str) -> CompileReport:
        """A report of what was compiled, and why."""
        return self._log.report(executor, self.cache.stats(), self.cache.capacity)
