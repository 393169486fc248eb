"""The executables of one executor: compiled at first use, and cached within bounds."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import jax

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    Buckets,
    MemoryLimit,
    Observer,
    OptimizerOptions,
    PlanFamilies,
    in_words,
    is_dynamic,
    mask_program,
    resolve_sizes,
    run_passes,
)
from tenferro.computegraph import BoundedCache, CacheStats, Capacity
from tenferro.errors import MemoryLimitError, PadSafetyError, UnsupportedExtensionError
from tenferro.exec_ir import ExecOp, ExecProgram, check_budget, program_of_op
from tenferro.shape import Leaf, make_meta
from tenferro.values import planning_for
from tenferro_xla.compiled.bucketed import BucketedExecutable
from tenferro_xla.compiled.executable import Buffers, LoadedExecutable
from tenferro_xla.compiled.report import CompileLog, CompileReport, Part, subject_of
from tenferro_xla.compiled.segmented import Ready, SegmentedExecutable
from tenferro_xla.compiled.slow import announced
from tenferro_xla.compiled.stablehlo import (
    Module,
    compile_stablehlo,
    lower_to_stablehlo,
    prepare,
    require_bound,
    usable_donations,
)
from tenferro_xla.target import XlaTarget

SizesKey = tuple[tuple[str, int], ...]
TOLERANCE = 1.2
"""How many times a memory limit an executable may need, as XLA tells."""
Loaded = LoadedExecutable | SegmentedExecutable | BucketedExecutable
"""A program on a device: whole, in segments where data decide sizes, or at sizes rounded up."""


class Executables:
    """A bounded cache of executables, and the log of what was compiled and why."""

    def __init__(self, target: XlaTarget, capacity: Capacity, buckets: Buckets) -> None:
        self.target = target
        self._buckets = buckets
        self.cache: BoundedCache[Hashable, Loaded] = BoundedCache(
            capacity, measure=lambda executable: executable.code_size
        )
        self._log = CompileLog()

    def of(
        self,
        program: ExecProgram,
        digest: str,
        sizes: Mapping[Leaf, int] | None = None,
        donate: tuple[int, ...] = (),
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> Loaded:
        """The program for these sizes of its symbols; `digest` is the program's.

        `donate` are inputs whose buffers an output of the same type may use; a buffer without such
        an output is not overwritten.
        """
        sizes = dict(sizes or {})
        donated = usable_donations(program, donate, sizes)
        return self.cache.get_or_make(
            (digest, sizes_key(sizes), donated, options),
            lambda: (
                self._compiled(program, digest, sizes, donated, options)
                if not self._buckets.rounded(sizes)
                else self._bucketed(program, digest, sizes, options)
            ),
        )

    def op(self, op: ExecOp, operands: Sequence[jax.Array]) -> Loaded:
        """One op on operands of these types."""
        key = (op.identity, tuple([(array.shape, array.dtype) for array in operands]))
        executable = self.cache.get(key)
        if executable is None:
            program = program_of_op(op, [make_meta(array.dtype, array.shape) for array in operands])
            compiled = self._compiled(program, program.digest, {}, (), DEFAULT_OPTIONS, "op")
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
        with planning_for(self.target):
            return resolve_sizes(program, self.target.optimized_for, sizes, options, observe)

    def _compiled(
        self,
        program: ExecProgram,
        digest: str,
        sizes: Mapping[Leaf, int],
        donated: tuple[int, ...],
        options: OptimizerOptions,
        part: Part = "program",
    ) -> Loaded:
        bound = self.resolved(program, sizes, options)
        if is_dynamic(bound):
            require_bound(bound)
            return SegmentedExecutable(
                bound, digest, self.target.device, lambda ready: self._segment(ready, options)
            )
        return self.load(bound, digest, sizes, donated, part, options=options)

    def _bucketed(
        self,
        program: ExecProgram,
        digest: str,
        sizes: dict[Leaf, int],
        options: OptimizerOptions,
    ) -> Loaded:
        """The program for sizes that are rounded up; equal rounded sizes share an executable."""
        bound = program.bind(sizes)  # raises an error if the true sizes do not fit
        check_budget(bound, self.target.max_bytes)
        rounded = self._buckets.rounded(sizes)
        larger = {
            leaf: self._buckets.size(leaf, size) if leaf in rounded else size
            for leaf, size in sizes.items()
        }
        masked = mask_program(self._with_names(program, sizes, larger, options), rounded)
        executable = self.cache.get_or_make(
            (masked.program.digest, sizes_key(larger), (), options),
            lambda: self.load(
                self.resolved(masked.program, larger, options), digest, larger, options=options
            ),
        )
        assert isinstance(executable, LoadedExecutable), "a masked program is static"
        return BucketedExecutable(
            bound, masked, sizes, larger, executable, self.run_op, self.target.device
        )

    def _with_names(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int],
        larger: Mapping[Leaf, int],
        options: OptimizerOptions,
    ) -> ExecProgram:
        """The program of ops that XLA runs, its sizes still named, planned for the larger ones.

        Raises:
            PadSafetyError: an extension op is lowered for constant sizes only.
            UnsupportedExtensionError: one is not lowered for these sizes either.
        """
        planned = run_passes(program, [PlanFamilies(tuple(larger.items()))])
        try:
            return self.resolved(planned, {}, options)
        except UnsupportedExtensionError as error:
            self.resolved(program, sizes, options)
            rounded = min(self._buckets.rounded(sizes), key=str)
            reason = "it is lowered for constant sizes only"
            raise PadSafetyError(error.family_id, str(rounded), reason) from error

    def run_op(self, op: ExecOp, *operands: jax.Array) -> Buffers:
        """The results of one op, computed immediately."""
        return self.op(op, operands)(*operands)

    def _segment(self, ready: Ready, options: OptimizerOptions) -> LoadedExecutable:
        """A segment for given sizes; sizes that give the same program share an executable."""
        executable = self.cache.get_or_make(
            (ready.digest, (), (), options),
            lambda: self.load(
                ready.program, ready.label, ready.sizes, part="segment", options=options
            ),
        )
        assert isinstance(executable, LoadedExecutable), "a segment is static"
        return executable

    def load(
        self,
        bound: ExecProgram,
        digest: str,
        sizes: Mapping[Any, int] | None = None,
        donated: tuple[int, ...] = (),
        part: Part = "program",
        module: Module | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> LoadedExecutable:
        """Compile a program of constant sizes, or its given lowering; record the compilation."""
        start = time.perf_counter()
        options = options.on_device(self.target.free_bytes)
        with announced(bound):
            if options.memory_limit is not None:
                compiled = self._within(bound, donated, options.memory_limit, options)
            else:
                module = module or self._lowered(bound, donated, options)
                compiled = compile_stablehlo(module, self.target)
        loaded = LoadedExecutable(bound, compiled, self.target, donated)
        seconds = time.perf_counter() - start
        self._log.record(subject_of(bound, digest, sizes_key(sizes or {}), donated, part), seconds)
        return loaded

    def _lowered(
        self, bound: ExecProgram, donated: tuple[int, ...], options: OptimizerOptions
    ) -> Module:
        return lower_to_stablehlo(prepare(bound, self.target, options), self.target, donated)

    def _within(
        self,
        bound: ExecProgram,
        donated: tuple[int, ...],
        limit: MemoryLimit,
        options: OptimizerOptions,
    ) -> jax.stages.Compiled:
        """The executable whose memory, as XLA tells, is at most a little above the limit.

        Where XLA needs more than was predicted, a lower limit is aimed at.

        Raises:
            MemoryLimitError: none was found.
        """
        goal, least = limit, None
        while True:
            try:
                module = self._lowered(bound, donated, options.limited(goal))
            except MemoryLimitError:
                if least is None:
                    raise
                raise refused_by_xla(limit, least) from None
            compiled = compile_stablehlo(module, self.target)
            analysis = compiled.memory_analysis()
            if analysis is None:
                return compiled
            used = analysis.temp_size_in_bytes + analysis.output_size_in_bytes
            if used <= TOLERANCE * limit.bytes:
                return compiled
            least = used if least is None else min(least, used)
            goal = MemoryLimit(int(goal.bytes * min(0.9, limit.bytes / used)), limit.caller)

    def stats(self) -> CacheStats:
        """Entries, hits, misses and evictions of the cache, and bytes of code."""
        return self.cache.stats()

    def explain(self, executor: str) -> CompileReport:
        """A report of what was compiled, and why."""
        return self._log.report(executor, self.cache.stats(), self.cache.capacity)


def refused_by_xla(limit: MemoryLimit, least: int) -> MemoryLimitError:
    """The error for a program that is predicted to fit, but for which XLA needs more."""
    return MemoryLimitError(
        f"{limit.caller}: XLA needs {in_words(least)} for results and intermediate values, more "
        f"than was predicted; the limit is {in_words(limit.bytes)}, and no program was found that "
        "needs less",
        least,
        limit.bytes,
    )


def sizes_key(sizes: Mapping[Any, int]) -> SizesKey:
    """Sizes as part of a key: the names of the symbols in order."""
    return tuple(sorted((str(leaf), size) for leaf, size in sizes.items()))


def sizes_text(sizes: Mapping[Leaf, int]) -> str:
    """Sizes as text, for errors."""
    return ", ".join(f"{name} = {size}" for name, size in sizes_key(sizes)) or "no symbols"
