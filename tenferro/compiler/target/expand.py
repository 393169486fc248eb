"""Extension ops as standard ops, for executors that do not run their families."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from tenferro.compiler.passing import Pass
from tenferro.errors import UnsupportedExtensionError
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.shape import Leaf, TensorMeta

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

    name = "plan_families"
    refuses = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with these plans."""
        if all(op.family is None for op in program.ops()):
            return program
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

    name = "expand_families"
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
