"""Programs as functions: of arrays, and of traced values, to be differentiated and compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tenferro.arrays import convert, is_number
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply
from tenferro.errors import BindingError, GuardViolationError
from tenferro.runtime import GraphProgram, ProgramInput, as_declared, check_program
from tenferro.shape import Dim, DimExpr, Exact, Leaf, TensorMeta, bind, leaves, symbol
from tenferro.traced import TracedTensor


def call(program: GraphProgram, /, *args: Any, **named: Any) -> Any:
    """What a program computes: its output, or a tuple of them where there are several.

    Arrays are computed with at once; traced values have the program's ops recorded in their graph.
    So a program that was loaded is a function like any other: `tn.grad(partial(tn.call, program))`.

    Args:
        program: the program.
        args: its inputs in order. Those with a default value come after all others and may be left
            out.
        named: further inputs, by name.

    Raises:
        BindingError: an input is missing, given twice, unknown, or of another type.
        GuardViolationError: an assumption of the program does not hold for these sizes.

    >>> import tenferro as tn
    >>> program = tn.make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64"))
    >>> call(program, [1.0, 2.0, 3.0])
    Tensor(14.)
    >>> tn.grad(lambda x: tn.call(program, x))(tn.array([1.0, 2.0]))
    Tensor([2., 4.])
    """
    check_program("call", program)
    given = _arranged(program, args, named)
    operands = [
        _operand(declared, value) for declared, value in zip(program.inputs, given, strict=True)
    ]
    results = apply(_replay, *operands, program=program)
    return results[0] if len(results) == 1 else results


def _replay(at: Emitter[V], *values: V, program: GraphProgram) -> tuple[V, ...]:
    """The outputs of a program on values of an emitter."""
    metas = [at.ctx.meta(value) for value in values]
    sizes = _solved(program, metas)
    exec_program = program.exec_program
    slots: dict[int, V] = dict(zip(exec_program.input_slots, values, strict=True))
    for step in exec_program.instructions:
        op: Any = step.op.bind(cast(dict[Leaf, int], sizes))
        results = at.emit_all(op, *[slots[slot] for slot in step.input_slots])
        slots.update(zip(step.output_slots, results, strict=True))
    return tuple([slots[slot] for slot in exec_program.output_slots])


_replay.__name__ = "call"  # what errors say was called


def _arranged(program: GraphProgram, args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    """A value for each input of a program, in order."""
    open_inputs = [each.name for each in program.inputs if each.default is None]
    rest = [each.name for each in program.inputs if each.default is not None]
    if len(args) > len(program.inputs):
        raise BindingError(
            f"call: the program takes {len(program.inputs)} inputs, got {len(args)} values"
        )
    values = dict(zip([*open_inputs, *rest], args, strict=False))
    for name, value in named.items():
        if name not in (*open_inputs, *rest):
            raise BindingError(f"call: {name!r} is not an input of this program")
        if name in values:
            raise BindingError(f"call: input {name!r} is given twice")
        values[name] = value
    given = [values.get(each.name, each.default) for each in program.inputs]
    for declared, value in zip(program.inputs, given, strict=True):
        if value is None:
            raise BindingError(f"call: input {declared.name!r}: {declared.meta} is not given")
    return given


def _operand(declared: ProgramInput, value: Any) -> Any:
    """The value with the declared dtype, where it is one that gives way."""
    if is_number(value) or isinstance(value, list | tuple):
        return as_declared(declared, value)
    if not isinstance(value, TracedTensor) or value.weak is None:
        return value
    own = TracedTensor(value.key)
    fits = declared.meta.dtype.kind == own.dtype.kind
    return apply(convert, own, dtype=declared.meta.dtype) if fits else own


def _solved(program: GraphProgram, metas: Sequence[TensorMeta]) -> dict[Leaf, Dim]:
    """The sizes of a program's symbols for inputs of the given types, symbols among them."""
    sizes: dict[Leaf, Dim] = {}
    for declared, meta in zip(program.inputs, metas, strict=True):
        if meta.dtype != declared.meta.dtype or meta.rank != declared.meta.rank:
            raise BindingError(f"call: input {declared.name!r} is {declared.meta}, got {meta}")
        for axis, extent in enumerate(declared.meta.extents):
            leaf = _lone_leaf(extent.dim) if isinstance(extent, Exact) else None
            if leaf is not None and leaf not in sizes:
                sizes[leaf] = meta.exact_shape("call", declared.name)[axis]
    for declared, meta in zip(program.inputs, metas, strict=True):
        _check_sizes(declared, meta, sizes)
    for guard in program.guards:
        left, right = _bound(guard.left, sizes), _bound(guard.right, sizes)
        if left != right:
            raise GuardViolationError(
                f"call: {guard.reason}: assumed {guard.left} == {guard.right}, "
                f"but here they are {left} and {right}"
            )
    return sizes


def _check_sizes(declared: ProgramInput, meta: TensorMeta, sizes: dict[Leaf, Dim]) -> None:
    for axis, extent in enumerate(declared.meta.extents):
        if not isinstance(extent, Exact):
            continue
        unknown = sorted(str(leaf) for leaf in leaves(extent.dim) - sizes.keys())
        if unknown:
            raise BindingError(
                f"call: input {declared.name!r} is {declared.meta}, and no input has the extent "
                f"{unknown[0]} alone, which would give its size"
            )
        expected, size = _bound(extent.dim, sizes), meta.exact_shape("call", declared.name)[axis]
        if expected != size:
            known = f" ({extent.dim} is {expected})" if isinstance(extent.dim, DimExpr) else ""
            raise BindingError(
                f"call: axis {axis} of input {declared.name!r} is declared {extent.dim}{known}, "
                f"but the value is {meta}"
            )


def _bound(size: Dim, sizes: dict[Leaf, Dim]) -> Dim:
    return bind(size, cast(dict[Leaf, int], sizes))


def _lone_leaf(size: Dim) -> Leaf | None:
    """The symbol that a size is, if it is one."""
    found = leaves(size)
    if len(found) != 1:
        return None
    (leaf,) = found
    return leaf if symbol(leaf) == size else None
