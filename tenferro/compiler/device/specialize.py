"""For given sizes and target: bind symbols, resolve dynamic ops, expand families."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tenferro.compiler.passes import Needs, Pass
from tenferro.errors import UnsupportedExtensionError
from tenferro.ir import Dim, ExecInstruction, ExecOp, ExecProgram, Leaf, Rewriter, TensorMeta
from tenferro.ops.control_flow import Checkpointed, LaneSum, lane_count
from tenferro.ops.extension import Extension

__all__ = [
    "GIVE_THE_EXECUTOR_A_LOWERING",
    "BindSizes",
    "CheckpointInlining",
    "ExpandFamilies",
    "PlanFamilies",
    "ResolveDynamicOps",
    "SharedLanes",
    "StopGradientRemoval",
]


# Symbols replaced by their sizes.


@dataclass(frozen=True)
class BindSizes(Pass):
    """Gives the symbols of a program their sizes; all types are inferred again.

    Attributes:
        sizes: symbols and their sizes.
    """

    sizes: tuple[tuple[Leaf, Dim], ...] = ()

    refuses = True
    enters_bodies = False  # binding a program binds those inside it
    keeps_types = False

    @classmethod
    def of(cls, sizes: Mapping[Leaf, Dim] | None) -> BindSizes:
        """The pass for the sizes of a mapping."""
        return cls(tuple((sizes or {}).items()))

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program for these sizes."""
        return program.bind(dict(self.sizes)) if self.sizes else program


# Dynamic ops whose sizes are known, as ordinary ops.


@dataclass(frozen=True)
class ResolveDynamicOps(Pass):
    """Resolves dynamic ops whose sizes the types tell.

    A dynamic op takes sizes from the shapes or the value of its operands. An operand whose value
    gives a size is no longer read once the types tell that size.
    """

    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without such ops."""
        if not any(map(_is_dynamic, program.ops())):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            if not _is_dynamic(step.op):
                return None
            metas = [rewriter.ctx.meta(slot) for slot in operands]
            if not _sizes_are_known(step, metas):
                return None
            op, sources = step.op.resolved(metas)
            resolved_operands = [
                operands[source] if isinstance(source, int) else rewriter.emit_all(source)[0]
                for source in sources
            ]
            return rewriter.emit_all(op, *resolved_operands)

        return rewriter.run(rule)


def _is_dynamic(op: ExecOp) -> bool:
    return op.follows_shapes or op.size_operand is not None


def _sizes_are_known(step: ExecInstruction, metas: Sequence[TensorMeta]) -> bool:
    """Whether the types of operands and results tell all sizes that the op waits for."""
    if step.op.size_operand is not None:
        return step.output_metas[0].dims is not None
    return step.op.follows_shapes and all(meta.dims is not None for meta in metas)


# Extension ops as standard ops, for executors that do not run their families.

GIVE_THE_EXECUTOR_A_LOWERING = (
    "give the executor, or jit, a package that has one, packages=(...), or register one with "
    "executor.register_extension(...)"
)


@dataclass(frozen=True)
class PlanFamilies(Pass):
    """Lets extension ops choose their plans for given sizes of symbols, which stay in the program.

    Attributes:
        sizes: symbols and their sizes.
    """

    sizes: tuple[tuple[Leaf, int], ...]

    looks_for = (Extension,)
    refuses = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with these plans."""
        rewriter, sizes = Rewriter(program), dict(self.sizes)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if step.op.family is None:
                return None
            metas = [rewriter.ctx.meta(slot).bind(sizes) for slot in operands]
            if any(meta.static_shape is None for meta in metas):
                return None
            planned = step.op.planned(metas)
            return None if planned is step.op else rewriter.emit_all(planned, *operands)

        return rewriter.run(rule)


@dataclass(frozen=True)
class ExpandFamilies(Pass):
    """Replaces each extension op by what its `expanded` emits, until none is left to replace.

    Nothing is executed for that. An op stays if data decide a size of its inputs; it is expanded
    when the size is known.

    Attributes:
        keep: families whose ops stay, since the executor runs them itself.
        advice: what a user can do about a family that is neither kept nor expanded.
        requires_all: whether an op that has no such form is an error; otherwise it stays.

    Raises:
        UnsupportedExtensionError: a family has no standard-op form for these types.
        InvalidConfigError: the form that it gives is not of the types that it infers.
    """

    keep: Container[str] = field(default=(), hash=False)
    advice: str = GIVE_THE_EXECUTOR_A_LOWERING
    requires_all: bool = True

    looks_for = (Extension,)
    refuses = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without extension ops, except those that stay."""
        while any(self._expands(op.family) for op in program.ops()):
            expanded = self._round(program)
            if expanded is program:
                break
            program = expanded
        return program

    def _round(self, program: ExecProgram) -> ExecProgram:
        """The program in which each op is replaced once; the same if none is."""
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if not self._expands(step.op.family):
                return None
            metas = [rewriter.ctx.meta(slot) for slot in operands]
            if any(meta.dims is None for meta in metas):
                return None
            results = step.op.expanded(rewriter, operands)
            if results is None and self.requires_all:
                raise self._refusal(str(step.op.family), metas)
            return results

        return rewriter.run(rule)

    def _refusal(self, family: str, metas: Sequence[TensorMeta]) -> UnsupportedExtensionError:
        types = ", ".join(map(str, metas))
        has_names = any(meta.static_shape is None for meta in metas)
        constant = "; a family may have a form for constant sizes: give the inputs constant sizes"
        advice = f"{self.advice}{constant if has_names else ''}"
        return UnsupportedExtensionError(
            family,
            f"{family}: no lowering is registered, and the op has no standard-op form for {types}; "
            f"{advice}",
        )

    def _expands(self, family: str | None) -> bool:
        return family is not None and family not in self.keep


# Checkpointed programs are written out where nothing is differentiated any more.


@dataclass(frozen=True)
class CheckpointInlining(Pass):
    """Writes the body in place of a `Checkpointed`, unless it computes values again, late.

    A late one stays an op: passes and compilers then do not make one value of what it computes and
    of what was computed before.

    Attributes:
        late: whether late ones are written out too.
    """

    late: bool = False

    looks_for = (Checkpointed,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with these bodies in their places."""
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if not isinstance(step.op, Checkpointed) or (step.op.late and not self.late):
                return None
            return rewriter.inline(step.op.body, operands)

        return rewriter.run(rule)


# What is there for derivatives is left out where nothing is differentiated any more.


@dataclass(frozen=True)
class StopGradientRemoval(Pass):
    """Replaces the result of an op that is there for derivatives only by its operand.

    The operands of branches in a batch are selections between a value and the same value without a
    gradient. When these are the same, so are they and the value. A canonical program keeps them: it
    may still be differentiated.
    """

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without such ops."""
        if not any(op.for_derivatives for op in program.ops()):
            return program

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            return operands[0] if step.op.for_derivatives else None

        return Rewriter(program).run(rule)


# Shared lanes: sums over iterations that several devices compute together.


@dataclass(frozen=True)
class SharedLanes(Pass):
    """Shares the lanes of every `LaneSum` among several devices.

    A sum gets more lanes only where there are more devices than it has lanes; otherwise its bits
    stay the same.

    Attributes:
        workers: the number of devices.
        ordered: whether the devices' sums are added in the order of the lanes.
    """

    workers: int
    ordered: bool = True

    looks_for = (LaneSum,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program whose sums say by how many devices they are computed."""
        at = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            op = step.op
            if not isinstance(op, LaneSum):
                return None
            lanes = max(op.lanes, lane_count(op.total, self.workers))
            shared = replace(op, lanes=lanes, workers=self.workers, ordered=self.ordered)
            return at.emit_all(shared, *operands)

        return at.run(rule)
