"""The device that plans are made for: orders of networks, modes of derivatives, memory limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from tenferro.compiler import DeviceModel
from tenferro.family import Package
from tenferro.values.executors import executor_named
from tenferro.values.free_memory import free_host_bytes


@runtime_checkable
class KnowsDevice(Protocol):
    """An executor that tells what its device is like before anything is compiled for it."""

    @property
    def device_model(self) -> DeviceModel:
        """What programs cost on the device, and how they use its memory."""

    def free_bytes(self) -> int:
        """The bytes that a program may take on the device now.

        Raises:
            ConfigError: the device does not tell.
        """


HOST_MODEL = DeviceModel()
_planned_for: ContextVar[object] = ContextVar("tenferro_planned_for", default=None)


@contextmanager
def planning_for(executor: object) -> Iterator[None]:
    """Within the block, plans are made for the device of `executor`; None changes nothing."""
    if executor is None:
        yield
        return
    token = _planned_for.set(executor)
    try:
        yield
    finally:
        _planned_for.reset(token)


@runtime_checkable
class RunsFamilies(Protocol):
    """An executor that runs extension families by runtimes that were registered."""

    def runs_family(self, family: str) -> bool:
        """Whether a runtime was registered for a family."""


def runs_family(family: str, packages: Iterable[Package], holder: object = None) -> bool:
    """Whether what is traced now is run by a runtime of a family.

    Args:
        family: the family.
        packages: what the executor is given in addition.
        holder: the executor where nothing is being compiled, that of the arrays; None is NumPy's.
    """
    executor = _planned_for.get() or holder or executor_named("numpy")
    if not isinstance(executor, RunsFamilies):
        return False
    given = (runtime.family_id for package in packages for runtime in package.runtimes)
    return executor.runs_family(family) or family in given


def holder_of(values: Iterable[object]) -> object:
    """The executor that holds one of the values; None if they are on the host or are traced."""
    holders = (getattr(value, "executor", None) for value in values)
    return next((holder for holder in holders if holder is not None), None)


def planned_model(holder: object = None) -> DeviceModel:
    """The model of the device of `holder`, or that plans are made for; if it has none, the CPU's.

    >>> from tenferro.compiler import CPU
    >>> planned_model().costs == CPU
    True
    """
    executor = _planned_for.get() if holder is None else holder
    model: DeviceModel = getattr(executor, "device_model", HOST_MODEL)
    return model


def planned_free_bytes(holder: object = None) -> int:
    """The bytes that are free on the device of `holder`, or that plans are made for, or the host.

    Raises:
        ConfigError: the device does not tell.
    """
    executor = _planned_for.get() if holder is None else holder
    return executor.free_bytes() if isinstance(executor, KnowsDevice) else free_host_bytes()
