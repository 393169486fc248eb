"""`GraphProgram`: a compiled function that one calls by name or position."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, cast

from tenferro.compiler import DEFAULT_OPTIONS, MemoryReport, OptimizerOptions
from tenferro.config import config
from tenferro.core import BoundedCache, Capacity, Emitter, GlobalValKey, V
from tenferro.errors import BindingError, DTypeError, TenferroError, class_of, counted
from tenferro.ir import (
    Dim,
    DimExpr,
    Exact,
    ExecProgram,
    Guard,
    Leaf,
    TensorMeta,
    bind,
    bring_guards,
    leaves,
    run,
    symbol,
)
from tenferro.ops.extension import Package
from tenferro.ops.functions import OnValues, apply_method
from tenferro.runtime.executors import (
    Buffer,
    Executable,
    Executor,
    executor_named,
    memory_of,
    with_missing_packages,
)
from tenferro.runtime.tensor import RunEmitter, Tensor, fitted, meta_of_value, page_of
from tenferro.runtime.trace_context import require_limit, require_packages

__all__ = [
    "BoundInputs",
    "Form",
    "GraphProgram",
    "ProgramInput",
    "Solved",
    "bind_inputs",
    "bind_shapes",
    "bind_specs",
    "check_program",
    "learn_sizes",
    "lone_symbol",
    "solve_sizes",
]


# Sizes of symbols, solved from the shapes of the inputs that mention them.

Shape = Sequence[Dim]
Solved = dict[Leaf, Dim]


class Declared(Protocol):
    """An input with a name and a type."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def meta(self) -> TensorMeta:
        """Its type."""


def solve_sizes(caller: str, inputs: Sequence[Declared], shapes: Sequence[Shape]) -> Solved:
    """The sizes of all symbols in the types of inputs that have these shapes.

    A shape may mention symbols of an enclosing trace. Errors name `caller`, the called function.

    Raises:
        BindingError: a shape differs from the declared one, one symbol would have two sizes, or the
            size of a symbol cannot be inferred.
    """
    sizes: Solved = {}
    for declared, shape in zip(inputs, shapes, strict=True):
        learn_sizes(caller, declared, shape, sizes)
    for declared, shape in zip(inputs, shapes, strict=True):
        if declared.meta.static_shape is not None:
            continue
        unknown = sorted(str(leaf) for leaf in declared.meta.symbols() - sizes.keys())
        if unknown:
            raise BindingError(
                f"{caller}: input {declared.name!r} is {declared.meta}, and no input has the "
                f"extent {unknown[0]} alone, which would give its size"
            )
        learn_sizes(caller, declared, shape, sizes)
    return sizes


def learn_sizes(caller: str, declared: Declared, shape: Shape, sizes: Solved) -> None:
    """Add the sizes that follow from the shape of one input to `sizes`, and check it against them.

    Raises:
        BindingError: the shape differs from the declared one, or one symbol would have two sizes.
    """
    meta = declared.meta
    if shape == meta.static_shape:
        return
    if len(shape) != meta.rank:
        raise BindingError(
            f"{caller}: input {declared.name!r} is {meta}, but its shape is {tuple(shape)}"
        )
    for axis, (extent, size) in enumerate(zip(meta.extents, shape, strict=True)):
        if not isinstance(extent, Exact):
            continue
        leaf = lone_symbol(extent.dim)
        if leaf is not None:
            sizes.setdefault(leaf, size)
        expected = bind(extent.dim, sizes)
        known = isinstance(expected, int) or leaves(extent.dim) <= sizes.keys()
        if known and expected != size:
            derived = f" ({extent.dim} is {expected})" if isinstance(extent.dim, DimExpr) else ""
            raise BindingError(
                f"{caller}: axis {axis} of input {declared.name!r} is declared "
                f"{extent.dim}{derived}, but the value has size {size}"
            )


def lone_symbol(size: Dim) -> Leaf | None:
    """The symbol, if the size is a single symbol and not a number or an expression."""
    mentioned = leaves(size)
    if len(mentioned) != 1:
        return None
    (leaf,) = mentioned
    return leaf if symbol(leaf) == size else None


# GraphProgram: an execution program with names for its inputs, which can be called.


class Form(Protocol):
    """What a program knows of the trees that the function took and gave of which it was made."""

    @property
    def in_tree(self) -> Any:
        """The structure of the arguments, and of those by name."""

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""

    @property
    def types(self) -> Sequence[Any] | None:
        """The types of the arguments, where a compiled function was lowered for them."""

    @property
    def donated(self) -> tuple[int, ...]:
        """The positions of the arguments whose memory is passed on."""

    @property
    def is_flat(self) -> bool:
        """Whether inputs and outputs one by one have this form anyway."""

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The arrays of arguments, as the first inputs; None if they have another structure."""

    def mismatch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TenferroError:
        """The error that says which structure arguments have, and which they should have."""

    def result(self, outputs: Sequence[Any]) -> Any:
        """The tree of results."""


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """One input: its name, type, graph key, and its value if nothing is bound to it."""

    name: str
    meta: TensorMeta
    key: GlobalValKey
    default: Tensor | None = None


@dataclass(frozen=True, eq=False, repr=False)
class GraphProgram:
    """What `GraphCompiler.compile` returns: a canonical program, ready for any executor.

    It can be called as a function of its inputs. Called on arrays, it computes on their device.
    Called in a trace, it records its ops, so that it can be differentiated and compiled.

    Attributes:
        exec_program: the instructions.
        inputs: the inputs, in the order of `exec_program.input_slots`.
        guards: equalities of sizes that the program assumes; checked when the sizes are known.
        options: the passes that executors run on it.
        packages: extension families that whoever calls the program gives its executor.
        with_rules: the program before passes, if it has derivatives by hand. It is recorded in a
            trace; files do not hold it.
        form: the structures of the arguments and the result of the function of which it was made.

    >>> import tenferro as tn
    >>> program = tn.make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64"))
    >>> program([1.0, 2.0, 3.0])
    Tensor(14.)
    >>> tn.grad(program)(tn.array([1.0, 2.0]))
    Tensor([2., 4.])
    >>> program = tn.make_program(lambda p: {"y": p["a"] * p["b"]}, {"a": 1.0, "b": 2.0})
    >>> program({"a": 3.0, "b": 5.0}), program(3.0, 5.0)
    ({'y': Tensor(15.)}, Tensor(15.))
    """

    exec_program: ExecProgram
    inputs: tuple[ProgramInput, ...]
    guards: tuple[Guard, ...] = ()
    options: OptimizerOptions = DEFAULT_OPTIONS
    packages: tuple[Package, ...] = ()
    with_rules: ExecProgram | None = None
    form: Form | None = None
    _index: dict[object, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        index: dict[object, int] = {}
        for position, declared in enumerate(self.inputs):
            if declared.name in index:
                raise BindingError(
                    f"program: two inputs are named {declared.name!r}; give them different names"
                )
            index[declared.name] = position
            index[declared.key] = position
        object.__setattr__(self, "_index", index)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the program's structure and of what it assumes of sizes, in hex."""
        if not self.guards:
            return self.exec_program.digest
        sides = sorted(guard.sides for guard in self.guards)
        return hashlib.sha256(repr((self.exec_program.digest, sides)).encode()).hexdigest()

    @cached_property
    def identity(self) -> str:
        """The digest and the classes of extension ops: the key of caches of this process."""
        return self.exec_program.identity

    def position(self, binding: object) -> int | None:
        """Position of the input with this name, traced tensor or key.

        None if there is no such input.
        """
        is_key = isinstance(binding, str | GlobalValKey)
        return self._index.get(binding if is_key else getattr(binding, "key", None))

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The result of the function of which the program was made, for arguments like its own.

        For inputs one by one it is the output of the program, or a tuple of several outputs.

        Args:
            args: the arguments; or the inputs in order. Inputs with a default value come last and
                may be omitted.
            named: further arguments or inputs, by name.

        Raises:
            BindingError: an input is missing, passed twice, unknown, or of another type.
            PytreeError: the arguments are neither like those of the function nor inputs.
            GuardViolationError: an assumption of the program does not hold for these sizes.
        """
        form = self.form
        leaves = None if form is None or form.is_flat else form.leaves(args, named)
        if form is None or leaves is None:
            try:
                return self._on_inputs(self._arranged(args, named))
            except (BindingError, DTypeError):
                values = (*args, *named.values())
                if form is None or form.is_flat or all(map(meta_of_value, values)):
                    raise
                raise form.mismatch(args, named) from None
        captured = [declared.default for declared in self.inputs[len(leaves) :]]
        results = self._on_inputs([*leaves, *captured])
        return form.result((results,) if len(self.exec_program.output_slots) == 1 else results)

    def _on_inputs(self, values: Sequence[Any]) -> Any:
        """The output for a value of each input, or a tuple of several outputs."""
        operands = [
            self._operand(declared, value)
            for declared, value in zip(self.inputs, values, strict=True)
        ]
        return apply_method(OnValues(self.call), *operands)

    def call(self, at: Emitter[V], *values: V) -> V | tuple[V, ...]:
        """The program as an array function: run as a whole on buffers, else emitted op by op."""
        sizes = self._sizes([at.ctx.meta(value) for value in values])
        if isinstance(at, RunEmitter):
            results: Sequence[V] = self.run_on(at.executor, cast(Any, values), sizes)
        else:
            require_packages(self.packages)
            require_limit(self.options.memory_limit)
            results = run(
                self.with_rules or self.exec_program,
                values,
                lambda step, operands: at.emit_all(cast(Any, step.op.bind(sizes)), *operands),
            )
        return results[0] if len(results) == 1 else tuple(results)

    def run_on(
        self, executor: Executor | None, buffers: Sequence[Buffer], sizes: dict[Leaf, Dim]
    ) -> list[Any]:
        """The outputs on buffers of `executor`, or of NumPy if it is None. Compiled once."""
        named = executor_named("numpy") if executor is None else executor
        runs_on = with_missing_packages(named, self.packages)
        key = (id(runs_on), tuple(sizes.items()))
        _, execute = self._executables.get_or_make(
            key,
            lambda: (
                runs_on,  # referenced, so that no other executor gets its id
                runs_on.compile_exec(
                    self.exec_program,
                    sizes=cast("dict[Leaf, int]", sizes),
                    options=self.options,
                ),
            ),
        )
        return list(execute(*buffers))

    def memory(
        self, sizes: Mapping[str, int] | None = None, executor: str | Executor | None = None
    ) -> MemoryReport:
        """What the program needs of memory, and what it computes again; print it.

        Args:
            sizes: those of the symbols of the program, by name.
            executor: the executor that would run it, or its name; by default that of `jit`.

        Raises:
            BindingError: a symbol has no size, or there is no symbol of that name.
            ExecutorError: the executor does not tell, or data decide sizes in the program.
            MemoryLimitError: the memory limit of the program cannot be kept.

        >>> import tenferro as tn
        >>> program = tn.make_program(lambda x: tn.sin(x), tn.TensorSpec((4,), "float64"))
        >>> program.memory().peak
        32
        """
        choice = config.executor if executor is None else executor
        named = executor_named(choice) if isinstance(choice, str) else choice
        runs_on = with_missing_packages(named, self.packages)
        return memory_of(runs_on, self.exec_program, self._sizes_named(sizes or {}), self.options)

    def _sizes_named(self, sizes: Mapping[str, int]) -> dict[Leaf, int]:
        """The sizes by symbol."""
        symbols = {str(leaf): leaf for leaf in self.exec_program.symbols()}
        for name in (*(name for name in sizes if name not in symbols), *(set(symbols) - {*sizes})):
            known = name in symbols
            problem = "has no size; pass it" if known else "is not a size of this program"
            raise BindingError(f"memory: {name!r} {problem}")
        return {symbols[name]: size for name, size in sizes.items()}

    @cached_property
    def _executables(self) -> BoundedCache[Any, tuple[Executor, Executable]]:
        return BoundedCache(Capacity(config.cache_entries))

    def _arranged(self, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """A value for each input, in order."""
        order = [declared.name for declared in self._parameters()]
        if len(args) > len(order):
            raise BindingError(
                f"call: the program takes {counted(len(order), 'input')}, got "
                f"{counted(len(args), 'value')}"
            )
        values = dict(zip(order, args, strict=False))
        for name, value in named.items():
            if name not in order:
                raise BindingError(f"call: {name!r} is not an input of this program")
            if name in values:
                raise BindingError(f"call: input {name!r} is given twice")
            values[name] = value
        arranged = [values.get(declared.name, declared.default) for declared in self.inputs]
        for declared, value in zip(self.inputs, arranged, strict=True):
            if value is None:
                raise BindingError(f"call: input {declared.name!r}: {declared.meta} is not given")
        return arranged

    def _parameters(self) -> list[ProgramInput]:
        """The inputs in the order of a call's arguments: those with a default come last."""
        return sorted(self.inputs, key=lambda declared: declared.default is not None)

    def _operand(self, declared: ProgramInput, value: Any) -> Any:
        try:
            operand = fitted(value, declared.meta)
            known = meta_of_value(operand) is not None
        except TenferroError as error:
            raise BindingError(f"call: input {declared.name!r}: {error}") from None
        if not known:
            kind = type(value).__name__
            raise DTypeError(
                f"call: takes arrays and numbers, got {kind} for input {declared.name!r}; pass the "
                "leaves of trees one by one"
            )
        return operand

    def _sizes(self, metas: Sequence[TensorMeta]) -> dict[Leaf, Dim]:
        """The sizes of symbols for operands of these types, which may have symbols themselves."""
        for declared, meta in zip(self.inputs, metas, strict=True):
            if meta.dtype != declared.meta.dtype or meta.rank != declared.meta.rank:
                raise BindingError(f"call: input {declared.name!r} is {declared.meta}, got {meta}")
        shapes = [
            meta.exact_shape("call", declared.name)
            for declared, meta in zip(self.inputs, metas, strict=True)
        ]
        sizes = solve_sizes("call", self.inputs, shapes)
        assumed = [guard.bind(sizes) for guard in self.guards]
        bring_guards([guard for guard in assumed if guard is not None])
        return sizes

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """The inputs as named parameters; `*args, **named` if they are trees or not identifiers."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        takes_trees = self.form is not None and not self.form.is_flat
        named = [declared for declared in self._parameters() if declared.name.isidentifier()]
        if takes_trees or len(named) < len(self.inputs):
            return inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("named", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        empty = inspect.Parameter.empty
        return inspect.Signature(
            [
                inspect.Parameter(
                    declared.name,
                    kind,
                    default=empty if declared.default is None else declared.default,
                )
                for declared in named
            ]
        )

    def __repr__(self) -> str:
        count = len(self.exec_program.instructions)
        return (
            f"GraphProgram({counted(len(self.inputs), 'input')}, {counted(count, 'instruction')})"
        )

    def _repr_html_(self) -> str:
        return page_of(str(self), repr(self))

    def __str__(self) -> str:
        names = ", ".join(
            f"%{slot} = {declared.name}"
            for slot, declared in zip(self.exec_program.input_slots, self.inputs, strict=True)
        )
        return f"# inputs: {names}\n{self.exec_program}"


def check_program(name: str, program: object) -> None:
    """Raise BindingError if `program` is not a GraphProgram; `name` is the calling function."""
    if not isinstance(program, GraphProgram):
        raise BindingError(
            f"{name}: takes a program, got an object of type {type(program).__name__}; make one "
            "with tn.make_program(function, *specs)"
        )


# Binding values to the inputs of a program, with the sizes that follow.


@dataclass(frozen=True, slots=True)
class BoundInputs:
    """Values for all inputs of a program, in order, and the sizes of its symbols."""

    values: tuple[Tensor, ...]
    sizes: dict[Leaf, int]


def bind_inputs(program: GraphProgram, bindings: Mapping[Any, Any]) -> BoundInputs:
    """Check `bindings` (keys are names or traced tensors) against the program's inputs.

    Raises:
        BindingError: an input is not bound, a binding names no input or an input is bound twice,
            dtype, rank or size of a value differ from the declared ones, or one symbol would have
            two sizes.
        GuardViolationError: an assumption of the program does not hold for these sizes.
    """
    check_program("run", program)
    bound: dict[int, Any] = {}
    for key, value in _items(bindings):
        position = program.position(key)
        if position is None:
            expected = ", ".join(declared.name for declared in program.inputs) or "none"
            raise BindingError(
                f"run: {_text(key)} is not an input of this program; its inputs are: {expected}"
            )
        if position in bound:
            raise BindingError(f"run: input {program.inputs[position].name!r} is bound twice")
        bound[position] = value
    values: list[Tensor] = []
    for position, declared in enumerate(program.inputs):
        value = bound.get(position, declared.default)
        if value is None:
            raise BindingError(f"run: input {declared.name!r}: {declared.meta} is not bound")
        values.append(_as_declared(declared, value))
    return BoundInputs(tuple(values), bind_shapes(program, [value.shape for value in values]))


def bind_shapes(program: GraphProgram, shapes: Sequence[tuple[int, ...]]) -> dict[Leaf, int]:
    """The sizes of a program's symbols if its inputs, in order, have these shapes.

    Raises:
        BindingError: a shape differs from the declared one, or one symbol would have two sizes.
        GuardViolationError: an assumption of the program does not hold for these sizes.
    """
    return _checked(program, solve_sizes("run", program.inputs, shapes))


def bind_specs(program: GraphProgram, specs: Mapping[Any, Any]) -> dict[Leaf, int]:
    """The sizes of a program's symbols if its inputs have the types of `specs`.

    Raises:
        BindingError: as in `bind_inputs`. Inputs without symbols need no spec.
        GuardViolationError: an assumption of the program does not hold for these sizes.
    """
    sizes: Solved = {}
    for key, spec in specs.items():
        position = program.position(key)
        if position is None:
            raise BindingError(f"lower: {_text(key)} is not an input of this program")
        declared = program.inputs[position]
        meta = meta_of_value(spec)
        if meta is None or meta.dtype != declared.meta.dtype or meta.static_shape is None:
            text = repr(spec) if meta is None else str(meta)
            raise BindingError(
                f"lower: input {declared.name!r} is {declared.meta}, its spec is {text}"
            )
        learn_sizes("run", declared, meta.static_shape, sizes)
    unbound = program.exec_program.symbols() - sizes.keys()
    if unbound:
        names = ", ".join(sorted(map(str, unbound)))
        raise BindingError(f"lower: no spec gives the size of {names}")
    return _checked(program, sizes)


def _checked(program: GraphProgram, sizes: Solved) -> dict[Leaf, int]:
    for guard in program.guards:
        guard.check(sizes)
    return cast("dict[Leaf, int]", sizes)


def _items(bindings: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(bindings, Mapping):
        kind = class_of(bindings)
        raise BindingError(
            f'run: bindings must map inputs to values, got {kind}; write a dict, such as {{"x": x}}'
        )
    return bindings.items()


def _as_declared(declared: ProgramInput, value: Any) -> Tensor:
    """The value as a tensor of the declared dtype and rank."""
    try:
        tensor = Tensor(fitted(value, declared.meta))
    except TenferroError as error:
        raise BindingError(f"run: input {declared.name!r}: {error}") from None
    if tensor.dtype != declared.meta.dtype or tensor.ndim != declared.meta.rank:
        raise BindingError(
            f"run: input {declared.name!r} is {declared.meta}, but is bound to {tensor.meta}"
        )
    return tensor


def _text(key: object) -> str:
    return repr(key) if isinstance(key, str) else str(key)
