"""Headers of files, taken out, changed, and put back with sound lengths and checksums."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from typing import Any

PREFIX = 32


def header_of(data: bytes) -> Any:
    """The parsed header."""
    return json.loads(header_text(data))


def header_text(data: bytes) -> bytes:
    """The header's bytes."""
    (length,) = struct.unpack_from("<Q", data, 24)
    return data[PREFIX : PREFIX + length]


def body_of(data: bytes) -> bytes:
    """The bytes of the blobs."""
    return data[padded(PREFIX + len(header_text(data))) : -32]


def packed(header: bytes, body: bytes, version: int = 1) -> bytes:
    """A file of these parts."""
    padding = bytes(padded(PREFIX + len(header)) - PREFIX - len(header))
    total = PREFIX + len(header) + len(padding) + len(body) + 32
    prefix = struct.pack("<8sIIQQ", b"\x89TNF\r\n\x1a\n", version, 0, total, len(header))
    return sealed(prefix + header + padding + body + bytes(32))


def sealed(data: bytes) -> bytes:
    """The bytes with a sound checksum at their end."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def with_header(data: bytes, header: Any) -> bytes:
    """The file with another header, in canonical form."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return packed(text.encode("utf-8", "surrogatepass"), body_of(data))


def changed(data: bytes, path: str, value: Any) -> bytes:
    """The file with the value at `path`, such as `nodes/0/op`, replaced."""
    header = header_of(data)
    at = header
    *way, last = path.split("/")
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at[step]
    at[int(last) if isinstance(at, list) else last] = value
    return with_header(data, header)


def sealed_header(header: Any) -> Any:
    """The header with the identity that belongs to it, as far as it has the form of one."""
    meant = {key: value for key, value in header.items() if key != "identity"}
    meant["nodes"] = without_sites(meant.get("nodes"))
    if meant["nodes"] is None:
        del meant["nodes"]
    bodies = meant.get("bodies")
    if isinstance(bodies, list):
        meant["bodies"] = [
            {**body, "nodes": without_sites(body["nodes"])}
            if isinstance(body, dict) and "nodes" in body
            else body
            for body in bodies
        ]
    text = json.dumps(meant, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    identity = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {**header, "identity": identity}


def without_sites(nodes: Any) -> Any:
    """Nodes without where they were recorded, as far as they have the form of nodes."""
    if isinstance(nodes, list) and all(isinstance(node, dict) for node in nodes):
        return [{**node, "site": None} for node in nodes]
    return nodes


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container within a JSON value, with each key or index in it."""
    stack = [value]
    while stack:
        top = stack.pop()
        if not isinstance(top, dict | list):
            continue
        for key in top if isinstance(top, dict) else range(len(top)):
            yield top, key
            stack.append(top[key])


def padded(position: int) -> int:
    return -(-position // 64) * 64
