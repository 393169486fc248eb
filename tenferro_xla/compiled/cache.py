"""`Executables`: what one executor has compiled."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
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
from tenferro_xla.compiled.disk_cache import executable_kept
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
from tenferro_xla.distributed import agree
from tenferro_xla.in_flight import refuse_forked
from tenferro_xla.placement import OnMesh
from tenferro_xla.target import XlaTarget

__all__ = ["Executables", "Loaded"]


# The executables of one executor: compiled at first use, and cached within bounds.

Loaded = LoadedExecutable | SegmentedExecutable | BucketedExecutable | MeshExecutable
"""A program on a device: whole, in segments where data decide sizes, or at sizes rounded up; or on
a mesh of devices."""


class Executables:
    """A bounded cache of executables, and the log of what was compiled and why."""

    def __init__(
        self,
        target: XlaTarget,
        capacity: Capacity,
        buckets: Buckets | None,
        kept_bytes: int | None = None,
    ) -> None:
        self.target, self.kept = target, BufferPool(kept_bytes)
        self._buckets = Buckets({}) if buckets is None else buckets
        self._sharing = SizeSharing(target.platform.kernel_seconds) if buckets is None else None
        self.cache: BoundedCache[Hashable, Loaded] = BoundedCache(
            capacity, measure=lambda executable: executable.code_size
        )
        self._log = CompileLog()

    def of(
        self,
        program: ExecProgram,
        identity: str,
        sizes: Mapping[Leaf, int] | None = None,
        donate: tuple[int, ...] = (),
        options: OptimizerOptions = DEFAULT_OPTIONS,
        shardings: Shardings = INFERRED,
    ) -> Loaded:
        """The program for these sizes of its symbols; `identity` is the program's.

        `donate` are inputs whose buffers an output of the same type may use; a buffer without such
        an output is not overwritten.
        """
        sizes = dict(sizes or {})
        donated = donate if isinstance(self.target.placement, OnMesh) else ()
        donated = donated or usable_donations(program, donate, sizes)
        return self.cache.get_or_make(
            (identity, sizes_key(sizes), donated, options, shardings),
            lambda: self._made(program, identity, sizes, donated, options, shardings),
        )

    def _made(
        self,
        program: ExecProgram,
        identity: str,
        sizes: dict[Leaf, int],
        donated: tuple[int, ...],
        options: OptimizerOptions,
        shardings: Shardings,
    ) -> Loaded:
        """The program for these sizes, or for larger ones that others share."""
        rounded = self._buckets.rounded(sizes)
        if rounded:
            larger = {leaf: self._buckets.size(leaf, sizes[leaf]) for leaf in rounded}
            return self._bucketed(program, identity, sizes, larger, options)
        if self._sharing is not None and not donated and options.memory_limit is None:
            while shared := self._sharing.sizes(program, identity, sizes):
                try:
                    return self._bucketed(program, identity, sizes, shared, options)
                except PadSafetyError as error:
                    self._sharing.refuse(identity, error.symbol)
                except TenferroError:  # the larger sizes are over the budget, for example
                    break  # what is wrong at the exact sizes too is said of these
        return self._compiled(program, identity, sizes, donated, options, shardings=shardings)

    def op(self, op: ExecOp, operands: Sequence[jax.Array]) -> Loaded:
        """One op on operands of these types."""
        key = (op.identity, tuple([(array.shape, array.dtype) for array in operands]))
        executable = self.cache.get(key)
        if executable is None:
            program = program_of_op(op, [make_meta(array.dtype, array.shape) for array in operands])
            compiled = self._compiled(program, program.identity, {}, (), DEFAULT_OPTIONS, "op")
            executable = self.cache.put(key, compiled)
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

    def _compiled(
        self,
        program: ExecProgram,
        identity: str,
        sizes: Mapping[Leaf, int],
        donated: tuple[int, ...],
        options: OptimizerOptions,
        part: Part = "program",
        shardings: Shardings = INFERRED,
    ) -> Loaded:
        bound = self.resolved(program, sizes, options)
        if is_dynamic(bound):
            require_bound(bound)
            self._refuse_segments()
            return SegmentedExecutable(
                bound,
                identity,
                self.upload,
                lambda ready: self._segment(ready, options),
            )
        return self._static(bound, identity, sizes, donated, options, part, shardings)

    def _refuse_segments(self) -> None:
        """Raise DistributedError if several processes would have to know sizes that data decide."""
        placement = self.target.placement
        if isinstance(placement, OnMesh) and len(placement.processes) > 1:
            raise DistributedError(
                f"compile: data decide sizes in the program, and {placement} has devices of "
                f"{len(placement.processes)} processes, which would have to agree on them; give "
                "the sizes bounds, or run it on the devices of one process"
            )

    def _static(
        self,
        bound: ExecProgram,
        identity: str,
        sizes: Mapping[Any, int],
        donate: tuple[int, ...],
        options: OptimizerOptions,
        part: Part,
        shardings: Shardings,
    ) -> LoadedExecutable | MeshExecutable:
        """A program of constant sizes; on a mesh it is compiled when shardings are known."""
        placement = self.target.placement
        if not isinstance(placement, OnMesh):
            return self.load(bound, identity, sizes, donate, part, options=options)

        def load(inputs: tuple[NamedSharding, ...]) -> LoadedExecutable:
            outputs = shardings.outputs
            if not inputs:  # nothing else says where the program runs
                declared = outputs or (None,) * len(bound.output_metas)
                outputs = tuple([each or placement.whole for each in declared])
            own = Shardings(inputs, outputs, shardings.names)
            donated = usable_donations(bound, donate, shardings=own)
            key = (identity, sizes_key(sizes), donated, options, own, part)
            executable = self.cache.get(key)
            if executable is None:
                divided = [None if each is None else str(each.spec) for each in inputs + outputs]
                lowering = self.target.lowering
                choices = (options, lowering.precision, lowering.shared_slices)
                types = (bound.digest, key[1], donated, str(placement), divided)
                agree(placement.processes, (*types, *choices))
                loaded = self.load(
                    bound, identity, sizes, donated, part, options=options, shardings=own
                )
                executable = self.cache.put(key, loaded)
            assert isinstance(executable, LoadedExecutable), "the shardings are known"
            return executable

        return MeshExecutable(bound, placement, shardings, load)

    def _bucketed(
        self,
        program: ExecProgram,
        identity: str,
        sizes: dict[Leaf, int],
        rounded: Mapping[Leaf, int],
        options: OptimizerOptions,
    ) -> Loaded:
        """The program for sizes that are rounded up; equal rounded sizes share an executable."""
        bound = program.bind(sizes)  # raises an error if the true sizes do not fit
        check_budget(bound, self.target.max_bytes)
        larger = {**sizes, **rounded}
        named = self._with_names(program, sizes, larger, frozenset(rounded), options)
        masked = mask_program(named, frozenset(rounded))
        executable = self.cache.get_or_make(
            (masked.program.identity, sizes_key(larger), (), options, INFERRED),
            lambda: self.load(
                self.resolved(masked.program, larger, options),
                identity,
                larger,
                part="bucket",
                options=options,
            ),
        )
        assert isinstance(executable, LoadedExecutable), "a masked program is static"
        return BucketedExecutable(
            bound, masked, sizes, larger, executable, self.run_op, self.upload
        )

    def _with_names(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int],
        larger: Mapping[Leaf, int],
        rounded: frozenset[Leaf],
        options: OptimizerOptions,
    ) -> ExecProgram:
        """The program of ops that XLA runs, its sizes still named, planned for the larger ones.

        Raises:
            PadSafetyError: an op is lowered, or resolved, for constant sizes only.
            TenferroError: the program does not fit these sizes either.
        """
        planned = run_passes(program, [PlanFamilies(tuple(larger.items()))])
        try:
            return self.resolved(planned, {}, options)
        except TenferroError as error:
            self.resolved(program, sizes, options)
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

    def _segment(self, ready: Ready, options: OptimizerOptions) -> Loaded:
        """A segment for given sizes; sizes that give the same program share an executable."""

        def load() -> Loaded:
            program = self.resolved(ready.program, {}, options)
            return self._static(program, ready.label, ready.sizes, (), options, "segment", INFERRED)

        return self.cache.get_or_make((ready.digest, (), (), options, INFERRED), load)

    def load(
        self,
        bound: ExecProgram,
        identity: str,
        sizes: Mapping[Any, int] | None = None,
        donated: tuple[int, ...] = (),
        part: Part = "program",
        module: Module | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
        shardings: Shardings = INFERRED,
    ) -> LoadedExecutable:
        """Compile a program of constant sizes, or its given lowering; record the compilation.

        Raises:
            ForkedError: the process was forked from one where XLA ran.
        """
        options = options.on_device(self.target.free_bytes)
        if options.memory_limit is not None:
            module = None  # XLA may need more for it than the limit allows

        def compile_now(places: tuple[int, ...] = ()) -> jax.stages.Compiled:
            refuse_forked("compile")
            start = time.perf_counter()
            make = functools.partial(self._executable, bound, donated, options, shardings, places)
            with announced(bound):
                if places:
                    compiled, from_disk = make(), False
                elif module is not None:
                    compiled, from_disk = compile_stablehlo(module, self.target), False
                else:
                    compiled, from_disk = executable_kept(
                        bound, self.target, donated, options, make
                    )
            seconds = time.perf_counter() - start
            subject = subject_of(bound, identity, sizes_key(sizes or {}), donated, part, places)
            self._log.record(subject, seconds, from_disk)
            return compiled

        def run_with(places: tuple[int, ...]) -> Callable[..., Buffers]:
            run = runner(compile_now(places), self.target)
            MEMORY_MAPS.add(loaded)  # once more, for its second executable
            return run

        compiled = compile_now()
        if isinstance(self.target.placement, OnMesh):
            return LoadedExecutable(bound, compiled, self.target, donated)
        platform = self.target.platform
        owned = part == "program" and not donated and options.memory_limit is None
        keep = None
        if owned and platform.maps_results:
            keep = pooled(bound, self.kept, platform.kernel_seconds, run_with)
        loaded = LoadedExecutable(bound, compiled, self.target, donated, compile_now, keep)
        MEMORY_MAPS.add(loaded)
        return loaded

    def _executable(
        self,
        bound: ExecProgram,
        donated: tuple[int, ...],
        options: OptimizerOptions,
        shardings: Shardings,
        places: tuple[int, ...],
    ) -> jax.stages.Compiled:
        """The program prepared, lowered and compiled by XLA, within its memory limit."""
        pinned = pinned_by(bound, self.target.placement, shardings)

        def compile_with(options: OptimizerOptions) -> jax.stages.Compiled:
            prepared = prepare(bound, self.target, options, pinned=pinned)
            module = lower_to_stablehlo(prepared, self.target, donated, shardings, places)
            return compile_stablehlo(module, self.target)

        def compile_within(goal: MemoryLimit) -> tuple[jax.stages.Compiled, int | None]:
            compiled = compile_with(options.limited(goal))
            needs = compiled.memory_analysis()
            used = needs and needs.temp_size_in_bytes + needs.output_size_in_bytes
            return compiled, used

        limit = options.memory_limit
        return compile_with(options) if limit is None else limit.searched(compile_within, "XLA")

    def clear(self) -> None:
        """Drop all executables, the results that are kept, and what was seen of sizes."""
        self.cache.clear()
        self.kept.clear()
        if self._sharing is not None:
            self._sharing.clear()

    def stats(self) -> CacheStats:
        """Entries, hits, misses and evictions of the cache, and bytes of code."""
        return self.cache.stats()

    def explain(self, executor: str) -> CompileReport:
        """A report of what was compiled, and why."""
        return self._log.report(executor, self.cache.stats(), self.cache.capacity)
