"""Clauses of the contract, verdicts on them, and the parts of a family that are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenferro.errors import ConfigError, ContractViolationError, TenferroError
from tenferro.ops.extension import (
    ExtensionOp,
    ExtensionRuleSet,
    Package,
    Register,
    lowering_of,
    register_runtimes,
    rules_of,
)
from tenferro.runtime import added_packages
from tenferro.serialization import PayloadCodecs, codecs_of

__all__ = ["Clause", "ExtensionReport", "Verdict"]


S = TypeVar("S")


class NotCheckedError(Exception):
    """Raised by a check that does not apply; the text says why."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader of the report should know, and no violation."""

    text: str


Findings = Iterable[str | Note]
"""Texts of violations, and notes."""


@dataclass(frozen=True, slots=True)
class Clause(Generic[S]):
    """One demand of the contract, and the check of it.

    Attributes:
        section: the section of the contract that makes it; see `tenferro.testing`.
        name: one or two words by which other clauses refer to it.
        claim: the demand, as a sentence.
        check: yields violations and notes. An exception is a violation.
        needs: clauses without which this one cannot be judged.
    """

    section: int
    name: str
    claim: str
    check: Callable[[S], Findings]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one clause; `checked` is False where it could not be judged."""

    section: int
    name: str
    claim: str
    violations: tuple[str, ...]
    notes: tuple[str, ...]
    checked: bool

    @property
    def word(self) -> str:
        """`holds`, `violated` or `not checked`."""
        return "violated" if self.violations else "holds" if self.checked else "not checked"

    def __str__(self) -> str:
        lines = [f"§{self.section} {self.name}: {self.claim}: {self.word}"]
        return "\n".join([*lines, *(f"    {text}" for text in (*self.violations, *self.notes))])


@dataclass(frozen=True, slots=True)
class ExtensionReport:
    """What `check_extension` found; print it.

    >>> print(ExtensionReport("my-package.fft.v1", ()))
    my-package.fft.v1: 0 clauses hold
    """

    family_id: str
    verdicts: tuple[Verdict, ...]

    @property
    def violated(self) -> tuple[Verdict, ...]:
        """The clauses that do not hold."""
        return tuple(verdict for verdict in self.verdicts if verdict.violations)

    def __getitem__(self, name: str) -> Verdict:
        """The verdict on the clause of that name.

        Raises:
            KeyError: no clause has the name.
        """
        for verdict in self.verdicts:
            if verdict.name == name:
                return verdict
        raise KeyError(name)

    def require(self) -> None:
        """Raise ContractViolationError if a clause is violated."""
        if self.violated:
            raise ContractViolationError(
                self.family_id,
                tuple(
                    f"§{verdict.section} {verdict.name}: {text}"
                    for verdict in self.violated
                    for text in verdict.violations
                ),
            )

    def __str__(self) -> str:
        words = [verdict.word for verdict in self.verdicts]
        counts = [f"{words.count('holds')} clauses hold"]
        counts += [
            f"{n} {word}" for word in ("violated", "not checked") if (n := words.count(word))
        ]
        return "\n".join([f"{self.family_id}: {', '.join(counts)}", *map(_line, self.verdicts)])


def judged(
    clauses: Iterable[Clause[S]], subject: S, skipped: Iterable[str] = ()
) -> Iterator[Verdict]:
    """The verdict on each clause, in order. What is `skipped` is not needed by others."""
    holds = set(skipped)
    for clause in clauses:
        missing = [name for name in clause.needs if name not in holds]
        verdict = (
            _verdict(clause, (), (f"needs: {', '.join(missing)}",), False)
            if missing
            else _judge(clause, subject)
        )
        if verdict.checked and not verdict.violations:
            holds.add(clause.name)
        yield verdict


def _judge(clause: Clause[S], subject: S) -> Verdict:
    violations: list[str] = []
    notes: list[str] = []
    checked = True
    try:
        for finding in clause.check(subject):
            if isinstance(finding, Note):
                notes.append(finding.text)
            else:
                violations.append(finding)
    except NotCheckedError as reason:
        notes.append(str(reason))
        checked = False
    except TenferroError as error:
        violations.append(f"{type(error).__name__}: {error}")
    except Exception as error:  # whatever the author's code raises is a finding
        violations.append(f"raises {type(error).__name__}, which is not a TenferroError: {error}")
    return _verdict(clause, tuple(violations), tuple(notes), checked)


def _verdict(
    clause: Clause[S], violations: tuple[str, ...], notes: tuple[str, ...], checked: bool
) -> Verdict:
    return Verdict(clause.section, clause.name, clause.claim, violations, notes, checked)


def _line(verdict: Verdict) -> str:
    return f"  {verdict}".replace("\n", "\n  ")


# What is checked of a family in addition to its op: part by part, or as packages.


@dataclass(frozen=True)
class FamilyParts:
    """The parts of a family; None for one that it does not have, or that is not to be checked.

    Attributes:
        rules: derivative rules and batch rules.
        register_runtime: registers the runtimes on a native executor.
        register_xla: registers lowerings on an XLA executor.
        codecs: make ops from the payloads in files.
    """

    rules: ExtensionRuleSet | None
    register_runtime: Register | None
    register_xla: Callable[[Any], object] | None
    codecs: PayloadCodecs | None

    def filled(self, op: ExtensionOp, packages: Sequence[Package]) -> FamilyParts:
        """The parts, and those of the packages where they are None.

        Raises:
            ExtensionRegistryError: a package is given twice, or is not one.
            ConfigError: no package has the family of the op.
        """
        own = added_packages(packages)
        if not own:
            return self
        if not any(op.family_id in package.families for package in own):
            names = ", ".join(repr(package.name) for package in own)
            raise ConfigError(
                f"check_extension: {op.family_id}: not a family of {names}; add the op class to "
                "the ops of a package"
            )
        with_rules = any(package.rules or package.batch_rules for package in own)
        rules = rules_of(own) if with_rules else None
        runtimes = any(package.runtimes for package in own)
        lowerings = any(package.lowerings for package in own)
        return FamilyParts(
            rules if self.rules is None else self.rules,
            self.register_runtime
            or ((lambda registry: register_runtimes(own, registry)) if runtimes else None),
            self.register_xla
            or ((lambda registry: _register_lowerings(own, registry)) if lowerings else None),
            codecs_of(own) if self.codecs is None else self.codecs,
        )


def _register_lowerings(packages: Sequence[Package], registry: Any) -> None:
    for package in packages:
        for op, lowering in package.lowerings.items():
            registry.register(op.FAMILY_ID, lowering_of(lowering))
