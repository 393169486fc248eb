"""The one physical step: flatten a view into a concrete graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.computegraph.dump import block, line, name_of
from tenferro.computegraph.keys import GlobalOpKey, GlobalValKey, Input
from tenferro.computegraph.op import Op
from tenferro.computegraph.resolve import ResolvedView, require_values, require_view


@dataclass(frozen=True, slots=True)
class MaterializedGraph:
    """Everything reachable from the outputs, each value and op once, in one topological order.

    The op keys hold primitive, inputs and mode; a value is named by its key.
    """

    ops: tuple[GlobalOpKey, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[GlobalValKey, ...]

    @property
    def vals(self) -> tuple[GlobalValKey, ...]:
        """All values: the inputs, then the outputs of each op."""
        return (*self.inputs, *(key for op in self.ops for key in op.outputs))

    def __str__(self) -> str:
        number = {key: index for index, key in enumerate(self.vals)}
        header = ", ".join(f"%{number[key]} = {name_of(key)}" for key in self.inputs)
        lines = [
            line(
                [number[key] for key in op.outputs],
                op.primitive,
                [f"%{number[key]}" for key in op.inputs],
                op.mode,
                op.site,
            )
            for op in self.ops
        ]
        return block(f"graph({header})", lines, [number[key] for key in self.outputs])


def materialize_merge(
    view: ResolvedView[Op], outputs: Sequence[GlobalValKey], inputs: Sequence[Input] = ()
) -> MaterializedGraph:
    """Collect what `outputs` need, unify nodes with the same key, and fix one topological order.

    `inputs` come first in the graph's inputs, in their order and whether or not they are reached;
    further inputs follow in the order they are met.

    Raises:
        GraphError: `view` is not a view, or outputs are not a list of values.
        UnresolvedValueError: a reachable value is defined in no fragment of the view.
    """
    require_view("materialize_merge", view)
    require_values("materialize_merge", "outputs", outputs)
    ops, met = view.topo_order(outputs)
    declared = tuple(dict.fromkeys(inputs))
    known = set(declared)
    return MaterializedGraph(
        tuple(ops), (*declared, *(key for key in met if key not in known)), tuple(outputs)
    )
