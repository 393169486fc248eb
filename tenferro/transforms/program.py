"""GraphCompiler: from a graph to a program and its results."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

from tenferro.compiler import (
    MemoryLimit,
    OptimizerOptions,
    all_guards,
    check_keys,
    compile_std_to_exec,
    optimize,
    without_rules,
)
from tenferro.config import config
from tenferro.core import (
    BoundedCache,
    CacheOwner,
    Capacity,
    Emitter,
    GlobalValKey,
    Input,
    ResolvedView,
    compile_graph,
    materialize_merge,
    resolve_keys,
)
from tenferro.errors import BindingError, TracingError
from tenferro.ir import ExecProgram, Guard, TensorSpec, fresh_input, type_of
from tenferro.ops import StdTensorOp, replay, shape_context
from tenferro.ops.extension import ExtensionCaches, Package
from tenferro.ops.functions import OnValues, apply
from tenferro.runtime import (
    Executor,
    GraphProgram,
    ProgramInput,
    Tensor,
    bind_specs,
    bring_limit,
    bring_packages,
    executor_named,
    place,
    tensor_owner,
    where_to_run,
    with_brought,
)
from tenferro.transforms.trace import is_traced, leaf_meta, substitute
from tenferro.transforms.trace_context import innermost
from tenferro.transforms.traced_tensor import CapturedArray, TracedTensor, as_key

__all__ = ["GraphCompiler", "Results", "compiled_within", "specialise", "wraps"]


# GraphCompiler: from traced tensors to a GraphProgram.

_CacheKey = tuple[tuple[GlobalValKey, ...], tuple[GlobalValKey, ...], tuple[Guard, ...]]


class GraphCompiler(CacheOwner):
    """Compiles traced tensors into programs, which it caches by structure.

    Args:
        options: select the passes; part of every cache key.
        capacity: bound of the cache, in programs.
        families: the extension families that programs may use; ops of others raise when a program
            is compiled. None means that the executor checks it.

    >>> x = TracedTensor.input((2,), "float64", name="x")
    >>> print(GraphCompiler().compile([-(-x) * 1 + x]))
    # inputs: %0 = x
    exec_program(%0: f64[2]) {
      %1: f64[2] = add %0, %0!
      return %1
    }
    """

    def __init__(
        self,
        options: OptimizerOptions | None = None,
        capacity: int = config.cache_entries,
        families: Container[str] | None = None,
    ) -> None:
        if not isinstance(options, OptimizerOptions | None):
            raise TracingError(
                f"compile: options must be OptimizerOptions, got {type(options).__name__}"
            )
        self.options = OptimizerOptions() if options is None else options
        self.extension_caches = ExtensionCaches()
        self._families = families
        self._cache: BoundedCache[_CacheKey, GraphProgram] = BoundedCache(Capacity(capacity))

    def compile(
        self,
        outputs: Sequence[TracedTensor],
        *,
        inputs: Sequence[TracedTensor] = (),
        input_specs: Mapping[TracedTensor, TensorSpec] | None = None,
    ) -> GraphProgram:
        """The optimized program of `outputs`.

        Args:
            outputs: the outputs of the program.
            inputs: inputs to declare first, in this order, even if the outputs do not depend on
                them.
            input_specs: concrete types for inputs with symbolic extents; the program is specialised
                to them.

        Raises:
            TracingError: `outputs` or `inputs` is not a list of traced tensors.
            BindingError: an extent mentions a symbol that no input of the program defines.
        """
        for listed in (outputs, inputs):
            if isinstance(listed, TracedTensor):
                raise TracingError(
                    "compile: takes a list of traced tensors, got a single one; write [x]"
                )
        for tensor in (*outputs, *inputs):
            if not isinstance(tensor, TracedTensor):
                raise TracingError(f"compile: takes traced tensors, got a {type(tensor).__name__}")
            tensor.in_use("compile")
        declared = [_as_input(tensor) for tensor in inputs]
        program = self.compile_keys([output.key for output in outputs], declared)
        return program if input_specs is None else specialise(program, input_specs)

    def compile_keys(
        self,
        outputs: Sequence[GlobalValKey],
        inputs: Sequence[Input] = (),
        guards: tuple[Guard, ...] = (),
    ) -> GraphProgram:
        """Like `compile`, for graph keys; used by front ends.

        `guards` are assumptions that were made while tracing, for the program to check.
        """
        key = (tuple(outputs), tuple(inputs), guards)
        return self._cache.get_or_make(key, lambda: self._compile(outputs, inputs, guards))

    def _compile(
        self, outputs: Sequence[GlobalValKey], inputs: Sequence[Input], guards: tuple[Guard, ...]
    ) -> GraphProgram:
        graph = materialize_merge(resolve_keys(), outputs, inputs)
        if "materialized" in config.dump:
            sys.stderr.write(f"{graph}\n")
        metas = [type_of(key) for key in graph.inputs]
        typed = compile_std_to_exec(compile_graph(graph), metas, self._families, keep_rules=True)
        lowered = without_rules(typed)
        if config.check_keys:
            check_keys(lowered)
        assumed = all_guards(lowered, guards)
        exec_program = optimize(lowered, self.options)
        _check_symbols(exec_program)
        names = _names(graph.inputs)
        declared = [
            ProgramInput(
                name, meta, key, key.key.tensor if isinstance(key.key, CapturedArray) else None
            )
            for name, meta, key in zip(names, metas, graph.inputs, strict=True)
        ]
        with_rules = None if lowered is typed else typed
        return GraphProgram(
            exec_program, tuple(declared), assumed, self.options, with_rules=with_rules
        )

    def limited(self, limit: MemoryLimit | None) -> GraphCompiler:
        """The compiler of programs that keep a memory limit; itself if there is none."""
        if limit is None:
            return self
        return GraphCompiler(self.options.limited(limit), capacity=0, families=self._families)


def specialise(program: GraphProgram, specs: Mapping[TracedTensor, TensorSpec]) -> GraphProgram:
    """The program, specialised to concrete input types."""
    sizes = bind_specs(program, specs)
    inputs = tuple(
        ProgramInput(declared.name, declared.meta.bind(sizes), declared.key, declared.default)
        for declared in program.inputs
    )
    bound = program.exec_program.bind(sizes)
    with_rules = program.with_rules and program.with_rules.bind(sizes)
    return GraphProgram(bound, inputs, (), program.options, with_rules=with_rules)


def _as_input(tensor: TracedTensor) -> Input:
    if not isinstance(tensor.key, Input):
        raise BindingError(
            f"compile: {tensor.name}: {tensor.meta} is computed, and cannot be an input"
        )
    return tensor.key


def _check_symbols(program: ExecProgram) -> None:
    """Raise BindingError if the inputs do not define the size of every symbol."""
    symbols = program.symbols()
    for op in {id(op): op for op in program.ops()}.values():
        unknown = sorted(str(leaf) for leaf in op.symbols() - symbols)
        if unknown:
            raise BindingError(
                f"compile: {op} needs the size {unknown[0]}, which no input has; "
                "declare the input that defines it with compile(..., inputs=[...])"
            )


def _names(inputs: Sequence[Input]) -> list[str]:
    """The names of inputs; captured arrays are numbered as they come in this program."""
    numbers = itertools.count()
    return _distinct(
        [
            f"{key.key}{next(numbers)}" if isinstance(key.key, CapturedArray) else str(key.key)
            for key in inputs
        ]
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with numbers appended to names that occur twice."""
    used: set[str] = set()
    result: list[str] = []
    for name in names:
        unique, number = name, 0
        while unique in used:
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        result.append(unique)
    return result


# Transformed functions: their name and signature, and the executor on which they run.

P = ParamSpec("P")
R = TypeVar("R")


class CompiledFunction(Protocol):
    """A compiled function with its executor, such as `jit` returns."""

    @property
    def executor(self) -> Executor:
        """The executor that runs it."""

    @property
    def options(self) -> OptimizerOptions:
        """The compiler passes that run."""


def wraps(function: Callable[..., Any], transformed: Callable[P, R]) -> Callable[P, R]:
    """`transformed` with the name, module, docstring and signature of `function`.

    Other attributes are not copied: they may be private state of the function.

    Raises:
        TracingError: `function` cannot be called.
    """
    if not callable(function):
        raise TracingError(f"trace: takes a function of arrays, got a {type(function).__name__}")
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        value = getattr(function, attribute, None)
        if value is not None:
            setattr(transformed, attribute, value)
    transformed.__wrapped__ = function  # type: ignore[attr-defined]  # read by inspect
    transformed.__transforms__ = function  # type: ignore[attr-defined]
    return transformed


def compiled_within(function: Any) -> CompiledFunction | None:
    """The compiled function inside transforms of it, or the function itself; None if there is none.

    A transform of a compiled function runs on the executor of that function. Decorators other than
    tenferro's transforms are not unwrapped.
    """
    while function is not None:
        if hasattr(type(function), "executor") and hasattr(type(function), "options"):
            compiled: CompiledFunction = function
            return compiled
        function = getattr(function, "__transforms__", None)
    return None


# Converting graph values into the results of a transform.

_COMPILER = GraphCompiler(capacity=0)
"""The compiler of transforms that run immediately. It has no cache: each call makes a new trace."""

_TYPES = shape_context()


class Results:
    """Converts graph values into results.

    They are computed, or, in an outer trace, returned as values of that trace. If an eager runtime
    tracks one of the actual values, it computes and records them.
    """

    def __init__(
        self,
        inputs: Sequence[GlobalValKey],
        actual: Sequence[Any],
        outer: bool,
        function: Any = None,
        packages: Sequence[Package] = (),
        limit: MemoryLimit | None = None,
    ) -> None:
        bring_packages(packages)
        bring_limit(limit)
        self._packages = packages
        self._limit = limit
        self.inputs = inputs
        self.actual = actual
        self.traced = outer or is_traced(actual)
        self._function = function

    def seeds(self, leaves: Sequence[Any], names: str) -> tuple[list[GlobalValKey], Results]:
        """Graph values for further arguments, and the `Results` that bind them.

        In an outer trace they are the graph values of the arguments, so that constants simplify.
        Otherwise they are new inputs.
        """
        if self.traced or is_traced(leaves):
            keys = [as_key(leaf) for leaf in leaves]
            return keys, self.within()
        fresh = [
            fresh_input(leaf_meta(leaf, names), f"{names}{i}") for i, leaf in enumerate(leaves)
        ]
        return list(fresh), self.extended([*self.inputs, *fresh], [*self.actual, *leaves])

    def within(self) -> Results:
        """The same inputs, with results that are values of the enclosing trace."""
        return Results(self.inputs, self.actual, True, self._function, self._packages, self._limit)

    def extended(self, inputs: Sequence[GlobalValKey], actual: Sequence[Any]) -> Results:
        """The same conversion for other inputs."""
        return Results(inputs, actual, self.traced, self._function, self._packages, self._limit)

    def of(self, outputs: Sequence[GlobalValKey]) -> list[Any]:
        """The results for `outputs`."""
        if self.traced:
            replacement: dict[GlobalValKey, GlobalValKey] = {
                key: as_key(leaf)
                for key, leaf in zip(self.inputs, self.actual, strict=True)
                if isinstance(key, Input)  # an `Argument` stands for its leaf already
            }
            replaced = substitute(outputs, replacement, _TYPES) if replacement else outputs
            scopes = [leaf.scope for leaf in self.actual if isinstance(leaf, TracedTensor)]
            scope = innermost(scopes)
            return [TracedTensor(key, None, scope) for key in replaced if key is not None]
        if any(isinstance(leaf, Tensor) and leaf.tracked for leaf in self.actual):
            return self._recorded(outputs)
        return self._run(outputs)

    def _recorded(self, outputs: Sequence[GlobalValKey]) -> list[Any]:
        """The results as tensors of the runtime that tracks an actual value, op by op."""
        view: ResolvedView[StdTensorOp] = resolve_keys()
        _, met = view.topo_order(outputs, leaves=self.inputs)
        captured = {key: key.key.tensor for key in met if isinstance(key.key, CapturedArray)}
        actual = [leaf if isinstance(leaf, Tensor) else Tensor(leaf) for leaf in self.actual]

        def call(at: Emitter[Any], *values: Any) -> tuple[Any, ...]:
            return tuple(replay(at, outputs, dict(zip(keys, values, strict=True))))

        keys = [*self.inputs, *captured]
        values = [*actual, *captured.values()]
        results: Any = apply(OnValues(call), *values)
        return list(results)

    def _run(self, outputs: Sequence[GlobalValKey]) -> list[Tensor]:
        compiled = compiled_within(self._function)
        tensors = [Tensor(leaf) for leaf in self.actual]
        inputs = [key for key in self.inputs if isinstance(key, Input)]
        compiler = _COMPILER if compiled is None else GraphCompiler(compiled.options, capacity=0)
        program = compiler.limited(self._limit).compile_keys(outputs, inputs)
        captured: list[Tensor] = []
        for declared in program.inputs[len(tensors) :]:
            if declared.default is None:
                raise TracingError(
                    f"call: the result reads {declared.name}: {declared.meta}, which is a value of "
                    "another trace; a derivative rule may use the values of its site only"
                )
            captured.append(declared.default)
        operands = [*tensors, *captured]
        executor = where_to_run("call", operands) if compiled is None else compiled.executor
        runs_on = executor_named("numpy") if executor is None else executor
        runs_on = with_brought(runs_on, self._packages)
        execute = runs_on.compile_exec(program.exec_program, options=program.options)
        results = execute(*[place(runs_on.name, tensor, runs_on) for tensor in operands])
        owner = tensor_owner(runs_on)
        return [Tensor.wrap(buffer, owner) for buffer in results]
