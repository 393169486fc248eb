"""Damage to files at random: to bytes, to JSON, to both, with sound checksums or without."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

from tenferro.ops.control_flow import VOCABULARY
from tests.serialization.headers import (
    body_of,
    header_of,
    header_text,
    packed,
    places,
    sealed,
    sealed_header,
    with_header,
)

Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

ATOMS: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        2,
        3,
        -1,
        7,
        64,
        65,
        10**6,
        2**31,
        2**62,
        2**63 - 1,
        2**63,
        -(2**63),
    ),
    *(
        "",
        "n",
        "x",
        "f64[n,3]",
        "f64[]",
        "f64[?]",
        "f64[<=n]",
        "bool[2]",
        "i64[n + 1]",
        "c128[2*n]",
    ),
    *(
        "f64",
        "bool",
        "object",
        "\ud800",
        "\x00",
        "a" * 5000,
        "min(m, n)",
        "(n",
        "n*m",
        "-1",
        "extension",
    ),
    *(
        "a.b.v1",
        "tenferro-tests.scale.v1",
        "tenferro-tests.scale.v3",
        "program",
        "fragment",
        "__class__",
    ),
    *([], {}, [[]], [0, 1], [1, 0], {"float": "7ff8000000000001"}, {"float": "8000000000000000"}),
    *(
        {"complex": "00" * 16},
        {"bytes": "00"},
        {"size": "n"},
        {"size": "2*n"},
        {"size": "k"},
        {"array": 0},
    ),
    *(
        {"array": 99},
        {"program": 0},
        {"program": 1},
        {"dtype": "f32"},
        {"dtype": "c128"},
        {"kind": "tensor", "name": "x", "shared": True},
    ),
)


def mutated(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A file with one damage, or two, of which the second is to bytes."""
    data = rng.choice(MUTATIONS)(rng, data, others)
    if rng.random() < 0.15:
        data = rng.choice((flipped, cut, spliced, resealed))(rng, data, others)
    return data


def flipped(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A few bits changed."""
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The end, the beginning or something between left out."""
    start, end = sorted(rng.choices(range(len(data) + 1), k=2))
    return rng.choice((data[:start], data[end:], data[:start] + data[end:]))


def spliced(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A piece of another file, or of this, put in or put over what is there."""
    source = rng.choice([*others, data, bytes(200), b"\xff" * 200, rng.randbytes(200)])
    start, end = sorted(rng.choices(range(len(source) + 1), k=2))
    piece, at = source[start:end][: rng.choice((1, 8, 100, 10**6))], rng.randrange(len(data) + 1)
    return data[:at] + piece + data[at + rng.choice((0, len(piece))) :]


def resealed(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Bytes damaged, then given a sound length and checksum."""
    damaged = bytearray(rng.choice((flipped, cut, spliced))(rng, data, others))
    if len(damaged) >= 64:
        struct.pack_into("<Q", damaged, 16, len(damaged))
    return sealed(bytes(damaged))


def prefix_changed(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A length or version of the prefix replaced, under a sound checksum."""
    damaged = bytearray(data)
    where, form = rng.choice([(8, "<I"), (12, "<I"), (16, "<Q"), (24, "<Q")])
    (old,) = struct.unpack_from(form, damaged, where)
    new = rng.choice([0, 1, old - 1, old + 1, old + 64, 2**31, 2**32 - 1, len(data)])
    struct.pack_into(form, damaged, where, new % 2**32)
    return sealed(bytes(damaged))


def text_changed(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The JSON text damaged as text, in a file that is sound otherwise."""
    text = header_text(data)
    at = rng.randrange(len(text) + 1)
    pieces = [
        b"NaN",
        b"1.5",
        b"[" * 2000,
        b'{"a":' * 2000,
        b"9" * 5000,
        b"\xff\xfe",
        b",",
        b'"',
        b" ",
    ]
    pieces += [b"null", b"\\ud800", b"-0", b"1e400", b"}", b"]", rng.randbytes(4), b""]
    piece = rng.choice(pieces)
    return packed(text[:at] + piece + text[at + rng.choice((0, 1, len(piece))) :], body_of(data))


def header_changed(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Values of the header replaced, moved, doubled or left out, in canonical form again."""
    header = header_of(data)
    donors = [value for other in others for value in _values(header_of(other))]
    for _ in range(rng.choice((1, 1, 2))):
        spots = list(places(header))
        if not spots:
            break
        rng.choice(EDITS)(rng, *rng.choice(spots), donors)
    if rng.random() < 0.5:
        header = sealed_header(header)
    return with_header(data, header)


def blob_changed(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Bytes of blobs changed, with sound checksums of all kinds or without."""
    body = bytearray(body_of(data))
    if not body:
        return flipped(rng, data, others)
    body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
    header = header_of(data)
    for entry in header["blobs"] if rng.random() < 0.7 else []:
        piece = body[entry["offset"] : entry["offset"] + entry["length"]]
        entry["sha256"] = hashlib.sha256(piece).hexdigest()
    if rng.random() < 0.7:
        header = sealed_header(header)
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return packed(text.encode(), bytes(body))


MUTATIONS: tuple[Mutation, ...] = (
    *(flipped, cut, spliced, resealed, prefix_changed, text_changed, blob_changed),
    *[header_changed] * 8,
)


def _replaced(rng: random.Random, holder: Any, key: Any, donors: list[Any]) -> None:
    old = holder[key]
    if isinstance(old, int) and not isinstance(old, bool) and rng.random() < 0.5:
        holder[key] = old + rng.choice((-1, 1))
    elif isinstance(old, str) and rng.random() < 0.4:
        holder[key] = rng.choice([rng.choice(list(VOCABULARY)), old[:-1], old + "1", old[::-1]])
    else:
        holder[key] = copy.deepcopy(rng.choice(ATOMS))


def _transplanted(rng: random.Random, holder: Any, key: Any, donors: list[Any]) -> None:
    holder[key] = copy.deepcopy(rng.choice(donors))


def _removed(rng: random.Random, holder: Any, key: Any, donors: list[Any]) -> None:
    del holder[key]


def _doubled(rng: random.Random, holder: Any, key: Any, donors: list[Any]) -> None:
    value = copy.deepcopy(holder[key])
    if isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), value)
    else:
        holder[rng.choice(["extra", "axis", "value", "op", "in"])] = value


def _swapped(rng: random.Random, holder: Any, key: Any, donors: list[Any]) -> None:
    other = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


def _buried(rng: random.Random, holder: Any, key: Any, donors: list[Any]) -> None:
    for _ in range(rng.choice((1, 2, 40, 300))):
        holder[key] = [holder[key]]


EDITS = (_replaced, _replaced, _replaced, _transplanted, _removed, _doubled, _swapped, _buried)


def _values(header: Any) -> list[Any]:
    return [holder[key] for holder, key in places(header)]
