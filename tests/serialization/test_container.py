"""The container: each damage is found, and named, before anything is made of the bytes."""

from __future__ import annotations

import struct

import pytest

from tenferro.errors import FileError
from tenferro.serialization import canonical_json, loads, pack, unpack
from tenferro.serialization.container import parse
from tests.serialization.headers import body_of, header_text, packed, sealed

DATA = pack({"b": [1, None, True], "a": "größe"}, [b"abc", b"", b"x" * 64])


def test_the_parts_of_a_file_come_back() -> None:
    header, body = unpack(DATA)
    assert header == {"a": "größe", "b": [1, None, True]}
    assert bytes(body) == b"abc" + bytes(61) + b"x" * 64


def test_blobs_begin_at_multiples_of_64_bytes() -> None:
    assert DATA.index(b"abc" + bytes(61)) % 64 == 0
    assert DATA.index(b"x" * 64) % 64 == 0


def test_a_file_can_be_built_from_its_description() -> None:
    assert packed(header_text(DATA), body_of(DATA)) == DATA


def test_a_file_that_was_cut_off_is_refused_wherever_it_was_cut() -> None:
    for length in range(len(DATA)):
        with pytest.raises(FileError, match=r"magic bytes|it should have"):
            unpack(DATA[:length])


def test_every_changed_bit_is_found() -> None:
    for position in range(8 * len(DATA)):
        damaged = bytearray(DATA)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(FileError):
            unpack(bytes(damaged))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "file: this is not a tenferro file: it does not begin with its magic bytes"),
        (b"PK\x03\x04" + bytes(100), "file: this is not a tenferro file"),
        (DATA + b"\n", rf"file: it should have {len(DATA)} bytes, but has {len(DATA) + 1}"),
        (
            packed(b"{}", b"", version=2),
            "file: the format has version 2, this tenferro reads version 1",
        ),
        (sealed(DATA[:12] + b"\1" + DATA[13:]), "file: reserved bytes of the prefix are not zero"),
        (
            sealed(DATA[:24] + struct.pack("<Q", 2**64 - 1) + DATA[32:]),
            rf"file: a header of {2**64 - 1} bytes does not fit a file of {len(DATA)} bytes",
        ),
        (DATA[:-1] + b"\0", "file: the checksum is wrong; the file is damaged"),
    ],
)
def test_what_is_wrong_with_the_bytes_is_said(data: bytes, match: str) -> None:
    with pytest.raises(FileError, match=match):
        unpack(data)


@pytest.mark.exhaustive(but=5)
@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"{", "file: the header is not JSON"),
        (b"\xff", "file: the header is not JSON: 'utf-8' codec"),
        (b"[" * 10**6, "file: the header is nested more than 64 deep"),
        (b'{"a":' * 10**6, "file: the header is nested more than 64 deep"),
        (b"[" * 65 + b"]" * 65, "file: the header is nested more than 64 deep"),
        (b'["' + b"\\" * 10**6, "file: the header is not JSON"),
        (b'"' * (10**6 + 1), "file: the header is not JSON"),
        (b'{"a":1,"a":1}', "file: the header has a key twice in one object"),
        (b'{"a":NaN}', "file: NaN in the header is not an integer"),
        (b'{"a":-Infinity}', "file: -Infinity in the header is not an integer"),
        (b'{"a":1.0}', r"file: 1\.0 in the header is not an integer"),
        (b'{"a":1e5}', "file: 1e5 in the header is not an integer"),
        (b'{"a":' + b"9" * 10**6 + b"}", "an integer of the header does not fit 64 bits"),
        (b'{"a": 1}', "file: the header is not in canonical form"),
        (b'{"b":1,"a":1}', "file: the header is not in canonical form"),
        (b'{"a":-0}', "file: the header is not in canonical form"),
        (b'{"a":"\\u0061"}', "file: the header is not in canonical form"),
        (b'{"a":"\\ud800"}', r"file: .* is not Unicode text"),
        (b'{"a":1}\n', "file: the header is not in canonical form"),
    ],
)
def test_a_header_has_one_form(text: bytes, match: str) -> None:
    with pytest.raises(FileError, match=match):
        parse(text)
    with pytest.raises(FileError, match=match):
        loads(packed(text, b""))


def test_brackets_in_texts_are_no_nesting() -> None:
    text = b'["' + b"[" * 1000 + b'\\"' + b"{" * 1000 + b'"]'
    assert parse(text) == ["[" * 1000 + '"' + "{" * 1000]


def test_a_text_that_is_not_unicode_cannot_be_written() -> None:
    with pytest.raises(FileError, match=r"file: .* is not Unicode text"):
        canonical_json({"name": "\ud800"})


@pytest.mark.parametrize("header", [b"[]", b"3", b'"x"', b"null", b"{}", b'{"blobs":[]}'])
def test_a_header_is_an_object_of_a_known_kind(header: bytes) -> None:
    with pytest.raises(FileError, match=r"must be an object|must be a list|not a kind of file"):
        loads(packed(header, b""))


def test_only_bytes_are_loaded() -> None:
    with pytest.raises(FileError, match="file: takes bytes, got a str"):
        loads("text")  # type: ignore[arg-type]
