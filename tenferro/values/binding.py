"""Binding values to the inputs of a program, with the sizes that follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tenferro.errors import BindingError, TenferroError
from tenferro.shape import Leaf
from tenferro.values.lifting import fitted, meta_of_value
from tenferro.values.program import GraphProgram, ProgramInput, check_program
from tenferro.values.sizes import Solved, learn_sizes, solve_sizes
from tenferro.values.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Bound:
    """Values for all inputs of a program, in order, and the sizes of its symbols."""

    values: tuple[Tensor, ...]
    sizes: dict[Leaf, int]


def bind_inputs(program: GraphProgram, bindings: Mapping[Any, Any]) -> Bound:
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
    return Bound(tuple(values), bind_shapes(program, [value.shape for value in values]))


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
    unbound = sorted(str(leaf) for leaf in program.exec_program.symbols() - sizes.keys())
    if unbound:
        raise BindingError(f"lower: no spec gives the size of {', '.join(unbound)}")
    return _checked(program, sizes)


def _checked(program: GraphProgram, sizes: Solved) -> dict[Leaf, int]:
    for guard in program.guards:
        guard.check(sizes)
    return cast("dict[Leaf, int]", sizes)


def _items(bindings: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(bindings, Mapping):
        kind = type(bindings).__name__
        raise BindingError(
            f"run: bindings must map inputs to values, got a {kind}; write a dict, such as "
            '{"x": x}'
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
