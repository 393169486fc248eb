"""Derivatives of recorded values: along the records, or back over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tenferro.autodiff.record import Mask, Origin, Record, ancestors
from tenferro.chainrules import Slots

V = TypeVar("V")


class Pusher(Protocol[V]):
    """Pushes values of some kind forward through the derivative of one record."""

    def push(self, record: Record, tangents: Slots[V]) -> Slots[V]:
        """Tangents of the record's outputs from those of its operands."""


class Applier(Pusher[V], Protocol[V]):
    """Applies the derivatives of one record to values of some kind."""

    def pull(self, record: Record, cts: Slots[V], wanted: Mask) -> Slots[V]:
        """Cotangents of the `wanted` operands from those of the record's outputs."""

    def add(self, a: V, b: V) -> V:
        """The sum of two cotangents."""


def pull_records(
    seeds: Iterable[tuple[Origin, V]], wrt: Iterable[Origin] | None, apply: Applier[V]
) -> dict[Origin, V]:
    """Cotangents of `wrt` (None: of all leaves) for the cotangents in `seeds`.

    Nothing behind a value of `wrt` is differentiated. Values that no cotangent reaches are not in
    the result.

    Raises:
        ADRuleError: an op on the way has no rule.
    """
    seeds = list(seeds)
    stops = set() if wrt is None else set(wrt)
    records = ancestors([origin for origin, _ in seeds], stops)
    masks = None if wrt is None else _masks_towards(records, stops)
    total: dict[Origin, V] = {}
    for origin, ct in seeds:
        _accumulate(total, origin, ct, apply)
    while records:
        record = records.pop()
        mask = record.derivative.active if masks is None else masks.get(record)
        cts = tuple([None if o in stops else total.pop(o, None) for o in record.outputs])
        if mask is None or all(ct is None for ct in cts):
            continue
        terms = apply.pull(record, cts, mask)
        for source, term in zip(record.sources, terms, strict=True):
            if source is not None and term is not None:
                _accumulate(total, source, term, apply)
    return total if wrt is None else {origin: total[origin] for origin in stops & total.keys()}


def push_records(
    outputs: Sequence[Origin | None], tangents: Mapping[Origin, V], apply: Pusher[V]
) -> list[V | None]:
    """Tangents of `outputs` for given tangents; None where no tangent arrives.

    Nothing behind a value that has a tangent is differentiated.

    Raises:
        ADRuleError: an op on the way has no rule.
    """
    known: dict[Origin, V] = dict(tangents)
    for record in ancestors([o for o in outputs if o is not None], set(tangents)):
        incoming = tuple([None if o is None else known.get(o) for o in record.sources])
        if all(tangent is None for tangent in incoming):
            continue
        results = zip(record.outputs, apply.push(record, incoming), strict=True)
        known |= {o: t for o, t in results if t is not None and o not in tangents}
    return [None if origin is None else known.get(origin) for origin in outputs]


def _masks_towards(records: Sequence[Record], stops: set[Origin]) -> dict[Record, Mask]:
    """For each record on a path to `stops`, which of its operands are on such a path."""
    on_path: set[Origin] = set(stops)
    masks: dict[Record, Mask] = {}
    for record in records:
        mask = tuple([source in on_path for source in record.sources])
        if any(mask):
            masks[record] = mask
            on_path.update(record.outputs)
    return masks


def _accumulate(total: dict[Origin, V], origin: Origin, term: V, apply: Applier[V]) -> None:
    ct = total.get(origin)
    total[origin] = term if ct is None else apply.add(ct, term)
