"""jit: compile a function for the types it is called with, or once for all sizes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenferro.compiler import OptimizerOptions
from tenferro.computegraph import BoundedCache, CacheStats, Capacity
from tenferro.config import config
from tenferro.errors import ExecutorError, TracingError
from tenferro.runtime import (
    Buffer,
    Executable,
    Executor,
    GraphProgram,
    Tensor,
    bind_shapes,
    executor_named,
    tensor_owner,
)
from tenferro.traced import GraphCompiler, TracedTensor, is_tracing
from tenferro.transforms.call import Call, StaticArguments
from tenferro.transforms.symbolic import SymbolicArguments, check_traced
from tenferro.transforms.trace import place, trace_function
from tenferro.transforms.trees import TreeDef, flatten, unflatten


@dataclass(frozen=True, slots=True)
class Traced:
    """A function traced for arguments of given types, whose extents may be symbolic.

    Attributes:
        program: what it computes.
        captured: buffers of the arrays that the function closes over, passed after the arguments.
        donated: the inputs of the program that belong to donated arguments.
        out_tree: structure of the result.
    """

    program: GraphProgram
    captured: tuple[Buffer, ...]
    donated: tuple[int, ...]
    out_tree: TreeDef


@dataclass(frozen=True, slots=True)
class Compiled:
    """A traced function on its executor, for arguments of given sizes.

    Attributes:
        traced: the function.
        executable: its program for these sizes.
        is_leaf: whether the result is one array and no tree.
    """

    traced: Traced
    executable: Executable
    is_leaf: bool


class Jitted:
    """What `jit` returns; call it like the function it wraps.

    Within another trace it is inlined, so that transforms of compiled functions see through them.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        executor: str | Executor | None = None,
        static_argnames: str | Sequence[str] = (),
        donate_argnums: int | Sequence[int] = (),
        options: OptimizerOptions | None = None,
        symbolic: Mapping[str, Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        if not isinstance(executor, str | Executor | None):
            raise ExecutorError(f"jit: executor must be an executor or its name, got {executor!r}")
        self._choice: str | Executor = config.executor if executor is None else executor
        self._static = StaticArguments(function, static_argnames)
        self._symbolic = (
            None if symbolic is None else SymbolicArguments(function, symbolic, self._static.names)
        )
        self._donate = (
            (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
        )
        self._compiler = GraphCompiler(options, capacity=0)  # each trace is new
        self._cache: BoundedCache[Hashable, Compiled] = BoundedCache(Capacity(config.cache_entries))
        self._traces: BoundedCache[Hashable, Traced] = BoundedCache(Capacity(config.cache_entries))
        self._seen: dict[Hashable, Compiled] = {}
        self._seen_hits = 0
        self._owner: Executor | None = None

    @property
    def executor(self) -> Executor:
        """The executor that runs the function."""
        if isinstance(self._choice, str):
            self._choice = executor_named(self._choice)
        self._owner = tensor_owner(self._choice)
        return self._choice

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function, compiled for these arguments; compile it first if need be."""
        # The short way: arguments that are arrays in place, of types seen before.
        found = None if kwargs else self._in_place(args)
        if found is not None:
            buffers, types = found
            entry = self._seen.get(tuple(types))
            if entry is not None:
                self._seen_hits += 1
                return self._run(entry, entry.executable, buffers)
        return self._in_full(args, kwargs)

    def _in_full(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The long way: static arguments, trees, numbers, arrays elsewhere, types not yet seen."""
        executor = self.executor
        call = self._static.split(args, kwargs, self)
        leaves, treedef = flatten((call.args, call.kwargs))
        found = self._in_place(leaves)
        types = _leaf_types(leaves) if found is None else found[1]
        if types is None:
            if self._symbolic is not None:
                check_traced(self._symbolic.specs(call), leaves)
            return call.function(*call.args, **call.kwargs)
        entry = self._entry(call, leaves, treedef, types)
        if entry is None:
            return call.function(*call.args, **call.kwargs)
        if found is not None:
            if call.static is None and not kwargs and _are_leaves(args, leaves):
                self._remember(types, entry)
            return self._run(entry, entry.executable, found[0])
        buffers = [_buffer(leaf, executor) for leaf in leaves]
        on_host = any(isinstance(buffer, np.ndarray) for buffer in buffers)
        run = entry.executable.run_host if on_host else entry.executable
        return self._run(entry, run, buffers)

    def _in_place(self, leaves: Sequence[Any]) -> tuple[list[Buffer], list[Hashable]] | None:
        """Buffers and types of leaves that are all arrays on the executor already, else None."""
        owner = self._owner
        buffers: list[Buffer] = []
        types: list[Hashable] = []
        for leaf in leaves:
            if type(leaf) is Tensor and leaf.executor is owner:
                buffer = leaf.data
            elif owner is not None and owner.owns(leaf):
                buffer = leaf
            else:
                return None
            buffers.append(buffer)
            types += (buffer.shape, buffer.dtype)
        return buffers, types

    def _remember(self, types: Sequence[Hashable], entry: Compiled) -> None:
        """Let the short way find `entry` for arguments of these types."""
        if len(self._seen) >= self._cache.capacity.entries:
            self._seen.clear()
        self._seen[tuple(types)] = entry

    def _run(
        self, entry: Compiled, run: Callable[..., Sequence[Buffer]], buffers: Sequence[Buffer]
    ) -> Any:
        results = run(*buffers, *entry.traced.captured)
        owner = self._owner
        if entry.is_leaf:
            return Tensor.wrap(results[0], owner)
        return entry.traced.out_tree.unflatten([Tensor.wrap(result, owner) for result in results])

    def program(self, *args: Any, **kwargs: Any) -> GraphProgram:
        """The optimized program for these arguments; its symbols are those of `symbolic`."""
        call = self._static.split(args, kwargs, self)
        leaves, treedef = flatten((call.args, call.kwargs))
        types = _leaf_types(leaves)
        if types is None:
            raise TracingError("program: needs concrete arguments, got traced ones")
        traced = self._traced(call, leaves, treedef, types)
        if traced is None:
            raise TracingError(
                f"{self!r}: the function reads values of a trace around it; pass them as arguments"
            )
        return traced.program

    def stats(self) -> CacheStats:
        """How many compiled versions are held, and how often one was reused."""
        stats = self._cache.stats()
        return replace(stats, hits=stats.hits + self._seen_hits)

    def trace_stats(self) -> CacheStats:
        """The same of traced programs, each differentiated and optimized once for all its sizes."""
        return self._traces.stats()

    def clear(self) -> None:
        """Drop the compiled versions, and the programs."""
        self._cache.clear()
        self._traces.clear()
        self._seen.clear()

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache of compiled versions."""
        return self._cache.capacity

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"jit({getattr(self._function, '__qualname__', self._function)!s})"

    def _entry(
        self, call: Call, leaves: list[Any], treedef: TreeDef, types: list[Hashable]
    ) -> Compiled | None:
        """The compiled version; None if the function must be inlined into the trace around it."""
        key = (treedef, call.static, *types)
        entry = self._cache.get(key)
        if entry is not None:
            return entry
        traced = self._traced(call, leaves, treedef, types)
        return None if traced is None else self._cache.put(key, self._compile(traced, leaves))

    def _compile(self, traced: Traced, leaves: Sequence[Any]) -> Compiled:
        shapes = [getattr(leaf, "shape", ()) for leaf in (*leaves, *traced.captured)]
        sizes = bind_shapes(traced.program, shapes)
        executable = self.executor.compile_exec(traced.program.exec_program, traced.donated, sizes)
        return Compiled(traced, executable, traced.out_tree.is_leaf())

    def _traced(
        self, call: Call, leaves: list[Any], treedef: TreeDef, types: list[Hashable]
    ) -> Traced | None:
        """The program, of which the declared types are the key; None as for `_entry`."""
        if self._symbolic is not None:
            specs = self._symbolic.specs(call)
            leaves = [
                given if spec is None else spec for given, spec in zip(leaves, specs, strict=True)
            ]
            args, kwargs = unflatten(treedef, leaves)
            call = replace(call, args=args, kwargs=kwargs)
            types = [*types]
            for position, spec in enumerate(specs):
                if spec is not None:
                    types[2 * position] = spec.shape
        key = (treedef, call.static, *types)
        traced = self._traces.get(key)
        if traced is None:
            traced = self._trace(call)
        return None if traced is None else self._traces.put(key, traced)

    def _trace(self, call: Call) -> Traced | None:
        trace, _ = trace_function(call.function, call.args, call.kwargs)
        if trace.outer and is_tracing():
            return None
        if trace.outer:
            raise TracingError(
                f"{self!r}: the function reads values of a trace around it; pass them as arguments"
            )
        program = self._compiler.compile_keys(trace.outputs, trace.inputs)
        captured = program.inputs[len(trace.inputs) :]
        buffers = [place(one.default, self.executor) for one in captured if one.default is not None]
        return Traced(program, tuple(buffers), self._donated(call), trace.out_tree)

    def _donated(self, call: Call) -> tuple[int, ...]:
        """The inputs of the program that belong to donated arguments.

        Raises:
            TracingError: there is no such argument.
        """
        for number in self._donate:
            if number not in call.positions:
                raise TracingError(f"{self!r}: donate_argnums {number!r} is no argument to donate")
        donated: list[int] = []
        start = 0
        for number, arg in zip(call.positions, call.args, strict=True):
            count = len(flatten(arg)[0])
            donated += range(start, start + count) if number in self._donate else ()
            start += count
        return tuple(donated)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    executor: str | Executor | None = None,
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    options: OptimizerOptions | None = None,
    symbolic: Mapping[str, Any] | None = None,
) -> Any:
    """Compile a function of arrays.

    One program for each structure, dtypes, shapes and static arguments. With `symbolic`, one for
    all sizes of the named axes: it is traced, differentiated and optimized once, and the executor
    compiles it for the sizes it meets.

    Args:
        function: takes and returns trees of arrays. Traced once for each combination of types, so
            that side effects and Python control flow happen then only.
        executor: `"xla"`, `"numpy"`, or an executor; by default `TENFERRO_EXECUTOR`, else `"xla"`.
        static_argnames: arguments that are Python values, part of the program; hashable.
        donate_argnums: positional arguments whose buffers the program may overwrite.
        options: which compiler passes run.
        symbolic: shapes with names, by the names of the arguments: `{"x": ("n", 3)}`. A name is
            one size wherever it stands; sizes may be expressions of names, `"2*n"`. For an argument
            that is a tree, a shape for all of its arrays, or a tree of shapes that its own begins
            with. None is a size as it comes, `...` at the end all further ones.

    Raises:
        PytreeError: an argument's leaf is no array.
        BindingError: sizes are not as `symbolic` declares them.
        ExecutorError: the executor is not installed.

    >>> import tenferro as tn
    >>> @tn.jit
    ... def f(x):
    ...     return x * 2 + 1
    >>> f(tn.Tensor([1.0, 2.0]))
    Tensor([3., 5.])
    >>> total = tn.jit(lambda x: tn.sum(x, axis=0), symbolic={"x": ("n", 2)})
    >>> [total(tn.ones((n, 2))).tolist() for n in (1, 5, 9)]
    [[1.0, 1.0], [5.0, 5.0], [9.0, 9.0]]
    >>> total.trace_stats().misses
    1
    """
    if function is not None and not callable(function):
        raise TracingError(f"jit: takes a function, got a {type(function).__name__}")
    if function is None:
        return functools.partial(
            jit,
            executor=executor,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            options=options,
            symbolic=symbolic,
        )
    return Jitted(function, executor, static_argnames, donate_argnums, options, symbolic)


def _are_leaves(args: Sequence[Any], leaves: Sequence[Any]) -> bool:
    """Whether the arguments are their own leaves: no tree among them."""
    return len(args) == len(leaves) and all(map(operator.is_, args, leaves))


def _leaf_types(leaves: Sequence[Any]) -> list[Hashable] | None:
    """What a compiled version depends on: shape and dtype of each leaf, or the kind of number.

    None if a leaf is traced.
    """
    types: list[Hashable] = []
    for leaf in leaves:
        kind = type(leaf)
        if kind is TracedTensor:
            return None
        array = leaf.data if kind is Tensor else leaf
        if hasattr(array, "shape") and hasattr(array, "dtype"):
            types += (array.shape, array.dtype)
        else:
            types += (kind.__qualname__, None)
    return types


def _buffer(leaf: Any, executor: Executor) -> Buffer:
    """The leaf's buffer on the executor, or a host array for it to upload."""
    if type(leaf) is Tensor:
        return leaf.data if leaf.executor is None else place(leaf, executor)
    if isinstance(leaf, np.ndarray) and leaf.dtype.isnative:
        return leaf
    return leaf if executor.owns(leaf) else _buffer(Tensor(leaf), executor)
