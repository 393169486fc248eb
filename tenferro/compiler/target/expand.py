"""Extension ops as standard ops, for executors that do not run their families."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from tenferro.compiler.passing import Pass
from tenferro.errors import UnsupportedExtensionError
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter


@dataclass(frozen=True)
class ExpandFamilies(Pass):
    """Replaces each extension op by what its `lower_to_standard_ops` emits.

    Nothing is ever executed to get there. An op with an input of which data decide a size stays, to
    be asked again when the size is known.

    Attributes:
        keep: families whose ops stay, since the executor runs them itself.

    Raises:
        UnsupportedExtensionError: a family has no standard-op form for these types.
        InvalidConfigError: the form that it gives is not of the types that it infers.
    """

    keep: Container[str] = field(default=(), hash=False)

    name = "expand_families"
    refuses = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without extension ops but those that stay."""
        if not any(self._expands(step.op.family) for step in program.instructions):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if not self._expands(step.op.family):
                return None
            metas = [rewriter.ctx.meta(slot) for slot in operands]
            if any(meta.dims is None for meta in metas):
                return None
            made = step.op.standard_ops(rewriter, operands)
            if made is None:
                family = str(step.op.family)
                types = ", ".join(map(str, metas))
                raise UnsupportedExtensionError(
                    family,
                    f"{family}: no lowering is registered on the executor, and the op has no "
                    f"standard-op form for {types}; give the executor a package that has one, or "
                    "register one with executor.register_extension(...)",
                )
            return made

        return rewriter.run(rule)

    def _expands(self, family: str | None) -> bool:
        return family is not None and family not in self.keep
