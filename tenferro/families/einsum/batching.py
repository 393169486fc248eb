"""Batch rules of the einsum families: the batch is a further label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenferro.chainrules import Batched, BatchSite, V
from tenferro.families.einsum.derivative import NetworkDerivative
from tenferro.families.einsum.sliced import SlicedNetwork
from tenferro.families.formula import Transform
from tenferro.family import Extension, ExtensionBatchRule, ExtensionOp
from tenferro.planning import Labels

MOST_PARTS = 3
"""How many ops a derivative is parted into at most, so that terms need not be repeated."""

RESULT = -1
"""The owner of what has the type of the network's result."""


class NetworkBatchRule(ExtensionBatchRule):
    """A network with one more label, of the batched terms and of the result.

    The label leads, and the loop of a sliced network does not run over it. Terms that are the same
    for all entries do not get it, and are not repeated. A tangent or a cotangent has it if its term
    has it: then all inputs that belong to the term must be batched.
    """

    def __init__(self, family: type[ExtensionOp]) -> None:
        self._family_id = family.FAMILY_ID

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family_id

    def batch(self, op: ExtensionOp, at: BatchSite[V]) -> Batched[V]:
        """The network with the label; several ops, if that saves repeating terms."""
        if not isinstance(op, NetworkDerivative):
            return _applied(op, at)
        results: dict[int, tuple[V, bool]] = {}
        for part, places in parted(op, at.batched):
            results.update(zip(places, _applied(part, at), strict=True))
        return tuple([results[place] for place in sorted(results)])


def _applied(op: Any, at: BatchSite[V]) -> Batched[V]:
    """The op with the label, on inputs that are repeated where their owner is batched."""
    owners = Owners.of(len(op.inputs), getattr(op, "transforms", ()))
    batched = owners.batched(at.batched)
    inputs = [
        at.repeated(place) if owner in batched else value
        for place, (owner, value) in enumerate(zip(owners.inputs, at.inputs, strict=True))
    ]
    outputs = at.emitter.emit_all(Extension(labeled(op, batched)), *inputs)
    return tuple([(output, True) for output in outputs])


def parted(
    op: NetworkDerivative, given: Sequence[bool]
) -> list[tuple[NetworkDerivative, Sequence[int]]]:
    """Ops that together compute what `op` does, each with the places of its outputs among all.

    A cotangent of a term that is the same for all entries is computed alone: only its own term must
    be batched then, and it does not read that one. Ops that are planned apart may share nothing, so
    there are `MOST_PARTS` at most; one op of batched terms takes about three contractions of all.

    >>> chain = NetworkDerivative(((0, 1), (1, 2)), (0, 2), ("auto",), (("vjp", (True, True)),))
    >>> [(part.transforms, places) for part, places in parted(chain, (True, False, False))]
    [((('vjp', (True, False)),), [0]), ((('vjp', (False, True)),), [1])]
    """
    *before, last = op.transforms
    whole: list[tuple[NetworkDerivative, Sequence[int]]] = [(op, range(op.output_count))]
    if last[0] != "vjp" or any(kind == "vjp" for kind, _ in before):
        return whole
    terms = len(op.inputs)
    read = Owners.of(terms, op.transforms).given(given)
    places = [place for place, on in enumerate(last[1]) if on]
    owner = Owners.of(terms, before).inputs
    alone = [[number] for number, place in enumerate(places) if owner[place] not in read]
    others = [number for number, place in enumerate(places) if owner[place] in read]
    groups = [others, *alone] if others else alone
    if not 1 < len(groups) <= MOST_PARTS:
        return whole
    parts: list[tuple[NetworkDerivative, Sequence[int]]] = []
    for group in groups:
        chosen = {places[number] for number in group}
        mask = tuple([place in chosen for place in range(len(last[1]))])
        parts.append((replace(op, transforms=(*before, ("vjp", mask))), group))
    return parts


@dataclass(frozen=True)
class Owners:
    """Which term each input of a network and of its transforms belongs to; `RESULT` for none.

    Attributes:
        inputs: the owner of each input.
        cotangents: the owners of all cotangents that transforms compute.
    """

    inputs: tuple[int, ...]
    cotangents: frozenset[int]

    @classmethod
    def of(cls, terms: int, transforms: Sequence[Transform]) -> Owners:
        """The owners.

        >>> Owners.of(2, (("vjp", (True, False)),)).inputs
        (0, 1, -1)
        """
        inputs, outputs = list(range(terms)), [RESULT]
        cotangents: set[int] = set()
        for kind, mask in transforms:
            chosen = outputs if kind == "select" else inputs
            active = [owner for owner, on in zip(chosen, mask, strict=True) if on]
            if kind == "jvp":
                inputs = inputs + active
            elif kind == "vjp":
                inputs, outputs = inputs + outputs, active
                cotangents.update(active)
            else:
                outputs = active
        return cls(tuple(inputs), frozenset(cotangents))

    def batched(self, given: Sequence[bool]) -> frozenset[int]:
        """The owners whose inputs must be batched, for a batch of some inputs.

        The result is among them, and each term of which there is a cotangent: it would otherwise be
        the sum over the batch.
        """
        return self.given(given) | self.cotangents | {RESULT}

    def given(self, given: Sequence[bool]) -> frozenset[int]:
        """The owners of the batched inputs."""
        return frozenset(owner for owner, on in zip(self.inputs, given, strict=True) if on)


def labeled(op: Any, batched: frozenset[int]) -> Any:
    """The op with one more label on the batched terms and the result.

    Labels are numbered by first occurrence.

    >>> from tenferro.families.einsum import EinsumOp
    >>> chain = EinsumOp(((0, 1), (1, 2)), (0, 2), ("pairs", ((0, 1),)))
    >>> labeled(chain, frozenset({1, RESULT}))  # doctest: +NORMALIZE_WHITESPACE
    EinsumOp(inputs=((0, 1), (2, 1, 3)), output=(2, 0, 3), plan=('pairs', ((0, 1),)))
    """
    new = 1 + max([label for labels in (*op.inputs, op.output) for label in labels], default=-1)
    terms = [(new, *labels) if term in batched else labels for term, labels in enumerate(op.inputs)]
    numbers: dict[int, int] = {}
    for labels in (*terms, (new, *op.output)):
        for label in labels:
            numbers.setdefault(label, len(numbers))

    def renumbered(labels: Labels) -> Labels:
        return tuple([numbers[label] for label in labels])

    changes: dict[str, Any] = {
        "inputs": tuple([renumbered(labels) for labels in terms]),
        "output": renumbered((new, *op.output)),
    }
    if isinstance(op, SlicedNetwork):
        changes["sliced"] = renumbered(op.sliced)
    return replace(op, **changes)
