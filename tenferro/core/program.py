"""A flattened graph as instructions over slots, and the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, dataclass_transform, overload

from tenferro.core.fragment import block, line, value_list
from tenferro.core.graph import MaterializedGraph
from tenferro.core.keys import GlobalValKey, SingleOutputNode
from tenferro.core.primitive import Op
from tenferro.errors import BindingError, GraphError, ProgramError, class_of, counted

__all__ = [
    "CompiledProgram",
    "Instruction",
    "Instructions",
    "compile_graph",
    "evaluate",
    "statically_frozen",
]


# A compiled program: a straight line of instructions over SSA slots.

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def statically_frozen(cls: type[T]) -> type[T]:
    """Make a class a dataclass with slots that type checkers treat as frozen.

    At run time it can be changed: creating an instance of a frozen dataclass takes five times as
    long, and every stage from graph to program creates one for each op.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


@statically_frozen
class Instruction(Generic[Op]):
    """Apply `op` to the slots `inputs` and write the slots `outputs`.

    `site` says where the op was first recorded.
    """

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    site: str | None = None


class Instructions(Sequence[Instruction[Op]]):
    """Instructions held in columns; an `Instruction` is made when one is read.

    A program has as many instructions as the graph has ops. In columns they are a few long tuples
    instead of many objects, each of which Python's garbage collector would visit.
    """

    __slots__ = ("inputs", "ops", "outputs", "sites")

    def __init__(
        self,
        ops: Iterable[Op],
        inputs: Iterable[tuple[int, ...]],
        outputs: Iterable[tuple[int, ...]],
        sites: Iterable[str | None],
    ) -> None:
        self.ops = tuple(ops)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.sites = tuple(sites)

    def __len__(self) -> int:
        return len(self.ops)

    @overload
    def __getitem__(self, index: int) -> Instruction[Op]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Instruction[Op], ...]: ...
    def __getitem__(self, index: int | slice) -> Instruction[Op] | tuple[Instruction[Op], ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        return Instruction(
            self.ops[index], self.inputs[index], self.outputs[index], self.sites[index]
        )

    def __iter__(self) -> Iterator[Instruction[Op]]:
        return map(Instruction, self.ops, self.inputs, self.outputs, self.sites)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | Instructions) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


@dataclass(frozen=True, slots=True)
class CompiledProgram(Generic[Op]):
    """Instructions in order of execution; each slot is written once."""

    instructions: Sequence[Instruction[Op]]
    input_slots: tuple[int, ...]
    output_slots: tuple[int, ...]
    n_slots: int

    @property
    def columns(self) -> Instructions[Op]:
        """The instructions in columns."""
        steps = self.instructions
        if isinstance(steps, Instructions):
            return steps
        return Instructions(
            [step.op for step in steps],
            [step.inputs for step in steps],
            [step.outputs for step in steps],
            [step.site for step in steps],
        )

    def __str__(self) -> str:
        lines = [
            line(step.outputs, step.op, [f"%{slot}" for slot in step.inputs], site=step.site)
            for step in self.instructions
        ]
        return block(f"program({value_list(self.input_slots)})", lines, self.output_slots)


def compile_graph(graph: MaterializedGraph) -> CompiledProgram[Op]:
    """Assign slots.

    Raises:
        GraphError: it is not a materialized graph.
    """
    value: object = graph
    if not isinstance(value, MaterializedGraph):
        raise GraphError(
            f"compile_graph: takes a materialized graph, got {class_of(value)}; write "
            "compile_graph(materialize_merge(resolve([fragment]), outputs))"
        )
    slot: dict[GlobalValKey, int] = {key: number for number, key in enumerate(graph.inputs)}
    slot_of = slot.__getitem__
    inputs: list[tuple[int, ...]] = []
    outputs: list[tuple[int, ...]] = []
    for op in graph.ops:
        inputs.append(tuple([slot_of(key) for key in op.inputs]))
        first = len(slot)
        if type(op) is SingleOutputNode:
            slot[op] = first
            outputs.append((first,))
        else:
            slot.update({key: first + i for i, key in enumerate(op.outputs)})
            outputs.append(tuple(range(first, len(slot))))
    ops: list[Any] = [op.primitive for op in graph.ops]
    return CompiledProgram(
        Instructions(ops, inputs, outputs, [op.site for op in graph.ops]),
        tuple(range(len(graph.inputs))),
        tuple([slot[key] for key in graph.outputs]),
        len(slot),
    )


# The reference interpreter: run a compiled program forward on runtime values.


def evaluate(program: CompiledProgram[Op], inputs: Sequence[Any]) -> list[Any]:
    """The values of the program's outputs, given one value for each of its inputs, in order.

    Raises:
        BindingError: the number of values is not the number of inputs.
        ProgramError: an op does not return a value for each of its outputs.
    """
    if not isinstance(program, CompiledProgram):
        raise ProgramError(
            f"evaluate: takes a compiled program, got {class_of(program)}; "
            "write evaluate(compile_graph(graph), values)"
        )
    if isinstance(inputs, Mapping):
        raise BindingError(
            "evaluate: takes the values in the order of the inputs, got "
            f"{class_of(inputs)}; write [value, ...]"
        )
    if len(inputs) != len(program.input_slots):
        raise BindingError(
            f"evaluate: the program has {counted(len(program.input_slots), 'input')}, got "
            f"{counted(len(inputs), 'value')}"
        )
    slots: list[Any] = [None] * program.n_slots
    for slot, value in zip(program.input_slots, inputs, strict=True):
        slots[slot] = value
    for instruction in program.instructions:
        results = instruction.op.evaluate([slots[slot] for slot in instruction.inputs])
        if len(results) != len(instruction.outputs):
            raise ProgramError(
                f"{instruction.op}: evaluate returns {counted(len(results), 'value')} for "
                f"{counted(len(instruction.outputs), 'output')}"
            )
        for slot, value in zip(instruction.outputs, results, strict=True):
            slots[slot] = value
    return [slots[slot] for slot in program.output_slots]
