"""Passes, and the driver that runs them: bodies first, verified, dumped and timed."""

from __future__ import annotations

import difflib
import enum
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from tenferro.compiler.background import give_way
from tenferro.config import config
from tenferro.errors import ConfigError, TenferroError, VerifyError
from tenferro.ir import ExecOp, ExecProgram, verify

__all__ = ["Needs", "Observer", "Pass", "PassReport", "run_passes"]


class Needs(enum.Enum):
    """What a pass must know of extents to rewrite an instruction; it does not change others."""

    RANKS = "ranks, which are always exact"
    EXACT_EXTENTS = "exact extents, since it writes target sizes"
    CONSTANT_EXTENTS = "constant extents, in the whole program"


class Pass(ABC):
    """A rewriting of programs that keeps their meaning, up to rounding.

    A subclass is a frozen dataclass whose fields are its options. A pass takes linear time, and
    returns the program itself where it has nothing to do. It may not strengthen the guarantee of an
    extent, nor use the bound of a size as the size.

    Attributes:
        name: its name in dumps and errors, and that of its switch in `OptimizerOptions`, if there
            is one.
        needs: what it must know of extents.
        looks_for: classes of ops, or names of traits that classes state, such as `follows_shapes`;
            the driver skips programs that have none of them. Empty if any program may be rewritten.
        enters_bodies: whether the driver runs it on programs inside ops too, innermost first.
        keeps_types: whether inputs and outputs keep their types.
        keeps_more: whether programs run faster because more values are kept, or are kept longer.
        refuses: whether its errors are about the user's program; such errors do not name the pass.
    """

    name: ClassVar[str]
    needs: ClassVar[Needs] = Needs.RANKS
    looks_for: ClassVar[tuple[type[ExecOp] | str, ...]] = ()
    enters_bodies: ClassVar[bool] = True
    keeps_types: ClassVar[bool] = True
    keeps_more: ClassVar[bool] = False
    refuses: ClassVar[bool] = False

    def inside(self, program: ExecProgram) -> Pass:
        """The pass for the programs inside the ops of a program that it is about to rewrite."""
        return self

    @abstractmethod
    def run(self, program: ExecProgram) -> ExecProgram:
        """The rewritten program; its `last_use` marks are not filled in."""


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did.

    Attributes:
        name: the pass.
        before: the program that it was given.
        after: the program that it returned; the same object if it had nothing to do.
        milliseconds: how long it took.
    """

    name: str
    before: ExecProgram
    after: ExecProgram
    milliseconds: float

    @property
    def changed(self) -> bool:
        """Whether the program is another one."""
        return self.after is not self.before

    def __str__(self) -> str:
        count = len(self.before.instructions)
        title = f"# pass {self.name}: {self.milliseconds:.3f} ms, {count} instructions"
        if not self.changed:
            return f"{title}, unchanged"
        diff = difflib.unified_diff(
            str(self.before).splitlines(),
            str(self.after).splitlines(),
            "before",
            "after",
            lineterm="",
        )
        return "\n".join([f"{title} -> {len(self.after.instructions)}", *diff])


OpTypes = frozenset[type[ExecOp]]

Observer = Callable[[PassReport], object]
"""Called with the report of each pass that has run."""


def run_passes(
    program: ExecProgram,
    passes: Iterable[Pass],
    observe: Observer | None = None,
    idle: Iterable[Pass] = (),
) -> ExecProgram:
    """The program after the passes, in their order.

    A pass that is listed again is skipped if the program has not changed since it ran; so is one of
    those that are `idle`, which would change nothing in the program, until another one changes it.

    Raises:
        ConfigError: something among `passes` is not a pass.
        VerifyError: a pass broke the program; the text names it. Only where `config.verify` is on.
    """
    unchanged = dict.fromkeys(idle, program)
    types = program.inner_op_types()
    for optimization in checked_passes(passes):
        if unchanged.get(optimization) is program:
            continue
        result = _run(optimization, program, types, observe)
        if result is not program:
            types = result.inner_op_types()
        program = unchanged[optimization] = result
    return program


def checked_passes(passes: Iterable[Pass]) -> list[Pass]:
    """The passes.

    Raises:
        ConfigError: something among them is not a pass.

    >>> checked_passes(["dead_code"])
    Traceback (most recent call last):
        ...
    tenferro.errors.ConfigError: passes: 'dead_code' is not a Pass; give an instance, DeadCode()
    """
    checked = list(passes)
    for item in checked:
        if not isinstance(item, Pass):
            raise ConfigError(f"passes: {item!r} is not a Pass; give an instance, DeadCode()")
    return checked


def _run(
    optimization: Pass, program: ExecProgram, types: OpTypes, observe: Observer | None
) -> ExecProgram:
    """The program after one pass; `types` are its `inner_op_types`."""
    give_way()
    start = time.perf_counter()
    try:
        result = program
        if _concerns(optimization, types):
            if optimization.enters_bodies and types is not program.op_types:
                within = optimization.inside(program)
                result = program.map_bodies(
                    lambda body: within.run(body) if _concerns(within, body.op_types) else body
                )
            if types is result.op_types or _concerns(optimization, result.op_types):
                result = optimization.run(result)
    except Exception as error:
        if not (optimization.refuses and isinstance(error, TenferroError)):
            error.add_note(f"raised in pass '{optimization.name}'")
        raise
    if observe is not None or "passes" in config.dump:
        seconds = time.perf_counter() - start
        _tell(PassReport(optimization.name, program, result, seconds * 1e3), observe)
    if config.verify and result is not program:
        verify(result, after=optimization.name)
        if optimization.keeps_types:
            _verify_interface(program, result, optimization.name)
    return result


def _tell(report: PassReport, observe: Observer | None) -> None:
    """Give a report to who observes, and to the dump."""
    if observe is not None:
        observe(report)
    if "passes" in config.dump:
        sys.stderr.write(f"{report}\n")


def _concerns(optimization: Pass, types: OpTypes) -> bool:
    """Whether the pass looks for one of these types of ops."""
    wanted = optimization.looks_for
    if not wanted:
        return True
    for op_type in types:
        for each in wanted:
            if isinstance(each, type):
                if issubclass(op_type, each):
                    return True
            elif (stated := getattr(op_type, each)) is not None and stated is not False:
                return True
    return False


def _verify_interface(before: ExecProgram, after: ExecProgram, name: str) -> None:
    """Raise VerifyError if the types of inputs or outputs changed, guarantees included."""
    for role, old, new in (
        ("input", before.input_metas, after.input_metas),
        ("output", before.output_metas, after.output_metas),
    ):
        if old != new:
            types = [", ".join(str(meta) for meta in metas) for metas in (old, new)]
            raise VerifyError(
                f"after pass '{name}': {role} types are {types[1]}, but were {types[0]}"
            )
