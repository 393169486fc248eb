"""A fragment that is linear in its tangent inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic

from tenferro.computegraph import (
    Fragment,
    FragmentBuilder,
    GlobalOpKey,
    GlobalValKey,
    Input,
    Linear,
    Op,
)


@dataclass(frozen=True, slots=True, eq=False)
class LinearFragment(Generic[Op]):
    """What `differentiate` and `transpose` return.

    Attributes:
        fragment: the nodes; coefficients are `Primal`, tangent flow is `Linear`.
        tangent_inputs: key and local id of each fresh tangent input.
        tangent_outputs: local id of each tangent output; None, a symbolic zero, where no tangent
            arrives.
    """

    fragment: Fragment[Op]
    tangent_inputs: tuple[tuple[Hashable, int], ...]
    tangent_outputs: tuple[int | None, ...]

    @property
    def input_keys(self) -> tuple[GlobalValKey, ...]:
        """Identities of the tangent inputs."""
        return tuple(self.fragment.key(local) for _, local in self.tangent_inputs)

    @property
    def output_keys(self) -> tuple[GlobalValKey | None, ...]:
        """Identities of the tangent outputs."""
        return tuple(
            None if local is None else self.fragment.key(local) for local in self.tangent_outputs
        )

    def live_nodes(self) -> list[GlobalOpKey]:
        """The ops by which tangents get from the inputs to the outputs, each after its operands."""
        wanted = {key for key in self.output_keys if key is not None}
        live: list[GlobalOpKey] = []
        for node in reversed(self.fragment.nodes):
            if isinstance(node.mode, Linear) and not wanted.isdisjoint(node.outputs):
                live.append(node)
                wanted.update(active_operands(node))
        return live[::-1]

    def until(self, cut: Sequence[GlobalValKey]) -> LinearFragment[Op]:
        """The front part: the values of `cut` as linear functions of the inputs.

        `transpose` of it is a partial transpose: it does not go past `cut`.
        """
        local = self.fragment.local_ids(cut)
        return LinearFragment(
            self.fragment, self.tangent_inputs, tuple([local[key] for key in cut])
        )

    def since(self, cut: Sequence[GlobalValKey]) -> LinearFragment[Op]:
        """The rest: the outputs as linear functions of the values of `cut`.

        All tangents that the outputs read must get there through `cut`.
        """
        local = self.fragment.local_ids(cut)
        inner = set(cut)
        wanted = {key for key in self.output_keys if key is not None} - inner
        nodes: list[GlobalOpKey] = []
        for node in reversed(self.fragment.nodes):
            if not isinstance(node.mode, Linear):
                nodes.append(node)
            elif not wanted.isdisjoint(node.outputs):
                nodes.append(node)
                wanted.update(key for key in active_operands(node) if key not in inner)
        rest = self.fragment.of_nodes(nodes[::-1])
        return LinearFragment(rest, tuple([(key, local[key]) for key in cut]), self.tangent_outputs)

    def __str__(self) -> str:
        return str(self.fragment)


def active_operands(node: GlobalOpKey) -> list[GlobalValKey]:
    """The operands of a linear op that tangents come by; one that it reads twice comes twice."""
    mask = node.mode.active_mask
    return [] if mask is None else list(compress(node.inputs, mask))


def finish(
    builder: FragmentBuilder[Any], inputs: Sequence[Input], outputs: Sequence[GlobalValKey | None]
) -> LinearFragment[Any]:
    """Close a fragment under construction into a `LinearFragment`."""
    present = [output for output in outputs if output is not None]
    fragment = builder.build(present)
    local = fragment.local_ids([*inputs, *present])
    return LinearFragment(
        fragment,
        tuple([(tangent.key, local[tangent]) for tangent in inputs]),
        tuple([None if output is None else local[output] for output in outputs]),
    )
