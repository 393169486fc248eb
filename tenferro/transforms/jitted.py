"""Jitted: a function compiled for the types of its arguments, or once for all sizes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

from tenferro.compiler import MemoryReport, OptimizerOptions
from tenferro.computegraph import BoundedCache, CacheStats, Capacity
from tenferro.config import config
from tenferro.errors import ExecutorError, ShapeError, TracingError
from tenferro.families import further
from tenferro.family import Package
from tenferro.shape import collecting_guards
from tenferro.traced import (
    GraphCompiler,
    TracedTensor,
    TreeDef,
    filtered,
    flatten,
    is_tracing,
    require_hashable,
    trace_function,
    unflatten,
    wraps,
)
from tenferro.transforms.call import CallArguments, StaticArguments, as_written, donated_inputs
from tenferro.transforms.copies import pickled
from tenferro.transforms.disabling import jit_is_disabled
from tenferro.transforms.leaves import are_leaves, buffer_of, leaf_types, ready, with_arrays
from tenferro.transforms.seen import KIND, Seen
from tenferro.transforms.shardings import JitShardings, given_by
from tenferro.transforms.symbolic import SymbolicArguments
from tenferro.transforms.tiers import TieredExecutable, compiled_version
from tenferro.transforms.versions import CompiledVersion, TracedFunction
from tenferro.typing import PyTree
from tenferro.values import (
    Executor,
    GraphProgram,
    Shardings,
    TakesPackages,
    Tensor,
    bind_shapes,
    bring_limit,
    bring_packages,
    check_executor,
    executor_named,
    memory_of,
    planning_for,
    tensor_owner,
    with_brought,
    with_packages,
    wrap_all,
)

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_new = object.__new__


class Jitted(Generic[P, R_co]):
    """The result of `jit`; call it like the function it wraps.

    In another trace it is inlined, so that transforms see the ops of compiled functions. It is
    copied as itself, and pickled by its name or with the function that it wraps.
    """

    def __init__(
        self,
        function: Callable[P, R_co],
        executor: str | Executor | None = None,
        static_argnames: Sequence[str] = (),
        donate_argnums: Sequence[int] = (),
        options: OptimizerOptions | None = None,
        symbolic: Mapping[str, Any] | None = None,
        packages: Sequence[Package] = (),
        mesh: object = None,
        in_shardings: PyTree = None,
        out_shardings: PyTree = None,
        slices: str | Sequence[str] | None = None,
        tiers: bool = False,
    ) -> None:
        wraps(function, self)
        self._function = function
        settings = (function, executor, static_argnames, donate_argnums, options, symbolic)
        placing = (mesh, in_shardings, out_shardings, slices)
        self._settings: tuple[Any, ...] = (*settings, packages, *placing, tiers)
        check_executor("jit", executor)
        self._choice: str | Executor = config.executor if executor is None else executor
        self._shardings = JitShardings.read(self._choice, *placing)
        if self._shardings is not None:
            self._choice = self._shardings.executor
        self._packages: Sequence[Package] = further(packages)
        self._static = StaticArguments(function, static_argnames)
        self._symbolic = (
            None if symbolic is None else SymbolicArguments(function, symbolic, self._static.names)
        )
        self._donate = donate_argnums
        self._compiler = GraphCompiler(options, capacity=0)  # `_traces` caches the programs
        capacity = Capacity(config.cache_entries)
        self._cache: BoundedCache[Hashable, CompiledVersion] = BoundedCache(capacity)
        self._traces: BoundedCache[Hashable, TracedFunction] = BoundedCache(capacity)
        self._seen = Seen()
        self._owner: Executor | None = None
        self._tiers = tiers

    @property
    def options(self) -> OptimizerOptions:
        """The compiler passes that run."""
        return self._compiler.options

    @property
    def executor(self) -> Executor:
        """The executor that runs the function."""
        if isinstance(self._choice, str):
            self._choice = executor_named(self._choice)
        if self._packages:
            self._choice = with_packages(self._choice, self._packages)
            self._packages = ()
        self._owner = tensor_owner(self._choice)
        return self._choice

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the function, compiled for these arguments; compile it first if necessary."""
        if jit_is_disabled.get():
            return as_written(self._static.split(args, kwargs, self))  # type: ignore[no-any-return]
        seen, owner = self._seen, self._owner
        structure, on_host = seen.latest, False
        leaves: Any = args if structure.plain and not kwargs else structure.leaves(args, kwargs)
        buffers: list[Any] = []
        for leaf in leaves:
            kind = type(leaf)
            if kind is Tensor and ((home := leaf._executor) is owner or home is None):
                buffers.append(leaf._buffer)
                on_host |= home is not owner
            elif kind is np.ndarray and leaf.dtype.isnative:
                buffers.append(leaf)
                on_host = True
            elif owner is not None and owner.owns(leaf._buffer if kind is Tensor else leaf):
                buffers.append(leaf._buffer if kind is Tensor else leaf)
            else:
                break
        else:
            known = structure.sole or structure.known.get((*map(KIND, buffers),))
            if known is not None:
                buffers += known.captured
                runs = known.executable
                results: Sequence[Any] | None
                try:
                    results = (runs.direct_host if on_host else runs.direct)(*buffers)
                except Exception as error:
                    results = known.explain(error, buffers)
                if results is not None:
                    seen.hits += 1
                    if not known.is_leaf:
                        return known.rebuild(wrap_all(results, owner))  # type: ignore[no-any-return]
                    tensor: Any = _new(Tensor)  # as `Tensor.wrap`, which costs a call more
                    tensor._buffer, tensor._executor = results[0], owner
                    return tensor  # type: ignore[no-any-return]
        return cast(R_co, self._of_types(args, kwargs))

    def _of_types(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The way by the types of the arguments: arrays and numbers, by themselves or in trees."""
        taken = None if kwargs else ready(args, self._owner)
        treedef = None
        if taken is None and not self._static.names:
            leaves, treedef = flatten((args, kwargs), in_any_order=True)
            taken = ready(leaves, self._owner)
        if taken is not None:
            buffers, types, on_host = taken
            version = self._seen.version(treedef, types)
            if version is not None:
                return version.results(buffers, on_host, self._owner)
        try:
            return self._in_full(args, kwargs)
        except Exception as error:
            raise filtered(error)  # noqa: B904  # it is the same error

    def _in_full(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The slow path: static arguments, arrays elsewhere, or new types."""
        executor = self.executor
        call = self._static.split(args, kwargs, self)
        leaves, treedef = flatten((call.args, call.kwargs))
        taken = ready(leaves, self._owner)
        if taken is None:
            call, leaves = with_arrays(call, leaves, treedef)
        types = leaf_types(leaves) if taken is None else taken[1]
        if types is None:
            for leaf in leaves:
                if isinstance(leaf, TracedTensor):
                    leaf.in_use(repr(self))
            if self._symbolic is not None:
                self._symbolic.check_traced(call)
            return self._inlined(call)
        entry = self._entry(call, leaves, treedef, types)
        if entry is None:
            return self._inlined(call)
        if taken is None:
            buffers = [buffer_of(leaf, executor) for leaf in leaves]
            on_host = any(isinstance(buffer, np.ndarray) for buffer in buffers)
            return entry.results(buffers, on_host, self._owner)
        if not self._static.names:
            alone = not kwargs and are_leaves(args, leaves)
            known = None if alone else treedef
            self._seen.remember(known, types, entry, self._cache.capacity.entries)
        buffers, _, on_host = taken
        return entry.results(buffers, on_host, self._owner)

    def _inlined(self, call: CallArguments) -> Any:
        """The function within the enclosing trace, which takes over the packages."""
        executor = self.executor
        bring_packages(executor.packages if isinstance(executor, TakesPackages) else ())
        bring_limit(self.options.memory_limit)
        if self._shardings is not None:
            return self._shardings.inlined(call)
        leaves, treedef = flatten((call.args, call.kwargs))
        args, kwargs = unflatten(treedef, leaves)  # as a traced function gets them
        return call.function(*args, **kwargs)

    def program(self, *args: Any, **kwargs: Any) -> GraphProgram:
        """The optimized program for these arguments, with the symbols of `symbolic`."""
        return self._program_of(args, kwargs, "program")[0].program

    def _program_of(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], caller: str
    ) -> tuple[TracedFunction, list[Any], Shardings]:
        """The traced function for these arguments, and the inputs of its program and shardings."""
        call, leaves, treedef, types = self._taken_apart(args, kwargs, caller)
        traced = self._traced(call, leaves, treedef, types, self._symbolic)
        if traced is None:
            raise TracingError(
                f"{self!r}: the function reads values of an enclosing trace; pass them as arguments"
            )
        inputs = [*leaves, *traced.captured]
        return traced, inputs, given_by(self._shardings, call, traced.out_tree, inputs)

    def _taken_apart(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], caller: str
    ) -> tuple[CallArguments, list[Any], TreeDef, list[Hashable]]:
        """The call, its leaves and their structure, and the types of the leaves."""
        call = self._static.split(args, kwargs, self)
        leaves, treedef = flatten((call.args, call.kwargs))
        call, leaves = with_arrays(call, leaves, treedef)
        types = leaf_types(leaves)
        if types is None:
            raise TracingError(f"{caller}: needs concrete arguments, got traced ones")
        return call, leaves, treedef, types

    def memory(self, *args: Any, **kwargs: Any) -> MemoryReport:
        """What the program for these arguments needs of memory, and what it computes again.

        On a mesh each device needs so much; `lower(...).memory()` is XLA's own figure.

        Raises:
            ExecutorError: the executor does not tell, or data decide sizes in the program.
            MemoryLimitError: the memory limit cannot be kept.

        >>> import tenferro as tn
        >>> print(tn.jit(lambda x: tn.sum(x * x)).memory(tn.zeros(1000)))
        peak 8 bytes; results 8 bytes, arguments 8.0 kB more
        alive there: 1, the largest:
             8 bytes  reduce_sum f64[]
        computed again: nothing
        """
        traced, leaves, shardings = self._program_of(args, kwargs, "memory")
        program = traced.program
        sizes = bind_shapes(program, [getattr(leaf, "shape", ()) for leaf in leaves])
        executor = with_brought(self.executor, traced.packages)
        return memory_of(executor, program.exec_program, sizes, program.options, shardings)

    def tier(self, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """The name of the executor that answers such a call now; None if it is not compiled for it.

        >>> import tenferro as tn
        >>> f = tn.jit(tn.exp, executor="numpy")
        >>> f.tier(1.0), f(1.0).item() > 2, f.tier(1.0)
        (None, True, 'numpy')
        """
        call, _, treedef, types = self._taken_apart(args, kwargs, "tier")
        entry = self._cache.get((treedef, call.static, *types))
        if entry is None:
            return None
        executable = entry.executable
        return executable.tier if isinstance(executable, TieredExecutable) else self.executor.name

    def ready(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Wait until the executor itself answers such calls: compile the function, and run it once.

        >>> import tenferro as tn
        >>> f = tn.jit(tn.exp, tiers=True)
        >>> before = f(1.0), f.tier(1.0)
        >>> f.ready(1.0)
        >>> before[1], f.tier(1.0)
        ('numpy', 'xla')
        """
        call, leaves, treedef, types = self._taken_apart(args, kwargs, "ready")
        entry = self._entry(call, leaves, treedef, types)
        if entry is not None and isinstance(entry.executable, TieredExecutable):
            buffers = [buffer_of(leaf, self.executor) for leaf in leaves]
            entry.executable.ready([*buffers, *entry.traced.captured])

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """What the executor makes of the program for these arguments: XLA's is a `Lowered`.

        Raises:
            ExecutorError: the executor runs programs as they are.
        """
        executor: Any = self.executor
        if not hasattr(executor, "lower"):
            raise ExecutorError(
                f"lower: the executor {executor.name!r} runs programs as they are; see "
                "f.program(...), or choose executor='xla'"
            )
        traced, leaves, shardings = self._program_of(args, kwargs, "lower")
        program = traced.program
        named = zip((declared.name for declared in program.inputs), leaves, strict=False)
        specs = dict(named) if self._symbolic is not None else None
        on_mesh = {} if self._shardings is None else {"shardings": shardings}
        return executor.lower(program, specs, **on_mesh)

    def stats(self) -> CacheStats:
        """Numbers of cached compiled versions and of their uses."""
        stats = self._cache.stats()
        return replace(stats, hits=stats.hits + self._seen.hits)

    def trace_stats(self) -> CacheStats:
        """Numbers of cached traced programs, each for all its sizes, and of their uses."""
        return self._traces.stats()

    def clear(self) -> None:
        """Remove the compiled versions, and the programs."""
        self._cache.clear()
        self._traces.clear()
        self._seen.clear()

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache of compiled versions."""
        return self._cache.capacity

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(cast(Any, self), instance)

    def __copy__(self) -> Jitted[P, R_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted[P, R_co]:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        return pickled(self, Jitted, self._settings)

    def __repr__(self) -> str:
        return f"jit({getattr(self._function, '__qualname__', self._function)!s})"

    def _entry(
        self, call: CallArguments, leaves: list[Any], treedef: TreeDef, types: list[Hashable]
    ) -> CompiledVersion | None:
        """The compiled version; None if the function must be inlined into the enclosing trace."""
        key = (treedef, call.static, *types)
        if (entry := self._cache.get(key)) is not None:
            return entry
        placing, symbolic = (self._shardings, self._tiers), self._symbolic
        while (traced := self._traced(call, leaves, treedef, types, symbolic)) is not None:
            executor = with_brought(self.executor, traced.packages)
            try:
                version = compiled_version(executor, traced, call, leaves, *placing)
            except ShapeError:
                if symbolic is None or not symbolic.has_empty(call, leaves):
                    raise
                symbolic = None  # what was traced for names does not fit empty arrays
            else:
                return self._cache.put(key, version)
        return None

    def _traced(
        self,
        call: CallArguments,
        leaves: list[Any],
        treedef: TreeDef,
        types: list[Hashable],
        symbolic: SymbolicArguments | None,
    ) -> TracedFunction | None:
        """The program, cached by the declared types; None as in `_entry`."""
        if symbolic is not None:
            call, types = symbolic.declared(call, leaves, treedef, types)
        key = (treedef, call.static, *types)
        traced = self._traces.get(key)
        if traced is None:
            require_hashable(treedef)
            traced = self._trace(call)
        return None if traced is None else self._traces.put(key, traced)

    def _trace(self, call: CallArguments) -> TracedFunction | None:
        with planning_for(self.executor), collecting_guards():
            trace, _ = trace_function(call.function, call.args, call.kwargs)
        if trace.outer and is_tracing():
            return None
        if trace.outer:
            raise TracingError(
                f"{self!r}: the function reads values of another trace; pass them as arguments, "
                "or return them there"
            )
        compiler = self._compiler.limited(trace.limit)
        program = compiler.compile_keys(trace.outputs, trace.program_inputs, trace.guards)
        donated = donated_inputs(self, self._donate, call)
        return TracedFunction.of(trace, program, donated, self.executor)
