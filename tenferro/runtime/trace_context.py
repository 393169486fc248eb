"""`TraceContext`: which functions are being traced, and what they require of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tenferro.compiler import MemoryLimit, tighter
from tenferro.core import GlobalValKey, SingleOutputNode
from tenferro.ir import ASSUMED, Dim, Guard, bring_guards
from tenferro.ops import Argument
from tenferro.ops.extension import Package
from tenferro.runtime.executors import contains

__all__ = [
    "NamedAxis",
    "TraceContext",
    "current_trace",
    "innermost",
    "is_tracing",
    "named_axes",
    "note_axis",
    "note_compiled",
    "open_traces",
    "outside_traces",
    "require_limit",
    "require_packages",
    "scope_of_axis",
]

_current: ContextVar[TraceContext | None] = ContextVar("tenferro_trace", default=None)
"""The innermost trace in this thread or task."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedAxis:
    """A named axis that a trace binds.

    Attributes:
        size: the number of entries along it.
        index: the graph value that is the place of the entry.
        varies: whether derivatives within tell what differs along it from what does not.
        differing: arguments of the function that differ along it.
    """

    name: str
    size: Dim
    index: GlobalValKey
    varies: bool = False
    differing: frozenset[GlobalValKey] = frozenset()


class TraceContext:
    """One trace of the function `name`: within it, new arrays are recorded and not computed.

    A value that depends on an argument of the function belongs to its trace; one that depends on
    values of several traces belongs to the innermost. Values may be used until their trace ends.
    Values of graphs built by hand, and of a trace without a name, belong to none.

    What functions within require is handed to the trace around it at its end.

    Attributes:
        name: what errors call the function.
        tracked: what stands for tensors that eager runtimes track and that the function may read,
            by their ids; None if it may read none. If None, that of the trace around it.
        parent: the trace around it, while it is open.
        depth: how many traces are open, itself included.
        is_open: whether its values may be used.
        read: enclosing traces whose values were used together with values of this one.
        arguments: its arguments, each with what was passed for it, while it is open.
        axes: the named axes that it binds.
        uses_axes: whether it uses a named axis of a trace around it.
        varies: whether derivatives in it tell what differs along a named axis; see `NamedAxis`.
        call: the function and the arguments that it was called with, while it is open.
        packages: the packages of extension families that the executor must have.
        limit: the memory limit that the program must keep.
        compiled: the first compiled function that is called within; un-jitted, a loop runs there.
        guards: what the program must check of sizes; handed on unless it `checks_sizes` itself.
        effects: values that are to be computed for the effects of their ops.
        seed: an argument that these ops read, which has another value in each iteration of a loop.
        last: the last of the effects that have an order.
        had_effects: whether there were any, which its results now need.
    """

    __slots__ = (
        "_tokens",
        "arguments",
        "axes",
        "call",
        "checks_sizes",
        "compiled",
        "depth",
        "effects",
        "guards",
        "had_effects",
        "is_open",
        "last",
        "limit",
        "name",
        "packages",
        "parent",
        "read",
        "seed",
        "tracked",
        "uses_axes",
        "varies",
    )
    _tokens: tuple[Token[TraceContext | None], Token[dict[tuple[str, str], Guard] | None]]

    def __init__(
        self,
        of: object = None,
        tracked: dict[int, Any] | None = None,
        checks_sizes: bool = False,
        axes: Iterable[NamedAxis] = (),
    ) -> None:
        """`of` is the function, or its name; see `guards` for `checks_sizes`."""
        is_name = of is None or isinstance(of, str)
        self.name: Any = of if is_name else getattr(of, "__name__", type(of).__name__)
        self.tracked = tracked
        self.checks_sizes = checks_sizes
        self.axes = tuple(axes)
        self.uses_axes = self.varies = False
        self.parent: TraceContext | None = None
        self.depth = 1
        self.is_open = True
        self.read: set[TraceContext] = set()
        self.arguments: Sequence[tuple[GlobalValKey, Any]] = ()
        self.call: tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]] | None = None
        self.packages: list[Package] = []
        self.limit: MemoryLimit | None = None
        self.compiled: Any = None
        self.guards: dict[tuple[str, str], Guard] = {}
        self.effects: list[GlobalValKey] = []
        self.seed: GlobalValKey | None = None
        self.last: GlobalValKey | None = None
        self.had_effects = False

    def __enter__(self) -> Self:
        parent = self.parent = _current.get()
        if parent is not None:
            self.depth = parent.depth + 1
            self.tracked = parent.tracked if self.tracked is None else self.tracked
            self.varies |= parent.varies
        self._tokens = (_current.set(self), ASSUMED.set(self.guards))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        current, assumed = self._tokens
        ASSUMED.reset(assumed)
        _current.reset(current)
        self.is_open = False
        for key, _ in self.arguments:
            primitive = key.primitive if type(key) is SingleOutputNode else None
            if isinstance(primitive, Argument):
                primitive.mark(is_open=False)
        self.call, self.arguments, self.parent, self.tracked = None, (), None, None
        if error is None and self.packages:
            require_packages(self.packages)
        if error is None and self.limit is not None:
            require_limit(self.limit)
        if error is None and self.compiled is not None:
            note_compiled(self.compiled)
        if error is None and self.guards and not self.checks_sizes:
            bring_guards(self.guards.values())

    def inner_of_two(self, other: TraceContext) -> TraceContext:
        """The inner one of two traces, which reads the other one."""
        inner, outer = (self, other) if self.depth >= other.depth else (other, self)
        inner.read.add(outer)
        return inner


def current_trace() -> TraceContext | None:
    """The innermost trace in this thread or task; None if no function is being traced."""
    return _current.get()


def is_tracing() -> bool:
    """Whether a function is being traced in this thread or task."""
    return _current.get() is not None


@contextmanager
def outside_traces() -> Iterator[None]:
    """A context in which no function is being traced: new arrays are computed."""
    current, assumed = _current.set(None), ASSUMED.set(None)
    try:
        yield
    finally:
        ASSUMED.reset(assumed)
        _current.reset(current)


def open_traces() -> tuple[TraceContext, ...]:
    """The traces with a name in this thread or task, the outermost first."""
    traces: list[TraceContext] = []
    trace = _current.get()
    while trace is not None:
        if trace.name is not None:
            traces.append(trace)
        trace = trace.parent
    return tuple(reversed(traces))


def named_axes(traces: Iterable[TraceContext] | None = None) -> dict[str, NamedAxis]:
    """The named axes that are bound here, or that some traces bind, the outermost first."""
    axes: dict[str, NamedAxis] = {}
    for trace in open_traces() if traces is None else traces:
        for axis in trace.axes:
            axes.pop(axis.name, None)
            axes[axis.name] = axis
    return axes


def scope_of_axis(axis: NamedAxis) -> TraceContext | None:
    """The open trace that binds an axis, the outermost one."""
    return next((trace for trace in open_traces() if axis in trace.axes), None)


def note_axis(axis: NamedAxis) -> None:
    """Note in the traces within that which binds an axis that they use it."""
    for trace in reversed(open_traces()):
        if axis in trace.axes:
            return
        trace.uses_axes = True


def innermost(traces: Iterable[TraceContext | None]) -> TraceContext | None:
    """The innermost of several traces; None if there is none."""
    inner: TraceContext | None = None
    for trace in traces:
        if trace is not None and (inner is None or trace.depth > inner.depth):
            inner = trace
    return inner


def note_compiled(function: Any) -> None:
    """Say that the function traced now, if there is one, calls a compiled function."""
    trace = _current.get()
    if trace is not None and trace.compiled is None:
        trace.compiled = function


def require_packages(packages: Iterable[Package]) -> None:
    """Say that the executor of the program traced now, if there is one, must have packages."""
    trace = _current.get()
    if trace is not None:
        trace.packages += [package for package in packages if not contains(trace.packages, package)]


def require_limit(limit: MemoryLimit | None) -> None:
    """Say that the program traced now, if there is one, must keep a memory limit."""
    trace = _current.get()
    if trace is not None and limit is not None:
        trace.limit = tighter([trace.limit, limit])
