"""A fragment that is linear in its tangent inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from tenferro.computegraph import Fragment, FragmentBuilder, GlobalValKey, Input, Op


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

    def __str__(self) -> str:
        return str(self.fragment)


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
