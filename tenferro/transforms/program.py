"""GraphCompiler, make_program, make_jaxpr, eval_shape: from a graph to a program and results."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    MemoryLimit,
    OptimizerOptions,
    all_guards,
    check_keys,
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
    called_function,
    materialize_merge,
    resolve_keys,
)
from tenferro.errors import BindingError, TracingError, class_of
from tenferro.ir import (
    ArrayLike,
    Guard,
    Leaf,
    PyTree,
    TensorSpec,
    fresh_input,
    integer_of,
    type_of,
)
from tenferro.logs import logger
from tenferro.ops import StdTensorOp, replay, shape_context
from tenferro.ops.control_flow import program_of_ops
from tenferro.ops.extension import ExtensionCaches, Package
from tenferro.ops.functions import OnValues, apply
from tenferro.runtime import (
    Executor,
    GraphProgram,
    ProgramInput,
    Tensor,
    bind_shapes,
    bind_specs,
    current_trace,
    executor_named,
    innermost,
    meta_of_value,
    place,
    require_limit,
    require_packages,
    tensor_owner,
    where_to_run,
    with_missing_packages,
)
from tenferro.transforms.stages import CallForm
from tenferro.transforms.trace import (
    Trace,
    is_traced,
    leaf_meta,
    substitute_keys,
    trace_function,
    traced_values,
)
from tenferro.transforms.traced_tensor import CapturedArray, TracedTensor, as_key
from tenferro.transforms.trees import TreeDef, flatten, longer, merged, unflatten

__all__ = [
    "Evaluation",
    "GraphCompiler",
    "checked_options",
    "compiled_within",
    "eval_shape",
    "make_jaxpr",
    "make_program",
    "program_of_graph",
    "specialise",
    "typeof",
    "with_effects",
    "wraps",
]

_DUMP = logger("dump.materialized")


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
        self.options = checked_options(options)
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
                raise TracingError(f"compile: takes traced tensors, got {class_of(tensor)}")
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
        program = self._cache.get(key)
        if program is None:
            made = program_of_graph(outputs, inputs, guards, self.options, self._families)
            program = self._cache.put(key, made)
        return program


def checked_options(options: OptimizerOptions | None) -> OptimizerOptions:
    """The options; the default ones for None.

    Raises:
        TracingError: they are not options.
    """
    checked: object = options
    if not isinstance(checked, OptimizerOptions | None):
        raise TracingError(
            f"compile: options must be OptimizerOptions, got {type(checked).__name__}"
        )
    return DEFAULT_OPTIONS if options is None else options


def program_of_graph(
    outputs: Sequence[GlobalValKey],
    inputs: Sequence[GlobalValKey],
    guards: Collection[Guard] = (),
    options: OptimizerOptions = DEFAULT_OPTIONS,
    families: Container[str] | None = None,
) -> GraphProgram:
    """The optimized program of graph values; see `GraphCompiler.compile_keys`.

    `inputs` are inputs of the graph.
    """
    declared = cast("Sequence[Input]", inputs)
    view: ResolvedView[StdTensorOp] = resolve_keys()
    if _DUMP.isEnabledFor(logging.DEBUG):
        _DUMP.debug("%s", materialize_merge(view, outputs, declared))
    ops, met = view.topo_order(outputs)
    keys = list(dict.fromkeys([*declared, *met]))
    typed = program_of_ops(ops, keys, outputs, families)
    program = without_rules(typed)
    with_rules = None if program is typed else typed
    if config.check_keys:
        check_keys(program)
    assumed = all_guards(program, guards)
    program = optimize(program, options)
    every = program.ops()
    symbols: set[Leaf] | None = None
    for op in dict(zip(map(id, every), every, strict=True)).values():
        mentioned = op.symbols()
        if mentioned and symbols is None:
            symbols = program.symbols()
        if symbols is not None and (unknown := mentioned - symbols):
            raise BindingError(
                f"compile: {op} needs the size {min(map(str, unknown))}, which no input "
                "has; declare the input that defines it with compile(..., inputs=[...])"
            )
    return GraphProgram(program, _declared(keys), assumed, options, with_rules=with_rules)


def _declared(inputs: Sequence[Input]) -> tuple[ProgramInput, ...]:
    """The inputs of a program, with distinct names.

    Captured arrays are numbered as they come in this program, and names that occur twice are.
    """
    captured = itertools.count()
    declared: dict[str, ProgramInput] = {}
    for key in inputs:
        source, default = key.key, None
        name = base = str(source)
        if isinstance(source, CapturedArray):
            default = source.tensor
            name = base = f"{source}{next(captured)}"
        number = 0
        while name in declared:
            number += 1
            name = f"{base}_{number}"
        declared[name] = ProgramInput(name, type_of(key), key, default)
    return tuple(declared.values())


def specialise(program: GraphProgram, specs: Mapping[TracedTensor, TensorSpec]) -> GraphProgram:
    """The program, specialised to concrete input types."""
    sizes = bind_specs(program, specs)
    inputs = tuple(
        ProgramInput(declared.name, declared.meta.bind(sizes), declared.key, declared.default)
        for declared in program.inputs
    )
    bound = program.exec_program.bind(sizes)
    with_rules = program.with_rules and program.with_rules.bind(sizes)
    options, form = program.options, program.form
    return GraphProgram(bound, inputs, (), options, with_rules=with_rules, form=form)


def _as_input(tensor: TracedTensor) -> Input:
    if not isinstance(tensor.key, Input):
        raise BindingError(
            f"compile: {tensor.name}: {tensor.meta} is computed, and cannot be an input"
        )
    return tensor.key


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

    def where_is(self, tensor: Tensor) -> CompiledFunction | None:
        """The function on the mesh or device of a tensor; None if this one runs there."""


def wraps(function: Callable[..., Any], transformed: Callable[P, R]) -> Callable[P, R]:
    """`transformed` with the name, module, docstring and signature of `function`.

    Other attributes are not copied: they may be private state of the function.

    Raises:
        TracingError: `function` cannot be called.
    """
    if not callable(function):
        raise TracingError(
            f"{called_function('trace')}: takes a function of arrays, got {class_of(function)}"
        )
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

_TYPES = shape_context()


@dataclass(slots=True)
class Evaluation:
    """Converts graph values into results.

    They are computed, or, in an outer trace, returned as values of that trace. If an eager runtime
    tracks one of the actual values, it computes and records them.

    Attributes:
        inputs: the values of the graph that the results depend on.
        actual: an array for each.
        traced: whether the results are values of an outer trace; they are if one of `actual` is.
        function: the function that a user transformed, on whose executor they are computed.
        packages: the packages of extension families that the executor must have.
        limit: the memory limit that the program must keep.
        effects: values that are computed too, for the effects of their ops.
    """

    inputs: Sequence[GlobalValKey]
    actual: Sequence[Any]
    traced: bool
    function: Any = None
    packages: Sequence[Package] = ()
    limit: MemoryLimit | None = None
    effects: Sequence[GlobalValKey] = ()

    def __post_init__(self) -> None:
        require_packages(self.packages)
        require_limit(self.limit)
        self.traced = self.traced or is_traced(self.actual)

    def seeds(self, leaves: Sequence[Any], names: str) -> tuple[list[GlobalValKey], Evaluation]:
        """Graph values for further arguments, and the `Evaluation` that bind them.

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

    def within(self) -> Evaluation:
        """The same inputs, with results that are values of the enclosing trace."""
        return replace(self, traced=True)

    def extended(self, inputs: Sequence[GlobalValKey], actual: Sequence[Any]) -> Evaluation:
        """The same conversion for other inputs."""
        return replace(self, inputs=inputs, actual=actual, effects=())

    def of(self, outputs: Sequence[GlobalValKey]) -> list[Any]:
        """The results for `outputs`."""
        if self.effects:
            return self._with_effects(outputs)
        if self.traced:
            replacement: dict[GlobalValKey, GlobalValKey] = {
                key: as_key(leaf)
                for key, leaf in zip(self.inputs, self.actual, strict=True)
                if isinstance(key, Input)  # an `Argument` stands for its leaf already
            }
            replaced = substitute_keys(outputs, replacement, _TYPES) if replacement else outputs
            own = [leaf.scope for leaf in self.actual if isinstance(leaf, TracedTensor)]
            return traced_values(replaced, innermost(own))
        if any(isinstance(leaf, Tensor) and leaf.tracked for leaf in self.actual):
            return self._recorded(outputs)
        return self._run(outputs)

    def _with_effects(self, outputs: Sequence[GlobalValKey]) -> list[Any]:
        """The results; the effects are computed, or belong to the outer trace."""
        values = replace(self, effects=()).of([*outputs, *self.effects])
        around = current_trace()
        if self.traced and around is not None:
            around.effects += [value.key for value in values[len(outputs) :]]
        return values[: len(outputs)]

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
        compiled = compiled_within(self.function)
        tensors = [Tensor(leaf) for leaf in self.actual]
        inputs = [key for key in self.inputs if isinstance(key, Input)]
        options = DEFAULT_OPTIONS if compiled is None else compiled.options
        program = program_of_graph(outputs, inputs, options=options.limited(self.limit))
        captured: list[Tensor] = []
        for declared in program.inputs[len(tensors) :]:
            if declared.default is None:
                raise TracingError(
                    f"call: the result reads {declared.name}: {declared.meta}, which is a value of "
                    "another trace; a derivative rule may use the values of its site only"
                )
            captured.append(declared.default)
        operands = [*tensors, *captured]
        if compiled is None:
            executor = where_to_run("call", operands)
        else:
            places = (compiled.where_is(operand) for operand in operands)
            executor = next((each for each in places if each is not None), compiled).executor
        runs_on = executor_named("numpy") if executor is None else executor
        runs_on = with_missing_packages(runs_on, self.packages)
        sizes = None
        if any(declared.meta.static_shape is None for declared in program.inputs):
            sizes = bind_shapes(program, [tensor.shape for tensor in operands])
        execute = runs_on.compile_exec(program.exec_program, sizes=sizes, options=program.options)
        results = execute(*[place(runs_on.name, tensor, runs_on) for tensor in operands])
        owner = tensor_owner(runs_on)
        return [Tensor.wrap(buffer, owner) for buffer in results]


# make_program: a Python function as a GraphProgram.


def make_program(
    function: Callable[..., object], *specs: PyTree, options: OptimizerOptions | None = None
) -> GraphProgram:
    """The program of `function` for arguments of the types of `specs`.

    Args:
        function: any function of trees of arrays. The leaves of its arguments and of its result are
            the inputs and the outputs of the program, which is called as the function is.
        specs: one for each argument: an array, a `TensorSpec`, whose extents may be names, or a
            tree of these.
        options: select the passes.

    Raises:
        PytreeError: a leaf of the specs or of the result is not an array.
        TracingError: a spec is a shape; or the function reads values of an enclosing trace.

    >>> import tenferro as tn
    >>> print(make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64")))
    # inputs: %0 = x
    exec_program(%0: f64[n]) {
      %1: f64[n] = multiply %0, %0!
      %2: f64[] = reduce_sum[axes=(0,)] %1!
      return %2
    }
    """
    for spec in specs:
        if isinstance(spec, tuple | list) and spec and all(type(size) is int for size in spec):
            raise TracingError(
                f"make_program: {spec} is a shape, or {len(spec)} scalars; write "
                f"TensorSpec({spec}) for an array of this shape"
            )
    trace, _ = trace_function(function, specs, {}, nested=False, checks_sizes=True)
    if trace.outer:
        raise _reads_outside("make_program")
    limited = checked_options(options).limited(trace.context.limit)
    outputs, form = with_effects(trace, flatten((specs, {}))[1])
    program = program_of_graph(outputs, trace.inputs, trace.context.guards.values(), limited)
    return replace(program, packages=tuple(trace.context.packages), form=form)


def with_effects(trace: Trace, in_tree: TreeDef) -> tuple[list[GlobalValKey], CallForm]:
    """The outputs of the program of a traced function, and the trees that it takes and gives.

    The values that are computed for their effects are outputs, but not results.
    """
    if not trace.bare:
        return trace.outputs, CallForm(in_tree, trace.tree)
    tree = longer(trace.tree, len(trace.effects))
    return [*trace.outputs, *trace.effects], CallForm(in_tree, tree)


def _reads_outside(caller: str) -> TracingError:
    return TracingError(
        f"{caller}: the function reads values of another trace; pass them as arguments, or return "
        "them there"
    )


# eval_shape: the types of the results of a function, which is not run.


def eval_shape(fun: Callable[..., object], *args: PyTree, **kwargs: PyTree) -> PyTree:
    """The types of the results of `fun`, as a tree of `TensorSpec`. Nothing is computed.

    Args:
        fun: any function of arrays.
        args, kwargs: its arguments: arrays, `TensorSpec`s, whose extents may be names, or trees of
            these.

    Raises:
        PytreeError: a leaf of the arguments or of the result is not an array.

    >>> import tenferro as tn
    >>> eval_shape(tn.matmul, tn.TensorSpec(("n", 3), "float32"), tn.TensorSpec((3, 2), "float32"))
    TensorSpec(f32[n,2])
    """
    leaves, tree = flatten((args, kwargs))
    typed, named = unflatten(tree, map(_as_spec, leaves))
    trace, _ = trace_function(fun, typed, named, nested=False)
    return unflatten(trace.tree, [TensorSpec.of(type_of(key)) for key in trace.outputs])


def _as_spec(leaf: Any) -> Any:
    """The type of an object that is no array, but says of which shape and dtype it is."""
    if meta_of_value(leaf) is not None or not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        return leaf
    return TensorSpec(leaf.shape, leaf.dtype)


def typeof(x: ArrayLike) -> TensorSpec:
    """The type of an array or a number.

    Raises:
        PytreeError: it is neither.

    >>> import tenferro as tn
    >>> typeof(tn.zeros((2, 3)))
    TensorSpec(f64[2,3])
    """
    return TensorSpec.of(leaf_meta(x, "typeof: x"))


# make_jaxpr: programs, for those who know the name.


def make_jaxpr(
    fun: Callable[..., object],
    static_argnums: int | Iterable[int] = (),
    axis_env: None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that returns the program of `fun` for its arguments, which prints as ops.

    The program is a `GraphProgram`, as of `make_program`, and no jaxpr: it is optimized, can be
    called and saved, and has none of the attributes of a jaxpr.

    Args:
        fun: takes and returns trees of arrays.
        static_argnums: positions of arguments that are Python values.
        axis_env: must be None; axes get names by `vmap` and `shard_map`.
        return_shape: whether to return the types of the result too, as `eval_shape` does.

    Raises:
        TracingError: `fun` is not a function, a position is not an integer, or `axis_env` is not
            None; or `fun` reads values of an enclosing trace.
        PytreeError: an argument that is not static, or a result, is not an array.

    >>> import tenferro as tn
    >>> print(make_jaxpr(lambda x, y: tn.sin(x) * y)(1.0, 2.0))
    # inputs: %0 = x, %1 = y
    exec_program(%0: f64[], %1: f64[]) {
      %2: f64[] = sine %0!
      %3: f64[] = multiply %1!, %2!
      return %3
    }
    """
    if not callable(fun):
        raise TracingError(f"make_jaxpr: takes a function, got {class_of(fun)}")
    if axis_env is not None:
        raise TracingError("make_jaxpr: axis_env must be None; use vmap(axis_name=) or shard_map")
    numbers = list(static_argnums) if isinstance(static_argnums, Iterable) else [static_argnums]
    if any(integer_of(number) is None for number in numbers):
        raise TracingError(f"make_jaxpr: static_argnums must be integers, got {static_argnums!r}")

    def of_arguments(*args: PyTree, **kwargs: PyTree) -> Any:
        fixed = {int(number) % max(len(args), 1): None for number in numbers}
        fixed = {place: args[place] for place in fixed if place < len(args)}
        others = [arg for place, arg in enumerate(args) if place not in fixed]

        def called(*moving: PyTree, **named: PyTree) -> object:
            return fun(*merged(fixed, moving), **named)

        if not fixed:
            called = cast(Any, fun)
        leaves, tree = flatten((tuple(others), kwargs))
        typed, named = unflatten(tree, map(_as_spec, leaves))
        trace, _ = trace_function(called, typed, named, nested=False, checks_sizes=True)
        if trace.outer:
            raise _reads_outside("make_jaxpr")
        options = DEFAULT_OPTIONS.limited(trace.context.limit)
        outputs, form = with_effects(trace, tree)
        program = program_of_graph(outputs, trace.inputs, trace.context.guards.values(), options)
        program = replace(program, packages=tuple(trace.context.packages), form=form)
        types = [TensorSpec.of(type_of(key)) for key in trace.outputs]
        return (program, unflatten(trace.tree, types)) if return_shape else program

    return wraps(fun, of_arguments)
