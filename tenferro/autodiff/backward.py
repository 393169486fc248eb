"""Derivatives of recorded values: along the records, or back over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tenferro.autodiff.record import Mask, Origin, Record, ancestors
from tenferro.chainrules import Slots

V = TypeVar("V")


class Applier(Protocol[V]):
    """Applies the derivatives of one record to values, however these are held and recorded."""

    def push(self, record: Record, tangents: Slots[V]) -> Slots[V]:
        """Tangents of the record's outputs from those of its operands."""

    def pull(self, record: Record, cts: Slots[V], wanted: Mask) -> Slots[V]:
        """Cotangents of the `wanted` operands from those of the record's outputs."""

    def add(self, a: V, b: V) -> V:
        """The sum of two cotangents."""


def pull_records(
    seeds: Iterable[tuple[Origin, V]], wrt: Iterable[Origin] | None, apply: Applier[V]
) -> dict[Origin, V]:
    """Cotangents of `wrt` (None: of all leaves) for the cotangents in `seeds`.

    Nothing behind a value of `wrt` is differentiated. What nothing reaches is not in the result.

    Raises:
        ADRuleError: an op on the way has no rule.
    """
    given = list(seeds)
    stops = set() if wrt is None else set(wrt)
    records = ancestors([origin for origin, _ in given], stops)
    masks = None if wrt is None else _wanted(records, stops)
    total: dict[Origin, V] = {}
    for origin, ct in given:
        _accumulate(total, origin, ct, apply)
    while records:
        record = records.pop()
        wanted = record.derivative.active if masks is None else masks.get(record)
        cts = tuple([None if o in stops else total.pop(o, None) for o in record.outputs])
        if wanted is None or all(ct is None for ct in cts):
            continue
        terms = apply.pull(record, cts, wanted)
        for source, term in zip(record.sources, terms, strict=True):
            if source is not None and term is not None:
                _accumulate(total, source, term, apply)
    return total if wrt is None else {origin: total[origin] for origin in stops & total.keys()}


def push_records(
    outputs: Sequence[Origin | None], tangents: Mapping[Origin, V], apply: Applier[V]
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
        made = zip(record.outputs, apply.push(record, incoming), strict=True)
        known |= {o: t for o, t in made if t is not None and o not in tangents}
    return [None if origin is None else known.get(origin) for origin in outputs]


def _wanted(records: Sequence[Record], stops: set[Origin]) -> dict[Record, Mask]:
    """For each record on a way to `stops`, which of its operands are on one."""
    on_way: set[Origin] = set(stops)
    masks: dict[Record, Mask] = {}
    for record in records:
        mask = tuple([source in on_way for source in record.sources])
        if any(mask):
            masks[record] = mask
            on_way.update(record.outputs)
    return masks


def _accumulate(total: dict[Origin, V], origin: Origin, term: V, apply: Applier[V]) -> None:
    held = total.get(origin)
    total[origin] = term if held is None else apply.add(held, term)
