"""jit: its options and the compiled function."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import is_
from typing import Any, Concatenate, Generic, Never, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from tenferro.compiler import MemoryLimit, MemoryReport, OptimizerOptions
from tenferro.config import RULES_OF_JAX, RULES_OF_PROCESS, config, flag, rules_here
from tenferro.core import CacheStats, Capacity, filtered
from tenferro.errors import (
    ConfigError,
    DeviceError,
    ExecutorError,
    ShapeError,
    TracingError,
    class_of,
)
from tenferro.ir import PyTree, TensorSpec
from tenferro.missing_names import unlisted
from tenferro.ops.extension import Package
from tenferro.runtime import (
    MESH_OF_THREAD,
    Executable,
    Executor,
    GraphProgram,
    RunsOnMesh,
    Shardings,
    TakesPackages,
    Tensor,
    added_packages,
    bind_shapes,
    check_executor,
    device_names,
    executor_named,
    executor_on,
    is_tracing,
    memory_of,
    narrowed,
    note_compiled,
    owner_of,
    place,
    planning_for,
    require_limit,
    require_packages,
    tensor_owner,
    using_mesh,
    with_compiler_options,
    with_missing_packages,
    with_packages,
    wrap_all,
)
from tenferro.transforms.jit_arguments import (
    CallArguments,
    Parameters,
    SymbolicArguments,
    as_written,
    buffer_of,
    jit_is_disabled,
    leaf_types,
    lending,
    with_arrays,
)
from tenferro.transforms.jit_cache import KIND, NUMBERS, CacheEntry, SignatureCache, TracedFunction
from tenferro.transforms.known_elements import hidden_elements
from tenferro.transforms.program import (
    checked_options,
    eval_shape,
    program_of_graph,
    with_effects,
    wraps,
)
from tenferro.transforms.shardings import AT_CALLS, JitShardings, mesh_of, program_shardings
from tenferro.transforms.signatures import First, P, R
from tenferro.transforms.stages import CallForm, TracedCall
from tenferro.transforms.tiered_jit import TieredExecutable, tiered
from tenferro.transforms.trace import leaf_meta, trace_function
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import TreeDef, flatten, in_order, require_hashable

__all__ = ["Jitted", "jit"]


# Copies of functions: a compiled function is copied and pickled as Python's functions are.


def is_named(function: Any) -> bool:
    """Whether a module has this very object under the name that the object says."""
    value: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in getattr(function, "__qualname__", "<nameless>").split("."):
        value = getattr(value, part, None)
    return value is function


def pickled(
    function: Any, make: Callable[..., Any], settings: tuple[Any, ...]
) -> str | tuple[Any, ...]:
    """What pickle writes of a function: its name if a module has it, else how it is made again."""
    return str(function.__qualname__) if is_named(function) else (make, settings)


# JitOptions: the options of jit, each declared and checked once.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JitOptions:
    """The options of `jit`, whose docstring explains them, as passed; most are checked here."""

    executor: str | Executor | None = None
    static_argnames: str | Sequence[str] = ()
    donate_argnums: int | Sequence[int] = ()
    options: OptimizerOptions | None = None
    symbolic: Mapping[str, PyTree] | None = None
    packages: Sequence[Package] = ()
    static_argnums: int | Sequence[int] = ()
    donate_argnames: str | Sequence[str] = ()
    keep_unused: bool = False
    inline: bool = False
    memory_limit: int | float | str | None = None
    mesh: object = None
    in_shardings: PyTree = None
    out_shardings: PyTree = None
    slices: str | Sequence[str] | None = None
    tiers: bool = False
    device: object = None
    backend: str | None = None
    compiler_options: Mapping[str, bool | int | float | str] | None = None

    def __post_init__(self) -> None:
        for name in ("keep_unused", "inline", "tiers"):
            flag(f"jit: {name}", getattr(self, name))
        check_executor("jit", self.executor)
        places = [name for name in ("executor", "device", "backend") if getattr(self, name)]
        if len(places) > 1:
            raise ConfigError(f"jit: {places[0]} and {places[1]} both say where to run; pass one")
        self.of_compiler()

    def on_device(self) -> Executor:
        """The executor that `device` or `backend` stands for."""
        if self.device is not None:
            return executor_on(self.device)
        return executor_on(next(iter(device_names(self.backend)), self.backend))

    def of_compiler(self) -> OptimizerOptions:
        """`options` with the memory limit."""
        return checked_options(self.options).limited(MemoryLimit.read("jit", self.memory_limit))


# Jitted: a function compiled for the types of its arguments, or once for all sizes.

Options = ParamSpec("Options")
Others = ParamSpec("Others")
R_co = TypeVar("R_co", covariant=True)
_new = object.__new__


class Jitted(Generic[P, R_co]):
    """The result of `jit`; call it like the function it wraps.

    In another trace it is inlined, so that transforms see the ops of compiled functions; there too
    it is called once for arguments of the same types. It is copied as itself, and pickled by its
    name or with the function that it wraps.
    """

    def __init__(
        self,
        function: Callable[P, R_co],
        settings: JitOptions | None = None,
        mesh: object = AT_CALLS,
    ) -> None:
        if isinstance(function, staticmethod):
            raise TracingError("jit: takes a function, got a staticmethod; put @staticmethod first")
        if inspect.isgeneratorfunction(function):
            raise TracingError("jit: a generator returns no arrays; return a list of its values")
        wraps(function, self)
        self._function = function
        self._settings = settings = JitOptions() if settings is None else settings
        self._options = settings.of_compiler()
        chosen = config.executor if settings.executor is None else settings.executor
        if settings.device is not None or settings.backend is not None:
            chosen = settings.on_device()
        divided = (chosen, settings.mesh, settings.in_shardings, settings.out_shardings)
        waits = mesh is AT_CALLS and divided[2:] != (None, None) and JitShardings.wait(*divided)
        self._mesh = None if mesh is AT_CALLS and not waits else mesh  # what is set when it runs
        self._shardings = None if waits else JitShardings.read(*divided, settings.slices)
        self._choice: str | Executor = (
            chosen if self._shardings is None else self._shardings.executor
        )
        self._packages: Sequence[Package] = added_packages(settings.packages)
        self._parameters = Parameters(
            function,
            settings.static_argnums,
            settings.static_argnames,
            settings.donate_argnums,
            settings.donate_argnames,
        )
        static, names = self._parameters.static, settings.symbolic
        self._symbolic = None if names is None else SymbolicArguments(function, names, static)
        self._cache = SignatureCache(Capacity(config.cache_entries))
        self._executor: Executor | None = None  # loaded with the first call
        self._owner: Executor | None = None  # of the executor's tensors
        self._elsewhere: dict[Any, Jitted[P, R_co]] = {}

    @property
    def options(self) -> OptimizerOptions:
        """The compiler passes that run."""
        return self._options

    @property
    def executor(self) -> Executor:
        """The executor that runs the function."""
        if self._executor is None:
            chosen = self._choice
            executor = executor_named(chosen) if isinstance(chosen, str) else chosen
            if self._settings.compiler_options:
                executor = with_compiler_options(executor, self._settings.compiler_options)
            self._executor = with_packages(executor, self._packages)
            self._owner = tensor_owner(self._executor)
            self._lend = lending(self._executor, bool(self._parameters.donated))
        return self._executor

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:  # noqa: C901  # fewer calls
        """Run the function, compiled for these arguments; compile it first if necessary.

        What arrays one by one take is written out here, if there is one version for such calls.
        """
        if jit_is_disabled.get():
            return as_written(self._parameters.split(args, kwargs, self))  # type: ignore[no-any-return]
        if MESH_OF_THREAD.mesh is not self._mesh:
            return self._here()(*args, **kwargs)
        cache, owner = self._cache, self._owner
        rules = rules_here.get() or RULES_OF_PROCESS[0]
        same_rules = cache.rules is rules
        entry, on_host = None if kwargs or not same_rules else cache.sole, False
        buffers: list[Any] = []
        numbers: tuple[Any, ...] = ()
        leaf: Any
        if entry is not None:
            for leaf in args:
                kind: Any = type(leaf)
                if kind is Tensor and leaf._executor is owner:
                    buffers.append(leaf._buffer)
                elif kind is np.ndarray and leaf.dtype.isnative:
                    buffers.append(narrowed(leaf) if rules is RULES_OF_JAX else leaf)
                    on_host = True
                else:
                    entry = None
                    break
        if entry is None and cache.latest.entries and same_rules:
            entry, buffers, numbers, on_host = self._found(args, kwargs)
        if entry is not None:
            runs = entry.runs
            results: Sequence[Any] | None
            try:
                results = (runs.direct_host if on_host else runs.direct)(*buffers)
            except DeviceError:
                results = None  # the slow path looks where the arrays are
            except Exception as error:
                results = cache.latest.recovered(error, entry, buffers, numbers)
            if results is not None:
                cache.hits += 1
                if not entry.is_leaf:
                    return entry.rebuild(wrap_all(results, owner))  # type: ignore[no-any-return]
                tensor: Any = _new(Tensor)  # as `Tensor.wrap`, which costs a call more
                tensor._buffer, tensor._executor = results[0], owner
                return tensor  # type: ignore[no-any-return]
        try:
            return cast(R_co, self._slow_path(args, kwargs))
        except Exception as error:
            raise filtered(error)  # noqa: B904  # it is the same error

    def _found(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[CacheEntry | None, list[Any], tuple[Any, ...], bool]:
        """The version for arrays and numbers in the structure of the call before; its buffers.

        After them, the places and classes of the numbers, and whether a buffer is on the host. None
        if there is no version, or the call is of another structure.
        """
        signature, owner, on_host = self._cache.latest, self._owner, False
        number_dtypes, narrows = self._cache.number_dtypes, self._cache.rules is RULES_OF_JAX
        leaves: Any = args if signature.plain and not kwargs else signature.leaves(args, kwargs)
        buffers: list[Any] = []
        numbers: tuple[Any, ...] = ()
        for leaf in leaves:
            kind: Any = type(leaf)
            if kind is Tensor and leaf._executor is owner:
                buffers.append(leaf._buffer)
            elif kind is Tensor and leaf._executor is None:
                buffers.append(self._lend(leaf))
                on_host |= type(buffers[-1]) is np.ndarray
            elif kind is np.ndarray and leaf.dtype.isnative:
                buffers.append(narrowed(leaf) if narrows else leaf)
                on_host = True
            elif kind in NUMBERS:
                numbers += (len(buffers), kind)
                buffers.append(np.array(leaf, number_dtypes.get(kind)))
                on_host = True
            elif owner is not None and owner.owns(leaf._buffer if kind is Tensor else leaf):
                buffers.append(leaf._buffer if kind is Tensor else leaf)
            else:
                return None, [], (), False
        entry = signature.sole if numbers == signature.numbers else None
        if entry is None:
            entry = signature.entries.get((*map(KIND, buffers), *numbers))
        if entry is not None:
            buffers += entry.captured
        return entry, buffers, numbers, on_host

    def _slow_path(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls of new signatures, with other static arguments, or with arrays elsewhere."""
        executor = self.executor
        call, leaves, treedef, types = self._split(args, kwargs)
        if types is None:
            for leaf in leaves:
                if isinstance(leaf, TracedTensor):
                    leaf.in_use(repr(self))
            if self._symbolic is not None:
                self._symbolic.check_traced(call)
            return self._inlined(call)
        if (there := self._where_are(leaves)) is not None:
            return there(*args, **kwargs)
        entry = self._entry(call, leaves, treedef, types)
        if entry is None:
            return self._inlined(call)
        static = self._parameters.static
        statics = self._parameters.unchanging(args, kwargs) if static else None
        if statics is not None or not static:
            others = call.args
            is_flat = (
                not call.kwargs and len(others) == len(leaves) and all(map(is_, others, leaves))
            )
            count = len(args) if static else 0
            self._cache.remember(None if is_flat else treedef, types, entry, statics, count)
        buffers = [buffer_of(leaf, executor, self._lend) for leaf in leaves]
        return entry.results(buffers, np.ndarray in map(type, buffers), self._owner)

    def _where_are(self, leaves: list[Any]) -> Jitted[P, R_co] | None:
        """The function where one of the arguments is; None if it runs here."""
        for leaf in leaves:
            tensor = Tensor(leaf) if owner_of(leaf) is not None else leaf
            elsewhere = type(tensor) is Tensor and tensor._executor is not self._owner
            if elsewhere and (there := self.where_is(tensor)):
                return there
        return None

    def where_is(self, tensor: Tensor) -> Jitted[P, R_co] | None:
        """The function on the mesh or device of a tensor.

        None if this one runs there, or if it is said where to run.
        """
        settings, mesh = self._settings, getattr(tensor.sharding, "mesh", None)
        if (self._shardings, settings.device, settings.backend) != (None, None, None):
            return None
        if mesh is None:
            own = str(getattr(self.executor, "placement", None))
            is_fixed = settings.executor is not None or self._mesh is not None
            if is_fixed or tensor.placement in ("host", own):
                return None
        if not isinstance(self.executor, RunsOnMesh):
            return None
        return self._on(None, None, tensor.device) if mesh is None else self._on(mesh, self._mesh)

    def _here(self) -> Jitted[P, R_co]:
        """The function as it runs where a mesh is set; itself where none is."""
        settings, mesh = self._settings, MESH_OF_THREAD.mesh
        if mesh is self._mesh:
            return self
        chosen = settings.mesh
        if self._shardings is None and settings.device is None and settings.backend is None:
            chosen = mesh if isinstance(self.executor, RunsOnMesh) else None
        return self._on(chosen, mesh)

    def _on(self, mesh: object, set_mesh: object, device: str | None = None) -> Jitted[P, R_co]:
        """The function on a mesh or device, for calls where another mesh, or the same, is set."""
        known, place = self._elsewhere, (mesh, set_mesh, device)
        if place not in known:
            settings = replace(self._settings, mesh=mesh, device=device or self._settings.device)
            known[place] = Jitted(self._function, settings, set_mesh)
        return known[place]

    def _inlined(self, call: CallArguments) -> Any:
        """The function within the enclosing trace, which takes over the packages."""
        executor = self.executor
        require_packages(executor.packages if isinstance(executor, TakesPackages) else ())
        require_limit(self.options.memory_limit)
        note_compiled(self)
        with hidden_elements(), using_mesh(mesh_of(executor)):
            if self._shardings is not None:
                return self._shardings.inlined(call)
            return self._cache.inlined(call.function, call.args, call.kwargs, call.static)

    def program(self, *args: Any, **kwargs: Any) -> GraphProgram:
        """The optimized program for these arguments, with the symbols of `symbolic`."""
        return self._here()._program_of(args, kwargs, "program")[0].program

    def _program_of(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], caller: str
    ) -> tuple[TracedFunction, list[Any], Shardings]:
        """The traced function for these arguments, and the inputs of its program and shardings."""
        call, leaves, treedef, types = self._concrete(args, kwargs, caller)
        traced = self._traced(call, leaves, treedef, types, self._symbolic)
        if traced is None:
            raise TracingError(
                f"{self!r}: the function reads values of an enclosing trace; pass them as arguments"
            )
        inputs = [*leaves, *traced.captured]
        return traced, inputs, program_shardings(self._shardings, call, traced.out_tree, inputs)

    def _concrete(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], caller: str
    ) -> tuple[CallArguments, list[Any], TreeDef, list[Hashable]]:
        """As `_split`, for arguments that are not traced."""
        call, leaves, treedef, types = self._split(args, kwargs)
        if types is None:
            raise TracingError(f"{caller}: needs concrete arguments, got traced ones")
        return call, leaves, treedef, types

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[CallArguments, list[Any], TreeDef, list[Hashable] | None]:
        """The call, its leaves and their structure, and the types of the leaves."""
        call = self._parameters.split(args, kwargs, self)
        leaves, treedef = flatten((call.args, call.kwargs), in_any_order=True)
        call, leaves = with_arrays(call, leaves, treedef)
        return call, leaves, treedef, leaf_types(leaves)

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
        if (here := self._here()) is not self:
            return here.memory(*args, **kwargs)
        traced, leaves, shardings = self._program_of(args, kwargs, "memory")
        program = traced.program
        sizes = bind_shapes(program, [getattr(leaf, "shape", ()) for leaf in leaves])
        executor = with_missing_packages(self.executor, traced.packages)
        return memory_of(executor, program.exec_program, sizes, program.options, shardings)

    def tier(self, *args: P.args, **kwargs: P.kwargs) -> str | None:
        """The name of the executor that answers such a call now; None if it is not compiled for it.

        >>> import tenferro as tn
        >>> f = tn.jit(tn.exp, executor="numpy")
        >>> f.tier(1.0), f(1.0).item() > 2, f.tier(1.0)
        (None, True, 'numpy')
        """
        if (here := self._here()) is not self:
            return here.tier(*args, **kwargs)
        call, _, treedef, types = self._concrete(args, kwargs, "tier")
        entry = self._cache.get(
            (treedef, call.static, rules_here.get() or RULES_OF_PROCESS[0], *types)
        )
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
        if (here := self._here()) is not self:
            here.ready(*args, **kwargs)
            return
        call, leaves, treedef, types = self._concrete(args, kwargs, "ready")
        entry = self._entry(call, leaves, treedef, types)
        if entry is not None and isinstance(entry.executable, TieredExecutable):
            buffers = [buffer_of(leaf, self.executor) for leaf in leaves]
            entry.executable.ready([*buffers, *entry.traced.captured])

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """What the executor makes of the program for these arguments: XLA's is a `Lowered`.

        Raises:
            ExecutorError: the executor runs programs as they are.
        """
        if (here := self._here()) is not self:
            return here.lower(*args, **kwargs)
        if (there := self._where_are(flatten((args, kwargs))[0])) is not None:
            return there.lower(*args, **kwargs)
        executor: Any = self.executor
        if not hasattr(executor, "lower"):
            raise ExecutorError(
                f"lower: the executor {executor.name!r} runs programs as they are; see "
                "f.program(...), or choose executor='xla'"
            )
        traced, leaves, shardings = self._program_of(args, kwargs, "lower")
        names = [declared.name for declared in traced.program.inputs]
        specs = dict(zip(names, leaves, strict=False)) if self._symbolic is not None else None
        on_mesh = {} if self._shardings is None else {"shardings": shardings}
        lowered = executor.lower(traced.program, specs, **on_mesh)
        lowered.form = self._form_of(traced, args, kwargs)
        return lowered

    def _form_of(
        self, traced: TracedFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> CallForm:
        """The structures and types of a call."""
        call = self._parameters.split(args, kwargs, self)
        passed, tree = flatten((call.args, call.kwargs))
        types = [TensorSpec.of(leaf_meta(leaf, "argument")) for leaf in passed]
        return CallForm(tree, traced.out_tree, tuple(types), traced.donated)

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> TracedCall:
        """The program for these arguments, with the structure of the result.

        >>> import tenferro as tn
        >>> tn.jit(lambda x: {"y": tn.sin(x)}).trace(1.0).out_info
        {'y': TensorSpec(f64[])}
        """
        traced, _, _ = self._here()._program_of(args, kwargs, "trace")
        return TracedCall(self, traced.program, self._form_of(traced, args, kwargs), args, kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> PyTree:
        """The types of the results for these arguments, as `tn.eval_shape` gives them."""
        call = self._parameters.split(args, kwargs, self)
        return eval_shape(call.function, *call.args, **call.kwargs)

    def stats(self) -> CacheStats:
        """Numbers of cached compiled versions and of their uses."""
        return self._here()._cache.stats()

    def trace_stats(self) -> CacheStats:
        """Numbers of cached traced programs, each for all its sizes, and of their uses."""
        return self._here()._cache.traces.stats()

    def clear(self) -> None:
        """Remove the compiled versions, and the programs."""
        self._cache.clear()
        for function in [*self._elsewhere.values()]:
            function.clear()

    clear_cache = clear

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache of compiled versions."""
        return self._cache.capacity

    @overload
    def __get__(self, instance: None, owner: type) -> Jitted[P, R_co]: ...

    @overload  # of unknown types, such as `functools.partial(tn.jit, ...)` makes for mypy
    def __get__(
        self: Jitted[..., Never], instance: object, owner: type | None = None
    ) -> Callable[..., Any]: ...

    @overload
    def __get__(
        self: Jitted[Concatenate[First, Others], R_co], instance: First, owner: type | None = None
    ) -> Callable[Others, R_co]: ...

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(cast(Any, self), instance)

    def __copy__(self) -> Jitted[P, R_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted[P, R_co]:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        return pickled(self, Jitted, (self._function, self._settings))

    def __repr__(self) -> str:
        return f"jit({getattr(self._function, '__qualname__', self._function)!s})"

    def _entry(
        self, call: CallArguments, leaves: list[Any], treedef: TreeDef, types: list[Hashable]
    ) -> CacheEntry | None:
        """The compiled version; None if the function must be inlined into the enclosing trace."""
        key = (treedef, call.static, rules_here.get() or RULES_OF_PROCESS[0], *types)
        if (entry := self._cache.get(key)) is not None:
            return entry
        symbolic = self._symbolic
        while (traced := self._traced(call, leaves, treedef, types, symbolic)) is not None:
            executor = with_missing_packages(self.executor, traced.packages)
            try:
                executable = self._compiled(executor, traced, call, leaves)
            except ShapeError:
                if symbolic is None or not symbolic.has_empty(call, leaves):
                    raise
                symbolic = None  # what was traced for names does not fit empty arrays
            else:
                return self._cache.put(key, CacheEntry.of(traced, executable))
        return None

    def _compiled(
        self, executor: Executor, traced: TracedFunction, call: CallArguments, leaves: Sequence[Any]
    ) -> Executable:
        """The executable of a traced function for arguments of the types of these leaves."""
        program = traced.program
        shapes = [getattr(leaf, "shape", ()) for leaf in (*leaves, *traced.captured)]
        sizes = bind_shapes(program, shapes)
        arguments = (program.exec_program, traced.donated, sizes, program.options)
        if self._shardings is not None and isinstance(executor, RunsOnMesh):
            names = [declared.name for declared in program.inputs]
            shardings = self._shardings.of(call, names, traced.out_tree)
            return executor.compile_exec(*arguments, shardings)
        compile_now = functools.partial(executor.compile_exec, *arguments)
        first = tiered(executor, traced, sizes, compile_now) if self._settings.tiers else None
        return compile_now() if first is None else first

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
        key = (treedef, call.static, rules_here.get() or RULES_OF_PROCESS[0], *types)
        traced = self._cache.traces.get(key)
        if traced is not None:
            return traced
        require_hashable(treedef)
        executor = self.executor
        with planning_for(executor):
            function, cache = call.function, self._cache
            if cache.has_recorded:
                function = cache.repeating(function, call.static)
            trace, _ = trace_function(function, call.args, call.kwargs, checks_sizes=True)
        if (trace.outer or trace.context.uses_axes) and is_tracing():
            return None
        if trace.outer:
            raise TracingError(
                f"{self!r}: the function reads values of another trace; pass them as arguments, "
                "or return them there"
            )
        context = trace.context
        options = self._options.limited(context.limit)
        outputs, form = with_effects(trace, in_order(treedef))
        program = program_of_graph(outputs, trace.inputs, context.guards.values(), options)
        program = replace(program, form=form)
        captured = [
            place("jit", declared.default, executor)
            for declared in program.inputs[len(trace.inputs) :]
            if declared.default is not None
        ]
        donated = self._parameters.donated_inputs(call)
        traced = TracedFunction(program, tuple(captured), donated, form.out_tree, context.packages)
        return self._cache.traces.put(key, traced)


# jit: compile a function of arrays.


class Decorator(Protocol):
    """`jit` with its options; takes the function."""

    def __call__(self, function: Callable[P, R], /) -> Jitted[P, R]:
        """The compiled function."""


class Jit(Protocol[Options]):
    """The type of `jit`, whose options are those of a class."""

    @overload
    def __call__(
        self, fun: Callable[P, R], *args: Options.args, **options: Options.kwargs
    ) -> Jitted[P, R]: ...

    @overload
    def __call__(
        self, fun: None = None, *args: Options.args, **options: Options.kwargs
    ) -> Decorator: ...


def _with_options(
    kind: Callable[Options, JitOptions],
) -> Callable[[Callable[..., Any]], Jit[Options]]:
    """The function with the signature that `help` and type checkers show."""

    def declared(function: Any) -> Any:
        first, *_ = inspect.signature(function).parameters.values()
        options = inspect.signature(kind).parameters.values()
        function.__signature__ = inspect.Signature([first, *options])
        function.__annotations__ |= kind.__annotations__
        return function

    return declared


@_with_options(JitOptions)
def jit(fun: Callable[P, R] | None = None, **options: Any) -> Jitted[P, R] | Decorator:
    """Compile a function of arrays.

    There is one program for each combination of structure, dtypes, shapes and static arguments.
    With `symbolic` there is one program for all sizes of the named axes. It is traced,
    differentiated and optimized once; the executor compiles it for each combination of sizes.

    Args:
        fun: takes and returns trees of arrays. It is traced once for each combination of
            types; side effects and Python control flow are executed only then.
        executor: `"xla"`, `"numpy"`, or an executor; by default `TENFERRO_EXECUTOR`, else `"xla"`.
        static_argnames: arguments that are Python values, which become part of the program; they
            must be hashable.
        donate_argnums: positions of arguments whose buffers the program may overwrite.
        options: select the compiler passes.
        symbolic: shapes with names, by argument name: `{"x": ("n", 3)}`. All occurrences of a name
            are the same size; sizes may be expressions of names, such as `"2*n"`. For an argument
            that is a tree, pass one shape for all of its arrays, or a tree of shapes that is a
            prefix of its own. None means the size that the array has, and `...` at the end means
            this for all further axes.
        packages: extension families in addition to tenferro's own. They run on an executor like
            `executor` with these packages. Derivative rules come from an `AdContext`: `grad(...,
            ad_context=AdContext(packages=...))`.
        static_argnums: positions of further static arguments.
        donate_argnames: names of further arguments whose buffers the program may overwrite.
        keep_unused: has no effect: programs have all their inputs, whether read or not.
        inline: has no effect: in another trace, functions are always inlined.
        memory_limit: the most bytes that results and intermediate values may take at once, as
            predicted: a number, a text such as `"1.5 GB"`, or `"device"` for what the device has
            free when the program is compiled. Where a program needs more, values are computed again
            in place of being stored; see `memory`. In another trace the smallest limit holds for
            the whole program.
        mesh: the devices to run on, a `tn.sharding.Mesh`, among which XLA divides the work. None is
            that which `tn.set_mesh` sets where the function is called.
        in_shardings: how the positional arguments are divided: a `tn.sharding.NamedSharding` or a
            `PartitionSpec` for all of their arrays, or a tree of these that is a prefix of theirs.
            None takes an array as it is divided, and gives a NumPy array to every device whole.
        out_shardings: how the results are divided; None lets XLA choose.
        slices: the axis of the mesh, or a tuple of axes, whose devices share the slices of sliced
            networks; see `einsum`. None lets every device contract all of them.
        tiers: let NumPy answer calls while the executor compiles in another thread, where that is
            faster. Results of the two agree up to rounding; `f.tier(...)` says which one answers,
            `f.ready(...)` waits for the executor. Without it all results are of the executor.
        device: where to run, in the place of `executor`: a device, or its name.
        backend: a kind of devices, such as `"cpu"`, on whose first one to run.
        compiler_options: options of the compiler of the executor, such as those of XLA.

    Raises:
        TracingError: a parameter that is named does not exist.
        PytreeError: an argument's leaf is not an array.
        ExtensionRegistryError: a package is given twice, or is not one.
        BindingError: sizes differ from those that `symbolic` declares.
        ExecutorError: the executor is not one, or is not installed, or takes no compiler options.
        DeviceError: there is no such device.
        ConfigError: there is no option of that name, two say where to run, `memory_limit` is not a
            number of bytes, or `tiers` neither True nor False.
        MemoryLimitError: when the function is compiled: no way to keep the limit was found.
        ShardingError: a sharding does not fit the mesh, or does not divide its array.

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
    if fun is not None and not callable(fun):
        raise TracingError(f"jit: takes a function, got {class_of(fun)}")
    known = [option.name for option in fields(JitOptions)]
    for name in options:
        if name not in known:
            raise ConfigError(unlisted("jit", name, known))
    chosen = JitOptions(**options)
    if fun is not None:
        return Jitted(fun, chosen)

    def decorator(function: Callable[P, R], /) -> Jitted[P, R]:
        if not callable(function):
            raise TracingError(f"jit: takes a function, got {class_of(function)}")
        return Jitted(function, chosen)

    return cast(Decorator, decorator)
