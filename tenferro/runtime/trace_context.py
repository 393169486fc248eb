"""What a function hands to the enclosing trace: packages, memory limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from tenferro.compiler import MemoryLimit
from tenferro.errors import ExecutorError
from tenferro.ops.extension import Package
from tenferro.runtime.executors import Executor

__all__ = [
    "TakesPackages",
    "bring_limit",
    "bring_packages",
    "collecting_limits",
    "collecting_packages",
    "with_brought",
    "with_packages",
]


# Packages of extension families that a function brings with it, for the executor that runs it.

_brought: ContextVar[list[Package] | None] = ContextVar("tenferro_packages", default=None)
_extended: WeakKeyDictionary[Executor, dict[tuple[int, ...], Executor]] = WeakKeyDictionary()
"""For each executor those like it with further packages, by the identities of these."""


@runtime_checkable
class TakesPackages(Protocol):
    """An executor that accepts packages of extension families."""

    @property
    def packages(self) -> Sequence[Package]:
        """The packages that it has in addition to tenferro's own."""

    def with_packages(self, packages: Sequence[Package]) -> Executor:
        """An executor like this one with these packages in addition."""


def with_packages(executor: Executor, packages: Sequence[Package]) -> Executor:
    """The executor itself if `packages` is empty, else one like it with these in addition.

    Raises:
        ExecutorError: the executor does not accept packages.
        ExtensionRegistryError: a package is given twice, or is not one.

    >>> from tenferro.runtime import executor_named
    >>> with_packages(executor_named("numpy"), ()) is executor_named("numpy")
    True
    """
    if not packages:
        return executor
    if not isinstance(executor, TakesPackages):
        raise ExecutorError(
            f"packages: the executor {executor.name!r} has no method with_packages(packages), and "
            "takes none; register the families with it in its own way"
        )
    return executor.with_packages(packages)


def with_brought(executor: Executor, packages: Sequence[Package]) -> Executor:
    """An executor like `executor` that has these packages; itself if it has them already.

    The same packages give the same executor, whose caches are its own.

    Raises:
        ExecutorError: the executor does not accept packages.
        ExtensionRegistryError: two packages have the same family.
    """
    known = executor.packages if isinstance(executor, TakesPackages) else ()
    missing = [package for package in packages if not _contains(known, package)]
    if not missing:
        return executor
    extended = _extended.setdefault(executor, {})
    key = tuple(map(id, missing))  # the executors refer to the packages
    if key not in extended:
        extended[key] = with_packages(executor, missing)
    return extended[key]


@contextmanager
def collecting_packages() -> Iterator[list[Package]]:
    """Collect the packages that functions bring within the block."""
    packages: list[Package] = []
    token = _brought.set(packages)
    try:
        yield packages
    finally:
        _brought.reset(token)


def bring_packages(packages: Sequence[Package]) -> None:
    """Hand packages to the enclosing trace, if there is one; its executor needs them."""
    collected = _brought.get()
    if collected is not None:
        collected += [package for package in packages if not _contains(collected, package)]


def _contains(packages: Sequence[Package], package: Package) -> bool:
    return any(package is other for other in packages)


# Memory limits that functions bring with them, for the program that they become a part of.

_brought_limits: ContextVar[list[MemoryLimit] | None] = ContextVar("tenferro_limits", default=None)


@contextmanager
def collecting_limits() -> Iterator[list[MemoryLimit]]:
    """Collect the limits that functions bring within the block."""
    limits: list[MemoryLimit] = []
    token = _brought_limits.set(limits)
    try:
        yield limits
    finally:
        _brought_limits.reset(token)


def bring_limit(limit: MemoryLimit | None) -> None:
    """Hand a limit to the enclosing trace, if there is one; its program must keep it."""
    collected = _brought_limits.get()
    if collected is not None and limit is not None:
        collected.append(limit)
