"""Lowering execution programs to StableHLO, and compiling StableHLO with XLA."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.experimental.layout import Layout, with_layout_constraint
from jax.sharding import NamedSharding

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    Observer,
    OptimizerOptions,
    PartitionedAxes,
    optimize_resolved,
)
from tenferro.errors import ExecutorError, UnsupportedDynamicShapeError
from tenferro.ir import Exact, ExecProgram, Leaf, TensorMeta, check_budget, describe, verify
from tenferro.logs import logger
from tenferro.ops import Transpose
from tenferro.runtime import INFERRED, Shardings
from tenferro.serialization import disk_cache
from tenferro_xla.compiled.disk_cache import cached_passes
from tenferro_xla.devices import own_settings
from tenferro_xla.lowering import JaxFunction, jax_function
from tenferro_xla.placement import OneDevice, OnMesh, Placement, entry_names
from tenferro_xla.target import XlaTarget

__all__ = ["Cost", "Memory", "pinned_by", "prepare", "require_static"]

_DUMP = logger("dump.stablehlo")


@dataclass(frozen=True, slots=True)
class Cost:
    """XLA's estimate of the work of one run."""

    flops: float
    bytes_accessed: float
    transcendentals: float


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory that an executable needs, in bytes."""

    arguments: int
    outputs: int
    temporaries: int
    aliased: int
    code: int


@dataclass(frozen=True, slots=True)
class Module:
    """A program that is ready, and what JAX has lowered of it.

    Attributes:
        plain: what lowers it without marks on loops; None if loops are not marked.
    """

    program: ExecProgram
    lowered: jax.stages.Lowered
    plain: Callable[[], Module] | None = None


def prepare(
    program: ExecProgram,
    target: XlaTarget,
    options: OptimizerOptions = DEFAULT_OPTIONS,
    observe: Observer | None = None,
    pinned: PartitionedAxes | None = None,
) -> ExecProgram:
    """A program of `resolve_sizes` to lower: verified, within the byte budget, and optimized.

    `pinned` are its axes that are divided among devices.

    Raises:
        UnsupportedDynamicShapeError: an extent is not an integer; bind the symbols first.
        ExtentError: a value is larger than the byte budget, or an extent is out of range.
        UnsupportedExtensionError: an extension family has neither lowering nor standard-op form.
        VerifyError: the program is malformed.
    """
    require_static(program)
    verify(program)
    check_budget(program, target.max_bytes)  # before passes that compute constants
    if options.memory_limit is not None:
        options = options.on_device(target.free_bytes)
    goal = target.optimized_for if pinned is None else target.optimized_with(pinned)
    make = functools.partial(optimize_resolved, program, goal, options, observe)
    is_cached = disk_cache() is not None and observe is None and pinned is None
    ready = cached_passes(program, goal, options, make) if is_cached else make()
    if ready is not program:
        verify(ready)
        check_budget(ready, target.max_bytes)
    return ready


def lower_to_stablehlo(
    program: ExecProgram,
    target: XlaTarget,
    donate: tuple[int, ...] = (),
    shardings: Shardings = INFERRED,
    places: tuple[int, ...] = (),
) -> Module:
    """A program of `prepare` as StableHLO, for inputs and outputs that are divided so.

    It takes one more input for each output in `places`: an array that the output overwrites.

    Raises:
        ExecutorError: an op has no lowering.
    """
    placement = target.placement
    inputs = shardings.inputs or (None,) * len(program.input_metas)
    function = jax_function(program, target.lowering)
    if target.platform.results_in_rows and isinstance(placement, OneDevice):
        # on a mesh, XLA gathers what has a given layout
        function = _in_rows(program, function, bool(donate or places))
    count = len(program.input_metas)
    metas = [*program.input_metas, *(program.output_metas[place] for place in places)]
    if places:
        function = _with_places(function, count)
    with own_settings(target.lowering.precision), placement.lowering():
        lowered = jax.jit(
            function,
            donate_argnums=(*donate, *range(count, len(metas))),
            out_shardings=shardings.outputs or None,
            keep_unused=bool(places),
        ).lower(
            *(
                jax.ShapeDtypeStruct(  # type: ignore[no-untyped-call]  # JAX has no types there
                    meta.static_shape, meta.dtype, sharding=sharding or placement.whole
                )
                for meta, sharding in zip(metas, (*inputs, *(None for _ in places)), strict=True)
            )
        )
    if _DUMP.isEnabledFor(logging.DEBUG):
        _DUMP.debug("%s", lowered.as_text().rstrip("\n"))

    def plain() -> Module:
        unmarked = replace(target, lowering=replace(target.lowering, small_loops=False))
        return lower_to_stablehlo(program, unmarked, donate, shardings, places)

    return Module(program, lowered, plain if target.lowering.small_loops else None)


def _with_places(function: JaxFunction, count: int) -> JaxFunction:
    """The function of `count` arrays, with further ones that it does not read."""

    def tenferro_program(*arrays: Any) -> tuple[jax.Array, ...]:
        return tuple(function(*arrays[:count]))

    return tenferro_program


def _in_rows(program: ExecProgram, function: JaxFunction, overwrites: bool) -> JaxFunction:
    """The function of a program, which says to XLA that transposed results are stored by rows.

    XLA looks at the layouts of several results after it has chosen all others; on the CPU it then
    writes a transposed matrix twice. `overwrites` says whether results overwrite inputs.
    """
    if len(program.output_slots) < 2 or not program.has_op(Transpose):
        return function
    makers = program.makers()
    outputs = [makers.get(slot) for slot in program.output_slots]
    turned = [step is not None and isinstance(step.op, Transpose) for step in outputs]

    def tenferro_program(*arrays: Any) -> tuple[jax.Array, ...]:
        results = zip(function(*arrays), turned, strict=True)
        return tuple([_by_rows(each, overwrites) if turn else each for each, turn in results])

    return tenferro_program


def _by_rows(x: jax.Array, overwrites: bool) -> jax.Array:
    layout = Layout(tuple(range(x.ndim)))
    rows: jax.Array = with_layout_constraint(x, layout)  # type: ignore[no-untyped-call]
    if overwrites:  # JAX lets no result do so whose layout is constrained at the very end
        rows = jax.lax.optimization_barrier(rows)  # type: ignore[no-untyped-call]
    return rows


def compile_stablehlo(module: Module, target: XlaTarget) -> jax.stages.Compiled:
    """The executable of XLA, made with the options that the platform has for the program.

    If XLA refuses the program with marks on loops, it is compiled without.

    Raises:
        ExecutorError: XLA reports an error, such as an unknown compiler option.
    """
    try:
        with own_settings():
            options = target.options_for(module.program)
            return module.lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        if module.plain is not None:
            return compile_stablehlo(module.plain(), target)
        raise ExecutorError(f"compile: XLA says {str(error).splitlines()[0]}") from error


def usable_donations(
    program: ExecProgram,
    donate: tuple[int, ...],
    sizes: Mapping[Leaf, int] | None = None,
    shardings: Shardings = INFERRED,
) -> tuple[int, ...]:
    """The inputs in `donate` whose buffer an output of the same type can use; one for each output.

    An output that is divided in another way cannot. `sizes` are those of the program's symbols.
    """
    if not donate:
        return ()
    bound = dict(sizes or {})
    divided = shardings.outputs or (None,) * len(program.output_metas)
    free = [
        (meta.bind(bound), sharding)
        for meta, sharding in zip(program.output_metas, divided, strict=True)
    ]
    usable: list[int] = []
    for position in donate:
        meta = program.input_metas[position].bind(bound)
        own = shardings.inputs[position] if shardings.inputs else None
        for output in ((meta, own), (meta, None)):
            if output in free:
                free.remove(output)
                usable.append(position)
                break
    return tuple(usable)


def require_static(program: ExecProgram) -> None:
    """Raise UnsupportedDynamicShapeError unless every extent of the program is an integer."""
    named = [("input", meta) for meta in program.input_metas]
    named += [(step.op.name, meta) for step, meta in program.results()]
    for name, meta in named:
        if meta.static_shape is None:
            sizes = meta.exact_shape(name)
            axis = next(axis for axis, size in enumerate(sizes) if not isinstance(size, int))
            raise UnsupportedDynamicShapeError(name, f"shape[{axis}]", describe(meta.extents[axis]))


def require_bound(program: ExecProgram) -> None:
    """Raise UnsupportedDynamicShapeError if a symbol of the inputs has no size."""
    for meta in program.input_metas:
        for axis, extent in enumerate(meta.extents):
            if isinstance(extent, Exact) and not isinstance(extent.dim, int):
                raise UnsupportedDynamicShapeError("input", f"shape[{axis}]", describe(extent))


def cost_of(analysis: Any) -> Cost:
    """The estimates that XLA gives on all platforms."""
    return Cost(
        *(float(analysis.get(key, 0.0)) for key in ("flops", "bytes accessed", "transcendentals"))
    )


def memory_of(compiled: jax.stages.Compiled) -> Memory:
    """The executable's needs.

    Raises:
        ExecutorError: the platform does not tell.
    """
    analysis = compiled.memory_analysis()
    if analysis is None:
        raise ExecutorError("memory: XLA does not tell what the executable needs on this platform")
    return Memory(
        analysis.argument_size_in_bytes,
        analysis.output_size_in_bytes,
        analysis.temp_size_in_bytes,
        analysis.alias_size_in_bytes,
        analysis.generated_code_size_in_bytes,
    )


# Which axes of a program are divided among devices, as the passes of the compiler ask it.


def pinned_by(
    program: ExecProgram, placement: Placement, shardings: Shardings
) -> PartitionedAxes | None:
    """The divided axes of a program on a mesh; None if all of it is whole, or on one device."""
    if not isinstance(placement, OnMesh):
        return None
    inputs = _parts(program.input_metas, shardings.inputs)
    outputs = _parts(program.output_metas, shardings.outputs)
    divided = any(count != 1 for counts in (*inputs, *outputs) for count in counts)
    programs = program.walk()
    if not divided and not any(op.divides for each in programs for op in each.ops()):
        return None
    return PartitionedAxes(inputs, outputs, tuple(placement.mesh.shape.items()))


def _parts(
    metas: Sequence[TensorMeta], shardings: Sequence[NamedSharding | None]
) -> tuple[tuple[int, ...], ...]:
    """Into how many parts each axis is divided; what is inferred counts as whole."""
    declared = (*shardings, *(None,) * (len(metas) - len(shardings)))
    return tuple([_counts(meta.rank, each) for meta, each in zip(metas, declared, strict=True)])


def _counts(rank: int, sharding: NamedSharding | None) -> tuple[int, ...]:
    if sharding is None:
        return (1,) * rank
    sizes = sharding.mesh.shape
    counts = [math.prod(sizes[name] for name in entry_names(entry)) for entry in sharding.spec]
    return (*counts, *(1,) * (rank - len(counts)))
