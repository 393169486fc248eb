"""Which passes run, and in which order.

The canonical passes run when a function has been traced, the others when sizes and device are
known.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from typing import Any, Self

from tenferro.compiler.canonical.conjugates import ConjugateSinking
from tenferro.compiler.canonical.dots import DotDimensionSorter, SummedProducts, TransposeFolding
from tenferro.compiler.canonical.loop_fusion import LoopFusion
from tenferro.compiler.canonical.loop_invariants import LoopInvariantCodeMotion, ScanPushoutDot
from tenferro.compiler.canonical.pads_to_concatenate import PadsToConcatenate
from tenferro.compiler.canonical.simplify import (
    AlgebraicSimplifier,
    BroadcastSinking,
    CommonSubexpressions,
    DeadCode,
    LoopInlining,
    RenumberSlots,
)
from tenferro.compiler.cost_model import CPU, DeviceCosts
from tenferro.compiler.device.dot_decomposer import DotDecomposer
from tenferro.compiler.device.rematerialize import LoopUnrolling, Rematerialize
from tenferro.compiler.device.specialize import (
    GIVE_THE_EXECUTOR_A_LOWERING,
    BindSizes,
    CheckpointInlining,
    ExpandFamilies,
    ResolveDynamicOps,
    StopGradientRemoval,
)
from tenferro.compiler.layout.assignment import ContractionLayout
from tenferro.compiler.memory import MemoryLimit, in_words, memory_report, tighter
from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.compiler.passes import Observer, Pass, checked_passes, run_passes
from tenferro.compiler.reroll.reroll import Reroll
from tenferro.compiler.schedule import COMPILED, INTERPRETED, Runs
from tenferro.config import config
from tenferro.errors import ConfigError, MemoryLimitError, ProgramError, class_of
from tenferro.ir import Dim, ExecProgram, Leaf, verify
from tenferro.logs import logger
from tenferro.missing_names import unlisted
from tenferro.ops.control_flow import Checkpointed

__all__ = [
    "CANONICAL",
    "DEFAULT_OPTIONS",
    "NATIVE",
    "SIMPLIFICATION",
    "OptimizerOptions",
    "Target",
    "contraction_passes",
    "optimize",
    "optimize_for",
    "optimize_resolved",
    "resolve_sizes",
]

_DUMP = logger("dump.exec")

SIMPLIFICATION: tuple[Pass, ...] = (AlgebraicSimplifier(), CommonSubexpressions(), DeadCode())
"""Passes that clean up after others, which may leave equal or dead instructions."""

CANONICAL: tuple[Pass, ...] = (
    CommonSubexpressions(),
    AlgebraicSimplifier(),
    BroadcastSinking(),
    ConjugateSinking(),
    DeadCode(),  # before passes that ask whether a value is used once
    LoopInlining(),
    LoopFusion(),
    LoopInvariantCodeMotion(),
    DotDimensionSorter(),
    TransposeFolding(),
    DotDimensionSorter(),  # axes have other numbers now
    *SIMPLIFICATION,
    SummedProducts(),
    TransposeFolding(),
    DotDimensionSorter(),
    PadsToConcatenate(),
    *SIMPLIFICATION,  # before a pass that looks for instructions that are repeated
    Reroll(),
    ScanPushoutDot(),
    LoopInvariantCodeMotion(),  # sums without products are the same in all iterations
    *SIMPLIFICATION,
)
"""Passes that need neither sizes nor a device. Files hold their result."""


def contraction_passes(
    costs: DeviceCosts | None, search: bool = True, pinned: PartitionedAxes | None = None
) -> tuple[Pass, ...]:
    """Passes that bring contractions into the form that a device is fast at.

    Without `costs`, axes stay in their orders. Without `search`, orders follow from rules alone,
    which takes milliseconds. `pinned` are axes that are divided among devices.
    """
    if costs is None:
        return (DotDecomposer(pinned), *SIMPLIFICATION)
    layout = ContractionLayout(costs, pinned=pinned)
    if not search:
        layout = replace(layout, trials=0)
    return (layout, DotDecomposer(pinned), *SIMPLIFICATION)


@dataclass(frozen=True, slots=True)
class Target:
    """The kind of device and executor that programs are optimized for.

    Attributes:
        name: its name in reports, such as `xla:cpu`.
        passes: its own passes, which run in this order after those that every target needs.
        families: the extension families that the executor runs itself.
        advice: what a user can do about a family that is not among `families` and has no standard
            ops.
        differentiates: whether others differentiate what is made of the program, as JAX does.
        runs: in which order it runs instructions, and whether it stores every result.
        pinned: the axes of the program that are divided among several devices.
    """

    name: str
    passes: tuple[Pass, ...] = ()
    families: Container[str] = field(default=(), compare=False)
    advice: str = GIVE_THE_EXECUTOR_A_LOWERING
    differentiates: bool = False
    runs: Runs = COMPILED
    pinned: PartitionedAxes | None = None


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    """Which passes run, by name, and by which costs. Part of the key of every cache of programs.

    Attributes:
        layout_costs: the costs to choose orders of axes by, in place of the device's own.
        memory_limit: the most bytes that a program may need in addition to its arguments: a number,
            a text such as "1.5 GB", "device" for as much as the device has free, or None.
        scan_fusion, lane_sum_fusion, switch_fusion, while_fusion: which ops `LoopFusion` makes one.

    The names that options had before are accepted; see `FORMER_NAMES`.

    Raises:
        ConfigError: there is no option of that name; the text lists those that exist. Or a switch
            is neither True nor False, or the costs are not `DeviceCosts`.

    >>> OptimizerOptions(dot_decomposer=False) == OptimizerOptions()
    False
    """

    algebraic_simplifier: bool = True
    common_subexpressions: bool = True
    broadcast_sinking: bool = True
    conjugate_sinking: bool = True
    dead_code: bool = True
    loop_inlining: bool = True
    scan_fusion: bool = True
    lane_sum_fusion: bool = True
    switch_fusion: bool = True
    while_fusion: bool = True
    loop_invariant_code_motion: bool = True
    dot_dimension_sorter: bool = True
    transpose_folding: bool = True
    summed_products: bool = True
    pads_to_concatenate: bool = True
    reroll: bool = True
    scan_pushout_dot: bool = True
    contraction_layout: bool = True
    dot_decomposer: bool = True
    real_contractions: bool = True
    real_divisors: bool = True
    fused_quotients: bool = True
    fused_parts: bool = True
    materialized_products: bool = True
    materialized_functions: bool = True
    materialized_indices: bool = True
    materialized_paddings: bool = True
    rolls_to_slices: bool = True
    stored_borders: bool = True
    transpose_barriers: bool = True
    layout_costs: DeviceCosts | None = None
    memory_limit: MemoryLimit | None = None
    loop_joining: InitVar[bool | None] = None
    lane_joining: InitVar[bool | None] = None
    switch_joining: InitVar[bool | None] = None
    while_joining: InitVar[bool | None] = None
    loop_invariants: InitVar[bool | None] = None
    pad_joining: InitVar[bool | None] = None
    rolling: InitVar[bool | None] = None
    loop_products: InitVar[bool | None] = None
    stored_products: InitVar[bool | None] = None
    kept_transposes: InitVar[bool | None] = None
    repeated_operands: InitVar[bool | None] = None

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """The options; an unknown name is refused before the dataclass sees it."""
        known = [option.name for option in fields(cls)]
        for name in options:
            if name not in known and name not in FORMER_NAMES:
                raise ConfigError(unlisted("OptimizerOptions", name, known))
        return object.__new__(cls)

    def __post_init__(self, *former: bool | None) -> None:
        values: dict[str, object] = {name: getattr(self, name) for name in self._switches()}
        values |= zip(FORMER_NAMES, former, strict=True)
        for name, value in values.items():
            if not isinstance(value, bool) and not (value is None and name in FORMER_NAMES):
                raise ConfigError(f"OptimizerOptions: {name} must be True or False, got {value!r}")
        for name, now in FORMER_NAMES.items():
            if values[name] is not None and now is not None:
                object.__setattr__(self, now, values[name])
        costs: object = self.layout_costs
        if not isinstance(costs, DeviceCosts | None):
            raise ConfigError(
                f"OptimizerOptions: layout_costs must be DeviceCosts or None, got {costs!r}"
            )

        limit = MemoryLimit.read("OptimizerOptions", self.memory_limit)
        object.__setattr__(self, "memory_limit", limit)

    def limited(self, *limits: MemoryLimit | None) -> Self:
        """These options with the smallest of several limits and their own."""
        if not any(limits):
            return self
        return replace(self, memory_limit=tighter([self.memory_limit, *limits]))

    def on_device(self, free_bytes: Callable[[], int]) -> Self:
        """These options for a device that has `free_bytes()`, which a limit of the device is."""
        limit = self.memory_limit
        if limit is None or not limit.of_device:
            return self
        return replace(self, memory_limit=limit.known(free_bytes))

    @classmethod
    def none(cls) -> Self:
        """None of the passes that have a switch."""
        return cls(**dict.fromkeys(cls._switches(), False))  # type: ignore[arg-type]  # as named

    @classmethod
    def _switches(cls) -> list[str]:
        """The options that are True or False, whichever of them is the default."""
        return [option.name for option in fields(cls) if isinstance(option.default, bool)]

    def chosen(self, passes: Sequence[Pass]) -> list[Pass]:
        """The passes that are switched on, with these costs for the layout.

        If there is a memory limit, those that keep more values wait until they are known to fit.
        """
        chosen: list[Pass] = []
        for each in checked_passes(passes):
            waits = each.keeps_more and self.memory_limit is not None
            if waits or not getattr(self, each.name, True):
                continue
            if isinstance(each, ContractionLayout) and self.layout_costs is not None:
                each = replace(each, costs=self.layout_costs)
            elif isinstance(each, LoopFusion):
                for name, op in each.switches.items():
                    if not getattr(self, name):
                        each = replace(
                            each, ops=tuple([other for other in each.ops if other != op])
                        )
            chosen.append(each)
        return chosen


FORMER_NAMES: dict[str, str | None] = {
    "loop_joining": "scan_fusion",
    "lane_joining": "lane_sum_fusion",
    "switch_joining": "switch_fusion",
    "while_joining": "while_fusion",
    "loop_invariants": "loop_invariant_code_motion",
    "pad_joining": "pads_to_concatenate",
    "rolling": "reroll",
    "loop_products": "scan_pushout_dot",
    "stored_products": "materialized_products",
    "kept_transposes": "transpose_barriers",
    "repeated_operands": None,
}
"""The names that options had before, in the order of their fields, and those of now."""

DEFAULT_OPTIONS = OptimizerOptions()

NATIVE = Target("native", contraction_passes(CPU, search=False), runs=INTERPRETED)
"""A backend that runs one op after another on the host and takes axes in any order."""


def optimize(
    program: ExecProgram,
    options: OptimizerOptions = DEFAULT_OPTIONS,
    passes: Sequence[Pass] = CANONICAL,
    observe: Observer | None = None,
    idle: Sequence[Pass] = (),
) -> ExecProgram:
    """The program after the passes that `options` ask for, slots numbered and last uses marked.

    Without `passes` it is the canonical program. `observe` is told of each pass that has run, and
    for `idle` see `run_passes`.

    Raises:
        ProgramError: it is not a program.
        VerifyError: a pass broke the program; the text names it. Only where `config.verify` is on.
    """
    value: object = program
    if not isinstance(value, ExecProgram):
        raise ProgramError(
            f"optimize: takes an execution program, got {class_of(value)}; write "
            f"optimize({'parse(text)' if isinstance(value, str) else 'compile_std_to_exec(...)'})"
        )
    if config.verify:
        verify(program)
    program = run_passes(program, [*options.chosen(passes), RenumberSlots()], observe, idle)
    _DUMP.debug("%s", program)
    return program


def optimize_for(
    program: ExecProgram,
    target: Target,
    sizes: Mapping[Leaf, Dim] | None = None,
    options: OptimizerOptions = DEFAULT_OPTIONS,
    observe: Observer | None = None,
) -> ExecProgram:
    """A canonical program for given sizes of its symbols and the device that will run it.

    Raises:
        UnsupportedExtensionError: the target has no way to run a family.
        MemoryLimitError: the memory limit of the options cannot be kept.
        VerifyError: a pass broke the program; the text names it. Only where `config.verify` is on.
    """
    ready = resolve_sizes(program, target, sizes, options, observe)
    return optimize_resolved(ready, target, options, observe)


def optimize_resolved(
    ready: ExecProgram,
    target: Target,
    options: OptimizerOptions = DEFAULT_OPTIONS,
    observe: Observer | None = None,
) -> ExecProgram:
    """A program of `resolve_sizes` for the device that will run it; see `optimize_for`."""
    limit = options.memory_limit
    if limit is None or target.differentiates:
        return optimize(ready, options, target.passes, observe, SIMPLIFICATION)
    free = replace(options, memory_limit=None)
    fast = optimize(ready, free, (*CANONICAL, *target.passes), observe)
    needed = memory_report(fast, target.runs, pinned=target.pinned).peak
    if needed <= limit.bytes:
        return fast
    limited = (*target.passes, Rematerialize(limit, target.runs))
    refusals: list[MemoryLimitError] = []
    for plainer in _plainer(ready, options, observe):
        try:
            return optimize(plainer, options, limited, observe)
        except MemoryLimitError as refusal:
            refusals.append(refusal)
    nearest = min(refusals, key=lambda each: each.least)
    if target.pinned is None:
        raise nearest
    raise limit.refusal(
        f"each device needs {in_words(needed)}, the limit is {in_words(limit.bytes)}; what to "
        "compute again is chosen by the sizes of whole arrays, and the least found is "
        f"{in_words(nearest.least)} of these",
        needed,
        nearest.least,
    )


def _plainer(
    program: ExecProgram, options: OptimizerOptions, observe: Observer | None
) -> Iterator[ExecProgram]:
    """The program, then with loops written out, and with what users had computed again kept.

    Of these programs more values can be computed again one by one.
    """
    yield program
    unrolled = optimize(program, options, (LoopUnrolling(), *SIMPLIFICATION), observe)
    if len(unrolled.instructions) > len(program.instructions):
        yield unrolled
    passes = (CheckpointInlining(late=True), LoopUnrolling(), *SIMPLIFICATION)
    if any(part.has_op(Checkpointed) for part in program.walk()):
        yield optimize(program, options, passes, observe)


def resolve_sizes(
    program: ExecProgram,
    target: Target,
    sizes: Mapping[Leaf, Dim] | None = None,
    options: OptimizerOptions = DEFAULT_OPTIONS,
    observe: Observer | None = None,
) -> ExecProgram:
    """A canonical program for given sizes, made of what the target runs; canonical again.

    The passes of the target's own are left to `optimize_for`.
    """
    binding = (BindSizes.of(sizes),) if sizes else ()
    passes = (*binding, ExpandFamilies(target.families, target.advice), ResolveDynamicOps())
    ready = resolved = run_passes(program, passes, observe)
    if not target.differentiates:
        ready = run_passes(resolved, [StopGradientRemoval(), CheckpointInlining()], observe)
    if ready is not resolved:  # values that differed in that alone become one
        ready = run_passes(ready, options.chosen(SIMPLIFICATION), observe)
    if ready is program:
        return program
    return run_passes(ready, [*options.chosen(CANONICAL), RenumberSlots()], observe)
