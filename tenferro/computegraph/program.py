"""A compiled program: a straight line of instructions over SSA slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, cast

from tenferro.computegraph.cache import BoundedCache
from tenferro.computegraph.dump import block, line, value_list
from tenferro.computegraph.keys import GlobalValKey
from tenferro.computegraph.materialize import MaterializedGraph
from tenferro.computegraph.op import Op


@dataclass(frozen=True, slots=True)
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
    instructions: list[Instruction[Op]] = []
    for op in graph.ops:
        inputs = tuple([slot[key] for key in op.inputs])
        outputs = tuple(range(len(slot), len(slot) + op.primitive.n_outputs))
        slot.update(zip(op.outputs, outputs, strict=True))
        instructions.append(Instruction(cast(Op, op.primitive), inputs, outputs, op.site))
    return CompiledProgram(
        tuple(instructions),
        tuple(range(len(graph.inputs))),
        tuple(slot[key] for key in graph.outputs),
        len(slot),
    )
