"""XLA on the CPU, and every workaround for it.

A workaround answers an issue, or a reproduction in JAX alone, which fails when XLA no longer needs
it: `tests/tenferro_xla/platforms/test_workarounds.py`. Figures are the time with a workaround over
that without, with jaxlib 0.10.2 on one core; `tests/benchmarks/workarounds.py` prints them.

For right results, and for processes that live on:

* `MaterializedComparisons`: XLA computes a value twice, rounded in two ways, and finds it unequal
  to its own maximum; a gradient is then wrong. jax-ml/jax#40564, openxla/xla#41579. Reproduced.
* `Platform.drops_nan`: the maximum of 4096 numbers and more loses NaN; so it is made of windows, by
  `lowering.windows`, in 0.5 to 0.9 of the time that a search for NaN took. openxla/xla#21461.
  Reproduced.
* `SeparatePaddings`: a library sums wrongly what two paddings make of one value that it computes.
  Reproduced.
* `SingleSums`, `OWN_SUMS`: threads of the library disturb one another where they sum over several
  axes, one of which repeats the values; most calls may be wrong. Reproduced.
* `Platform.keeps_barriers`: what is computed again is merged with what was computed before, which
  memory limits rely on; so it stands in a branch. Reproduced.
* `compiled.executable.MemoryMaps`: each executable takes maps of the process, of which Linux has
  few. llvm/llvm-project#63236. Reproduced.
* `lowering.reductions.MANY_ROWS`: the process ends at products of eight batch axes.

For speed:

* `RealContractions`: 0.54 to 0.85 for complex products. jax-ml/jax#3068, jax-ml/jax#15735.
* `TransposeBarriers`: 0.83 to 0.95 for gradients of layers on small batches; it was 0.5 with older
  versions of XLA. jax-ml/jax#19327. 0.77 for 13 rows through three matrices. Reproduced.
* `FusedQuotients`: 0.66 for a quotient of 10⁶ numbers that is read twice; 0.9 in the mean, 0.6 to
  1.2, for programs of functions of elements and their derivatives. Reproduced.
* `FusedParts`: 0.25 to 0.7 for sums of squares of complex numbers. Reproduced.
* `MaterializedProducts`: 0.76 for diagonal layers of circuits, and at most 1.2.
  tensorflow/tensorflow#57829 is the same on GPUs.
* `RealDivisors`: 0.5 to 1.0 for quotients of 10⁴ complex numbers and more by real ones.
* `MaterializedFunctions`: 0.16 to 1.05 for functions of 10⁴ complex numbers and more that are read
  by several kernels or at several places.
* `MaterializedPaddings`: 0.25 to 1.0 for gradients of convolutions of 10⁴ numbers and more
  with 5 to 16.
* `RollsToSlices`: 0.34 to 0.66 for sums of 5 and 9 rolls of 128 by 128 numbers, 0.17 to 0.39 for
  7 and 27 of 32 by 32 by 32.
* `StoredBorders`: 0.45 to 0.75 for stencils of arrays continued periodically or by their edges,
  0.5 to 1.1 with zeros.
* `MaterializedIndices`: 0.4 to 0.7 for gradients at places that a search finds.
* `lowering.small_loops`: 0.09 for the gradient of a Kalman filter of 4 states, 0.2 to 1.07 for
  60 loops of at most 512 numbers. Reproduced.
* `compiled.buffer_pool`: 0.36 for results of 64 MB.
* `WIDE_VECTORS`: 0.8 to 1.0 for extrema of 10⁶ numbers along a row, softmax and their gradients.
* `NO_FUSION_EMITTERS`, `SMALL_HEAPS`: see decision 032. openxla/xla#41173 is about the former.
  Programs with a `Scattering`, `Atan`, `Atan2`, `Asinh`, `Acosh` or `Atanh` do not get it because
  their numbers are few.
* `Platform.ordered_scatters`: 0.4 to 0.6 for `x.at[i].set(w)`. XLA promises no order, but both of
  its emitters for CPUs write the windows of a scatter in one loop, which many cases show in
  `tests/tenferro_xla/platforms/test_scatters.py`.
* `Platform.reduces_singly`: any, all, and extrema of integers are made of windows too, in 0.3 to
  1.05 of the time.
* `Platform.results_in_rows`: see `compiled.stablehlo`.
* `lowering.small_matrices`: see decision 018.
"""

from __future__ import annotations

import ctypes
import math
import sys
from dataclasses import dataclass

import jax

from tenferro.compiler import COMPILED, CPU, DeviceCosts, PartitionedAxes, Pass, predict_memory
from tenferro.errors import ConfigError, ExecutorError
from tenferro.ir import ExecProgram, dtype_kind
from tenferro.ops import (
    Acosh,
    Asinh,
    Atan,
    Atan2,
    Atanh,
    Cumulative,
    DotGeneral,
    ReduceMax,
    ReduceMin,
    ReduceSum,
    Scattering,
)
from tenferro.runtime import free_host_bytes
from tenferro_xla.platforms.barriers import (
    FusedParts,
    FusedQuotients,
    MaterializedFunctions,
    MaterializedIndices,
    MaterializedPaddings,
    MaterializedProducts,
    TransposeBarriers,
)
from tenferro_xla.platforms.complex_as_real import RealContractions, RealDivisors
from tenferro_xla.platforms.platform import ROUNDED_HALVES, Option, Platform
from tenferro_xla.platforms.stencils import RollsToSlices, StoredBorders
from tenferro_xla.platforms.sums import sums_repeated

__all__ = ["CPU_PLATFORM", "keep_host_memory"]


NO_FUSION_EMITTERS = Option(
    "xla_cpu_use_fusion_emitters",
    False,
    "XLA compiles gradients of networks of small tensors in a quarter to a half of the time, and "
    "programs of few numbers in two thirds",
)
"""Loops, paddings, functions of elements and transposes of many axes run up to four times as long
with it, or are compiled longer, and so are complex numbers. So of programs with many numbers, only
those get it that have none of these; where all values are few numbers, kernels take no time."""

FEW = 1 << 10
"""The most numbers of a value of a program whose run time is that of starting its kernels."""

SLOW = (Scattering, Atan, Atan2, Asinh, Acosh, Atanh)
"""Ops that the older emitter makes 1.2 to 1.9 times as slow."""

HEAP = 16 << 20
"""Bytes of each block of temporary values; below what the host's allocator maps anew each time."""

SMALL_HEAPS = Option(
    "xla_multiheap_size_constraint_per_heap",
    HEAP,
    "temporary values lie in blocks that the host's allocator keeps from call to call, where one "
    "block for all of them would be mapped and cleared on every call",
)
"""Programs get it that have no value larger than a block, since XLA would then waste memory, and
whose temporary values are predicted to take more than `MAPPED`."""

MAPPED = 30 << 20
"""Bytes of temporary values, as predicted, from which one block for all of them may be mapped anew:
the allocator does so from 32 MiB on."""

OWN_SUMS = Option(
    "xla_cpu_experimental_ynn_fusion_type",
    "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION",
    "XLA computes sums of repeated values itself, which the library computes wrongly",
)
"""The sums of a program take 2 to 30 times as long with it, so those programs get it whose sums
`SingleSums` does not mend."""

WIDE_VECTORS = Option(
    "xla_cpu_prefer_vector_width",
    512,
    "the extremum of many numbers along a row takes less time",
)
"""Programs get it that reduce many floating-point numbers to an extremum, and have no other ops
but elementwise ones, moves and sums: 0.8 to 1.0 of the time of those."""

MANY = 1 << 16
"""The fewest numbers that are reduced to an extremum in wide vectors."""

FEWEST_MOVES = 16
"""Transposes and the like below which there is little to save."""
MOST_OTHERS = 8
"""Kernels that are neither contractions nor moves, such as the sum at the end."""
MOST_AXES = 3
"""Axes of what is moved."""
SMALL = 1 << 14
"""Numbers that each instruction moves, on average."""


@dataclass(frozen=True)
class CpuPlatform(Platform):
    """The CPU.

    Its matrix product wants the longer side left and contracted axes last there. Its complex
    product is slow. It merges transposes into products that are slower for it, and it runs an
    instruction as soon as its operands are there.
    """

    def passes(
        self, costs: DeviceCosts | None, pinned: PartitionedAxes | None = None
    ) -> tuple[Pass, ...]:
        """Orders of axes, real contractions in place of complex ones, barriers, stored values.

        Quotients by real numbers are products of parts, and others that one kernel reads several
        times become a part of it.
        """
        passes = (*super().passes(costs, pinned), RealDivisors(), FusedQuotients(), FusedParts())
        if costs is None:
            return passes
        passes = (
            *passes,
            RealContractions(costs),
            MaterializedProducts(),
            MaterializedFunctions(),
            MaterializedIndices(),
            MaterializedPaddings(),
        )
        if pinned is not None:
            return passes  # the copy behind a barrier counts on every device
        return (*passes, RollsToSlices(), StoredBorders(), TransposeBarriers())

    def options_for(self, program: ExecProgram) -> tuple[Option, ...]:
        """The older emitter of kernels for straight programs of few numbers or small contractions.

        Small blocks of temporary values for straight programs of many that are not large. Wide
        vectors for extrema of many numbers. The compiler's own sums where the library's are wrong.
        """
        is_small = _has_few_numbers(program)
        fits = {
            NO_FUSION_EMITTERS: is_small or _contracts_small_tensors(program),
            SMALL_HEAPS: not is_small and _has_many_small_values(program),
            OWN_SUMS: not is_small and sums_repeated(program),
            WIDE_VECTORS: not is_small and _has_large_extrema(program),
        }
        return tuple(o for o in super().options_for(program) if fits.get(o, True))

    def bytes_limit(self, device: jax.Device) -> int | None:
        """None: the host's memory, which `config.max_bytes` is about."""
        return None

    def free_bytes(self, device: jax.Device, devices: int = 1) -> int:
        return max(free_host_bytes() // devices, 1)


def _has_many_small_values(program: ExecProgram) -> bool:
    """Whether the values of a program without loops fit blocks, but together are mapped anew."""
    if len(program.walk()) > 1:
        return False
    sizes = [  # XLA pads what it adds up one after the other to twice its size
        meta.known_size * meta.dtype.itemsize * (1 + isinstance(step.op, Cumulative))
        for step, meta in program.results()
    ]
    if max(sizes, default=0) > HEAP or sum(sizes) <= MAPPED:
        return False
    return predict_memory(program).temporaries > MAPPED


def _has_large_extrema(program: ExecProgram) -> bool:
    """Whether a program reduces many floating-point numbers to an extremum, and does little else.

    It may compute elementwise, move, and add up: running sums are slower in wide vectors.
    """
    metas, found = program.slot_metas(), False
    for step, _ in program.results():
        op = step.op
        if isinstance(op, ReduceMax | ReduceMin):
            meta = metas[step.input_slots[0]]
            found |= meta is not None and dtype_kind(meta.dtype) == "f" and meta.known_size >= MANY
        elif not (op.inlined or op.source or isinstance(op, ReduceSum)):
            return False
    return found


def _has_few_numbers(program: ExecProgram) -> bool:
    """Whether no value of a program is many numbers, and none of its ops is slow even for few.

    Those are loops, scatters, complex numbers and inverse trigonometric functions.
    """
    if program.bodies() or program.has_op(SLOW):
        return False
    for meta in program.slot_metas():
        if meta is None:
            continue
        if dtype_kind(meta.dtype) == "c" or math.prod(meta.static_shape or ()) > FEW:
            return False
    return True


def _contracts_small_tensors(program: ExecProgram) -> bool:
    """Whether a program is contractions of real numbers and moves of operands, without loops."""
    steps = program.instructions
    kernels = [
        step
        for step in steps
        if not (step.op.view or step.op.source or isinstance(step.op, DotGeneral))
    ]
    moves = [step for step in kernels if step.op.moves]
    if len(moves) < FEWEST_MOVES or len(kernels) - len(moves) > MOST_OTHERS:
        return False
    if any(step.op.bodies or dtype_kind(step.dtype) == "c" for step in steps):
        return False
    shapes = [meta.static_shape or () for step in moves for meta in step.output_metas]
    return max(map(len, shapes)) <= MOST_AXES and sum(map(math.prod, shapes)) <= SMALL * len(steps)


CPU_PLATFORM = CpuPlatform(
    "cpu",
    costs=CPU,
    rewrites=True,
    runs=COMPILED,
    precision={"highest": "32 bits, as every other"},
    wanted=(NO_FUSION_EMITTERS, SMALL_HEAPS, OWN_SUMS, WIDE_VECTORS, ROUNDED_HALVES),
    in_flight=1,
    alignment=64,
    keeps_barriers=False,
    missums=True,
    reduces_singly=True,
    ordered_scatters=True,
    maps_results=True,
    results_in_rows=True,
    small_loops=True,
)


# Settings of the C library's allocator, which XLA uses on the CPU.

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # parameters of mallopt, from malloc.h
NEVER = 2**31 - 1


def keep_host_memory(headroom: int = 256 << 20) -> None:
    """Let the C library of this *process* keep freed memory for later allocations.

    XLA on the CPU allocates its buffers on each call. With glibc's default settings, blocks above
    32 MiB are mapped from the system and returned to it each time, and the system clears every page
    when it is first used. That takes longer than most computations on them. Results of compiled
    functions are spared it: see `XlaExecutor(kept_bytes=)`. This call is for other buffers, such
    as the temporaries of programs. The memory of the process then never shrinks and grows by
    `headroom` bytes at a time. This affects the whole process, including JAX and NumPy. Call it
    once, at the start. It cannot be undone.

    Args:
        headroom: bytes, less than 2 GiB.

    Raises:
        ConfigError: `headroom` is not a number of bytes below 2 GiB.
        ExecutorError: the C library is not glibc.

    Source: `mallopt(3)` of the Linux manual.
    """
    if not isinstance(headroom, int) or not 0 <= headroom <= NEVER:
        raise ConfigError(
            f"keep_host_memory: headroom is {headroom!r}; it must be a number of bytes below 2 GiB"
        )
    mallopt = _mallopt()
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, NEVER), (TOP_PAD, headroom))
    if not all(mallopt(name, value) for name, value in settings):
        raise ExecutorError("keep_host_memory: the C library refused the setting")


def _mallopt() -> ctypes._NamedFuncPointer:
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is None or not hasattr(library, "gnu_get_libc_version"):
        raise ExecutorError(f"keep_host_memory: needs glibc, which {sys.platform} lacks here")
    return library.mallopt
