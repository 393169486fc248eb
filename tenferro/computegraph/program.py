"""A compiled program: a straight line of instructions over SSA slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, dataclass_transform

from tenferro.computegraph.cache import BoundedCache
from tenferro.computegraph.dump import block, line, value_list
from tenferro.computegraph.keys import GlobalValKey, SingleOutputNode
from tenferro.computegraph.materialize import MaterializedGraph
from tenferro.computegraph.op import Op

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def statically_frozen(cls: type[T]) -> type[T]:
    """Make a class a dataclass with slots that type checkers hold to be frozen.

    Python itself does not hinder a change: making a frozen dataclass takes five times as long, and
    every stage from graph to program makes one for each op.
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


@dataclass(frozen=True, slots=True)
class CompiledProgram(Generic[Op]):
    """Instructions in order of execution; each slot is written once."""

    instructions: tuple[Instruction[Op], ...]
    input_slots: tuple[int, ...]
    output_slots: tuple[int, ...]
    n_slots: int

    def __str__(self) -> str:
        lines = [
            line(step.outputs, step.op, [f"%{slot}" for slot in step.inputs], site=step.site)
            for step in self.instructions
        ]
        return block(f"program({value_list(self.input_slots)})", lines, self.output_slots)


ProgramCache = BoundedCache[
    tuple[tuple[GlobalValKey, ...], tuple[GlobalValKey, ...]], CompiledProgram[Op]
]


def compile_graph(
    graph: MaterializedGraph, cache: ProgramCache[Op] | None = None
) -> CompiledProgram[Op]:
    """Assign slots. With a `cache`, a graph of the same structure is compiled once.

    The inputs and outputs, being structural keys, say all there is to say about a graph; they are
    the cache's key.
    """
    if cache is None:
        return _assign_slots(graph)
    return cache.get_or_make((graph.inputs, graph.outputs), lambda: _assign_slots(graph))


def _assign_slots(graph: MaterializedGraph) -> CompiledProgram[Op]:
    slot: dict[GlobalValKey, int] = {key: number for number, key in enumerate(graph.inputs)}
    slot_of = slot.__getitem__
    instructions: list[Instruction[Any]] = []
    for op in graph.ops:
        inputs = tuple(map(slot_of, op.inputs))
        first = len(slot)
        if type(op) is SingleOutputNode:
            slot[op] = first
        else:
            slot.update({key: first + i for i, key in enumerate(op.outputs)})
        outputs = tuple(range(first, len(slot)))
        instructions.append(Instruction(op.primitive, inputs, outputs, op.site))
    return CompiledProgram(
        tuple(instructions),
        tuple(range(len(graph.inputs))),
        tuple([slot[key] for key in graph.outputs]),
        len(slot),
    )
