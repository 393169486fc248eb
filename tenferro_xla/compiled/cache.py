"""The executables of one executor: compiled when they are first asked for, kept within bounds."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import jax

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    Buckets,
    Observer,
    OptimizerOptions,
    is_dynamic,
    mask_program,
    resolve_sizes,
)
from tenferro.computegraph import BoundedCache, CacheStats, Capacity
from tenferro.exec_ir import ExecOp, ExecProgram, check_budget, program_of_op
from tenferro.shape import Leaf, make_meta
from tenferro_xla.compiled.bucketed import BucketedExecutable
from tenferro_xla.compiled.executable import Buffers, LoadedExecutable
from tenferro_xla.compiled.report import CompileLog, CompileReport, Part, subject_of
from tenferro_xla.compiled.segmented import Ready, SegmentedExecutable
from tenferro_xla.compiled.stablehlo import (
    compile_stablehlo,
    lower_to_stablehlo,
    prepare,
    require_bound,
    usable_donations,
)
from tenferro_xla.target import XlaTarget

SizesKey = tuple[tuple[str, int], ...]
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

        `donate` are inputs whose buffers an output of the same type may take; where there is none
        the buffer is left alone.
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
        key = (op.identity, tuple([(each.shape, each.dtype) for each in operands]))
        found = self.cache.get(key)
        if found is None:
            program = program_of_op(op, [make_meta(each.dtype, each.shape) for each in operands])
            compiled = self._compiled(program, program.digest, {}, (), DEFAULT_OPTIONS, "op")
            found = self.cache.put(key, compiled)
        return found

    def resolved(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int],
        options: OptimizerOptions,
        observe: Observer | None = None,
    ) -> ExecProgram:
        """The program for these sizes, made of what XLA runs; not yet brought into its form."""
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
        """The program for sizes that are rounded up, by the executable that many of them share."""
        bound = program.bind(sizes)  # refuses what the true sizes do not fit
        check_budget(bound, self.target.max_bytes)
        rounded = self._buckets.rounded(sizes)
        masked = mask_program(self.resolved(program, {}, options), rounded)
        larger = {
            leaf: self._buckets.size(leaf, size) if leaf in rounded else size
            for leaf, size in sizes.items()
        }
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

    def run_op(self, op: ExecOp, *operands: jax.Array) -> Buffers:
        """One op, at once."""
        return self.op(op, operands)(*operands)

    def _segment(self, ready: Ready, options: OptimizerOptions) -> LoadedExecutable:
        """A segment for given sizes; one executable where two sizes make the same program."""
        found = self.cache.get_or_make(
            (ready.digest, (), (), options),
            lambda: self.load(
                ready.program, ready.label, ready.sizes, part="segment", options=options
            ),
        )
        assert isinstance(found, LoadedExecutable), "a segment is static"
        return found

    def load(
        self,
        bound: ExecProgram,
        digest: str,
        sizes: Mapping[Any, int] | None = None,
        donated: tuple[int, ...] = (),
        part: Part = "program",
        lowered: jax.stages.Lowered | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> LoadedExecutable:
        """Compile a program whose sizes are bound, or what it has been lowered to; record it."""
        start = time.perf_counter()
        if lowered is None:
            prepared = prepare(bound, self.target, options)
            lowered = lower_to_stablehlo(prepared, self.target, donated)
        compiled = compile_stablehlo(lowered, self.target)
        loaded = LoadedExecutable(bound, compiled, self.target, donated)
        seconds = time.perf_counter() - start
        self._log.record(subject_of(bound, digest, sizes_key(sizes or {}), donated, part), seconds)
        return loaded

    def stats(self) -> CacheStats:
        """Executables held, found, made and dropped; and bytes of their code."""
        return self.cache.stats()

    def explain(self, executor: str) -> CompileReport:
        """What was compiled, and why."""
        return self._log.report(executor, self.cache.stats(), self.cache.capacity)


def sizes_key(sizes: Mapping[Any, int]) -> SizesKey:
    """Sizes as part of a key: the names of the symbols in order."""
    return tuple(sorted((str(leaf), size) for leaf, size in sizes.items()))


def sizes_text(sizes: Mapping[Leaf, int]) -> str:
    """Sizes as errors name them."""
    return ", ".join(f"{name} = {size}" for name, size in sizes_key(sizes)) or "no symbols"
