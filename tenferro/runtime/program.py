"""GraphProgram.

An execution program with names for its inputs, and the checks of what is bound to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tenferro.computegraph import GlobalValKey
from tenferro.errors import BindingError, DTypeError, TenferroError
from tenferro.exec_ir import ExecProgram
from tenferro.runtime.tensor import Tensor
from tenferro.shape import Dim, DimExpr, Exact, Guard, Leaf, TensorMeta, bind, leaves, symbol


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """One input: its name, type, graph key, and the value it has when nothing is bound to it."""

    name: str
    meta: TensorMeta
    key: GlobalValKey
    default: Tensor | None = None


@dataclass(frozen=True, eq=False, repr=False)
class GraphProgram:
    """What `GraphCompiler.compile` returns: an optimized program, ready for any executor.

    Attributes:
        exec_program: the instructions.
        inputs: the inputs, in the order of `exec_program.input_slots`.
        guards: equalities of sizes that were assumed and are checked when the sizes are known.
    """

    exec_program: ExecProgram
    inputs: tuple[ProgramInput, ...]
    guards: tuple[Guard, ...] = ()
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
        """SHA-256 of the program's structure, in hex."""
        return self.exec_program.digest

    def position(self, binding: object) -> int | None:
        """Position of the input that a name, a traced tensor or a key means.

        None if there is no such input.
        """
        known = isinstance(binding, str | GlobalValKey)
        return self._index.get(binding if known else getattr(binding, "key", None))

    def __repr__(self) -> str:
        count = len(self.exec_program.instructions)
        return f"GraphProgram({len(self.inputs)} inputs, {count} instructions)"

    def __str__(self) -> str:
        names = ", ".join(
            f"%{slot} = {declared.name}"
            for slot, declared in zip(self.exec_program.input_slots, self.inputs, strict=True)
        )
        return f"# inputs: {names}\n{self.exec_program}"


@dataclass(frozen=True, slots=True)
class Bound:
    """Values for all inputs of a program, in order, and the sizes of its symbols."""

    values: tuple[Tensor, ...]
    sizes: dict[Leaf, int]


def check_program(name: str, program: object) -> None:
    """Refuse what is no program, in the name of the function that was called.

    Raises:
        BindingError: it is none.
    """
    if not isinstance(program, GraphProgram):
        raise BindingError(
            f"{name}: takes a program, got an object of type {type(program).__name__}; make one "
            "with tn.make_program(function, *specs)"
        )


def bind_inputs(program: GraphProgram, bindings: Mapping[Any, Any]) -> Bound:
    """Check `bindings` (keys are names or traced tensors) against the program's inputs.

    Raises:
        BindingError: an input is unbound, a binding is unexpected or given twice, a value has
            another dtype, rank or size than declared, or one symbol would have two sizes.
        GuardViolationError: an assumption of the program does not hold for these sizes.
    """
    check_program("run", program)
    given: dict[int, Any] = {}
    for key, value in _items(bindings):
        position = program.position(key)
        if position is None:
            expected = ", ".join(declared.name for declared in program.inputs) or "none"
            raise BindingError(
                f"run: {_text(key)} is not an input of this program; its inputs are: {expected}"
            )
        if position in given:
            raise BindingError(f"run: input {program.inputs[position].name!r} is bound twice")
        given[position] = value
    values: list[Tensor] = []
    for position, declared in enumerate(program.inputs):
        value = given.get(position, declared.default)
        if value is None:
            raise BindingError(f"run: input {declared.name!r}: {declared.meta} is not bound")
        values.append(as_declared(declared, value))
    return Bound(tuple(values), bind_shapes(program, [value.shape for value in values]))


def bind_shapes(program: GraphProgram, shapes: Sequence[tuple[int, ...]]) -> dict[Leaf, int]:
    """The sizes of a program's symbols where its inputs, in order, have these shapes.

    Raises:
        BindingError: a shape is not as declared, or one symbol would have two sizes.
        GuardViolationError: an assumption of the program does not hold for these sizes.
    """
    sizes: dict[Leaf, int] = {}
    for declared, shape in zip(program.inputs, shapes, strict=True):
        bind_sizes(declared, shape, sizes)
    _check_derived(program.inputs, shapes, sizes)
    for guard in program.guards:
        guard.check(sizes)
    return sizes


def _items(bindings: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(bindings, Mapping):
        kind = type(bindings).__name__
        raise BindingError(
            f"run: bindings must map inputs to values, got a {kind}; write a dict, such as "
            '{"x": x}'
        )
    return bindings.items()


def bind_specs(program: GraphProgram, specs: Mapping[Any, Any]) -> dict[Leaf, int]:
    """The sizes of a program's symbols for inputs of the types of `specs`, arrays or `TensorSpec`s.

    Raises:
        BindingError: as `bind_inputs`; inputs without symbols need no spec.
        GuardViolationError: an assumption of the program does not hold for these sizes.
    """
    sizes: dict[Leaf, int] = {}
    for key, spec in specs.items():
        position = program.position(key)
        if position is None:
            raise BindingError(f"lower: {_text(key)} is not an input of this program")
        declared = program.inputs[position]
        meta: TensorMeta = spec.meta if hasattr(spec, "meta") else Tensor(spec).meta
        if meta.dtype != declared.meta.dtype or meta.static_shape is None:
            raise BindingError(
                f"lower: input {declared.name!r} is {declared.meta}, its spec is {meta}"
            )
        bind_sizes(declared, meta.static_shape, sizes)
    unbound = sorted(str(leaf) for leaf in program.exec_program.symbols() - sizes.keys())
    if unbound:
        raise BindingError(f"lower: no spec gives the size of {', '.join(unbound)}")
    for guard in program.guards:
        guard.check(sizes)
    return sizes


def as_declared(declared: ProgramInput, value: Any) -> Tensor:
    """The value as a tensor of the declared dtype.

    Python numbers and lists take that dtype if they fit.
    """
    weak = isinstance(value, bool | int | float | complex | list | tuple) and not isinstance(
        value, np.generic
    )
    try:
        tensor = Tensor(_weak(value, declared)) if weak else Tensor(value)
    except TenferroError as error:
        raise BindingError(f"run: input {declared.name!r}: {error}") from None
    if tensor.dtype != declared.meta.dtype or tensor.ndim != declared.meta.rank:
        raise BindingError(
            f"run: input {declared.name!r} is {declared.meta}, but is bound to {tensor.meta}"
        )
    return tensor


def _weak(value: Any, declared: ProgramInput) -> Any:
    plain = Tensor(value)
    dtype = declared.meta.dtype
    if plain.dtype == dtype:
        return plain
    kinds = [part.kind.replace("u", "i") for part in (plain.dtype, dtype)]
    if "bifc".index(kinds[0]) > "bifc".index(kinds[1]):
        raise DTypeError(f"{plain.meta} does not fit {declared.meta}")
    with np.errstate(over="ignore"):
        cast = plain.numpy().astype(dtype)
    if kinds[1] == "i" and not np.array_equal(cast, plain.numpy()):
        raise DTypeError(f"{value} does not fit {declared.meta}")
    return cast


def bind_sizes(declared: ProgramInput, shape: tuple[int, ...], sizes: dict[Leaf, int]) -> None:
    """Learn the sizes of symbols from the shape of one input, and check the rest of its extents."""
    if shape == declared.meta.static_shape:
        return
    if len(shape) != declared.meta.rank:
        raise BindingError(
            f"run: input {declared.name!r} is {declared.meta}, but its shape is {shape}"
        )
    for axis, (extent, size) in enumerate(zip(declared.meta.extents, shape, strict=True)):
        if not isinstance(extent, Exact):
            continue
        learned = _solve(extent.dim, size, sizes)
        if learned is not None:
            sizes[learned] = size
        expected = bind(extent.dim, sizes)
        if isinstance(expected, int) and expected != size:
            already = f" ({extent.dim} is {expected})" if isinstance(extent.dim, DimExpr) else ""
            raise BindingError(
                f"run: axis {axis} of input {declared.name!r} is declared {extent.dim}{already}, "
                f"but the value has size {size}"
            )


def _check_derived(
    inputs: Sequence[ProgramInput], shapes: Sequence[tuple[int, ...]], sizes: dict[Leaf, int]
) -> None:
    """Check extents such as `2*n` that came before the size of `n` was learned."""
    for declared, shape in zip(inputs, shapes, strict=True):
        unknown = sorted(str(leaf) for leaf in declared.meta.symbols() - sizes.keys())
        if unknown:
            raise BindingError(
                f"run: input {declared.name!r} is {declared.meta}, and no input has the extent "
                f"{unknown[0]} alone, which would give its size"
            )
        if declared.meta.static_shape is None:
            bind_sizes(declared, shape, sizes)


def _solve(dim: Dim, size: int, sizes: dict[Leaf, int]) -> Leaf | None:
    """The symbol that `dim` is, if it is one and has no size yet."""
    found = leaves(dim)
    if len(found) != 1:
        return None
    (leaf,) = found
    return leaf if leaf not in sizes and symbol(leaf) == dim else None


def _text(key: object) -> str:
    return repr(key) if isinstance(key, str) else str(key)
