"""Passes, and the driver that runs them: bodies first, verified, dumped and timed."""

from __future__ import annotations

import difflib
import enum
import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from tenferro.compiler.background import give_way
from tenferro.config import config
from tenferro.errors import ConfigError, TenferroError, VerifyError, counted
from tenferro.ir import ExecOp, ExecProgram, verify
from tenferro.logs import logger

__all__ = ["Needs", "Observer", "Pass", "PassReport", "run_passes"]

_DUMP = logger("dump.passes")


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
            is one: that of the class, in small letters, `dead_code` of `DeadCode`.
        needs: what it must know of extents.
        looks_for: classes of ops; the driver skips programs that have none of them. Empty if any
            program may be rewritten.
        enters_bodies: whether the driver runs it on programs inside ops too, innermost first.
        keeps_types: whether inputs and outputs keep their types.
        keeps_more: whether programs run faster because more values are kept, or are kept longer.
        refuses: whether its errors are about the user's program; such errors do not name the pass.
    """

    name: ClassVar[str]
    needs: ClassVar[Needs] = Needs.RANKS
    looks_for: ClassVar[tuple[type[ExecOp], ...]] = ()
    enters_bodies: ClassVar[bool] = True
    keeps_types: ClassVar[bool] = True
    keeps_more: ClassVar[bool] = False
    refuses: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

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
        count = counted(len(self.before.instructions), "instruction")
        title = f"# pass {self.name}: {self.milliseconds:.3f} ms, {count}"
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


Observer = Callable[[PassReport], object]
"""Called with the report of each pass that has run."""


def run_passes(
    program: ExecProgram,
    passes: Iterable[Pass],
    observe: Observer | None = None,
    idle: Iterable[Pass] = (),
) -> ExecProgram:
    """The program after the passes, in their order.

    A pass that is listed again is skipped if the program has not changed since it ran; so are those
    that are `idle`, which have nothing to do in the program, until another one changes it.

    Raises:
        ConfigError: something among `passes` is not a pass.
        VerifyError: a pass broke the program; the text names it. Only where `config.verify` is on.
    """
    reported = observe is not None or _DUMP.isEnabledFor(logging.DEBUG)
    done = dict.fromkeys(idle, program)
    known = None
    for optimization in checked_passes(passes):
        if done.get(optimization) is program:
            continue
        if known is not program:
            classes, nested, known = program.op_classes, bool(program.bodies()), program
            for part in program.walk() if nested else ():
                classes |= part.op_classes
        start, before, wanted = time.perf_counter(), program, optimization.looks_for
        if not wanted or not classes.isdisjoint(wanted):
            give_way()
            program = _run(optimization, program, nested)
        done[optimization] = program
        if reported:
            milliseconds = (time.perf_counter() - start) * 1e3
            _report(PassReport(optimization.name, before, program, milliseconds), observe)
        if program is not before and config.verify:
            verify(program, after=optimization.name)
            if optimization.keeps_types:
                _verify_interface(before, program, optimization.name)
    return program


def _report(report: PassReport, observe: Observer | None) -> None:
    if observe is not None:
        observe(report)
    _DUMP.debug("%s", report)


def _run(optimization: Pass, program: ExecProgram, nested: bool) -> ExecProgram:
    """The program after a pass, which has run on the programs inside its ops before."""
    wanted = optimization.looks_for
    try:
        if nested and optimization.enters_bodies:
            program = program.map_bodies(optimization.inside(program).run, wanted)
        skips = wanted and optimization.enters_bodies and not program.has_op(wanted)
        return program if skips else optimization.run(program)
    except Exception as error:
        if not (optimization.refuses and isinstance(error, TenferroError)):
            error.add_note(f"raised in pass '{optimization.name}'")
        raise


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
