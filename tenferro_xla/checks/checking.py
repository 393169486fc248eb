"""What a step is passed: the device, its time, and ways to compare and to measure."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, TextIO, TypeVar

import jax
import numpy as np

import tenferro as tn
from tenferro.ir import dtype_kind, float_limits
from tenferro_xla.checks.report import Outcome, Record
from tenferro_xla.devices import device_name, find_device
from tenferro_xla.executor import XlaExecutor

__all__ = [
    "Checking",
    "Function",
    "apart",
    "compared",
    "epsilon",
    "in_short",
    "rated",
    "seconds_of",
]

Function = Callable[..., Any]
_Case = TypeVar("_Case")


class Checking:
    """One step: it writes records as it finds them, and stops when its time is over.

    Args:
        step: the name of the step.
        device: as `find_device` takes it. A process that does not use it leaves it to others.
        seconds: the time of the step.
        small: whether sizes are those for a CPU.
        lines: where records are written, one a line.
    """

    def __init__(self, step: str, device: str, seconds: float, small: bool, lines: TextIO) -> None:
        self.asked, self.small = device, small
        self._step, self._lines = step, lines
        self._ends = time.monotonic() + seconds

    @cached_property
    def device(self) -> jax.Device:
        """The device, which belongs to this process from the first use on.

        Raises:
            DeviceError: there is no such device.
        """
        return find_device(self.asked)

    @cached_property
    def name(self) -> str:
        """The name of the device, with its number."""
        return device_name(self.device)

    @cached_property
    def executor(self) -> XlaExecutor:
        """The executor of the device."""
        return XlaExecutor(self.name)

    @property
    def on_host(self) -> bool:
        """Whether the device computes in the memory of the host."""
        return self.executor.on_host

    def left(self) -> float:
        """The seconds that are left."""
        return self._ends - time.monotonic()

    def note(self, name: str, outcome: Outcome = "fine", /, **values: Any) -> None:
        """Write a record."""
        self._lines.write(f"{Record(self._step, name, outcome, values).line()}\n")
        self._lines.flush()

    @contextlib.contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """A check: an exception is a wrong result, and the step goes on."""
        try:
            yield
        except Exception as error:
            self.note(name, "wrong", error=in_short(error))

    def cases(self, cases: Iterable[_Case], name: Callable[[_Case], str] = str) -> Iterator[_Case]:
        """The cases for which there is time; what is left out is noted."""
        for case in cases:
            if self.left() <= 0:
                self.note(name(case), "left out", why="the time is over, from here on")
                return
            yield case

    def put(self, array: Any) -> Any:
        """A tensor on the device."""
        return tn.device_put(np.asarray(array), self.name)

    def put_jax(self, array: Any) -> jax.Array:
        """An array of JAX on the device."""
        moved: jax.Array = jax.device_put(np.asarray(array), self.device)
        return moved

    def jit(self, function: Function, **options: Any) -> Any:
        """The function, compiled for the device."""
        return tn.jit(function, executor=self.executor, **options)

    def against_jax(
        self, name: str, ours: Function, theirs: Function, *arrays: Any, slower: float = 1.5
    ) -> None:
        """Check a function against one of JAX on the same device, and time both."""
        with self.attempt(name):
            compiled, reference = self.jit(ours), jax.jit(theirs)
            tensors, values = [*map(self.put, arrays)], [*map(self.put_jax, arrays)]
            start = time.perf_counter()
            results = tn.block_until_ready(compiled(*tensors))
            first = time.perf_counter() - start
            start = time.perf_counter()
            expected = waited(reference(*values))
            first_of_jax = time.perf_counter() - start
            pairs = zip(tn.tree.leaves(results), jax.tree.leaves(expected), strict=True)
            far = max(apart(one, other) for one, other in pairs)
            own, other = compared(lambda: compiled(*tensors), lambda: reference(*values))
            limit = 1e3 * max(epsilon(each.dtype) for each in (*arrays, *jax.tree.leaves(expected)))
            slow = own > slower * other + 5e-5
            self.note(
                name,
                rated(far <= limit, slow),
                apart=far,
                us=own * 1e6,
                jax_us=other * 1e6,
                ratio=own / other,
                first_s=first,
                jax_first_s=first_of_jax,
            )


def rated(right: bool, slow: bool = False) -> Outcome:
    """The outcome of a check.

    >>> rated(True), rated(True, slow=True), rated(False, slow=True)
    ('fine', 'slow', 'wrong')
    """
    return ("slow" if slow else "fine") if right else "wrong"


def waited(result: Any) -> Any:
    """A result of JAX, once it has been computed."""
    for leaf in jax.tree.leaves(result):
        leaf.block_until_ready()
    return result


def in_short(error: Exception) -> str:
    """The kind of an error and the beginning of its text."""
    return f"{type(error).__name__}: {str(error)[:300]}"


def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number; 0 for what is not floating-point."""
    dtype = np.dtype(dtype)
    return float(float_limits(dtype).eps) if dtype_kind(dtype) in "fc" else 0.0


def apart(one: Any, other: Any, least: float = 0.0) -> float:
    """The largest difference, relative to the largest element, or to `least` if that is more.

    Infinite where shapes differ, or infinities or NaNs.

    >>> apart([1.0, 2.0], [1.0, 4.0])
    0.5
    >>> apart([1.0, np.nan, np.inf], [1.0, np.nan, np.inf]), apart([np.inf], [-np.inf])
    (0.0, inf)
    >>> apart([True, False], [True, True]), apart(np.zeros((0, 2)), np.zeros(0))
    (1.0, inf)
    """
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return float("inf")
    wide = np.complex128 if "c" in (dtype_kind(one.dtype) + dtype_kind(other.dtype)) else np.float64
    one, other = one.astype(wide), other.astype(wide)
    finite = np.isfinite(other)
    special = zip(_parts(one[~finite]), _parts(other[~finite]), strict=True)
    if not np.array_equal(finite, np.isfinite(one)) or not all(
        np.array_equal(mine, its, equal_nan=True) for mine, its in special
    ):
        return float("inf")
    largest = np.max(np.abs(other[finite]), initial=least)
    difference = np.max(np.abs(one[finite] - other[finite]), initial=0.0)
    return float(difference / (largest or 1.0))


def _parts(values: Any) -> tuple[Any, ...]:
    return (values.real, values.imag) if np.iscomplexobj(values) else (values,)


def compared(own: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """The least seconds of two calls, in turns: what else the machine does slows both."""
    pairs = [(seconds_of(own, 0.01, 1), seconds_of(other, 0.01, 1)) for _ in range(4)]
    return min(each[0] for each in pairs), min(each[1] for each in pairs)


def seconds_of(call: Callable[[], Any], least: float = 0.02, repeats: int = 5) -> float:
    """Median seconds of one call, when many are started before the last one is waited for."""
    tn.block_until_ready(call())
    start = time.perf_counter()
    tn.block_until_ready(call())
    once = max(time.perf_counter() - start, 1e-7)
    calls = max(1, min(1000, int(least / once)))
    times = []
    for _ in range(repeats if once < 1 else 1):
        start = time.perf_counter()
        results = [call() for _ in range(calls)]
        tn.block_until_ready(results[-1])
        times.append((time.perf_counter() - start) / calls)
        del results
    return statistics.median(times)
