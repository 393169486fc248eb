"""The files that are kept: `python -m tests.golden.stored` writes those that are missing.

A file that is there is never written again: what is in it was promised to stay readable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tenferro.serialization import dumps
from tests.serialization.families import scaled
from tests.serialization.samples import samples
from tests.serialization.test_fragments import SAMPLES as FRAGMENTS

DIRECTORY = Path(__file__).with_name("files")
SUFFIX = ".tenferro"


def values() -> dict[str, Any]:
    """What the files hold, by their names."""
    fragments = {f"fragment_{name}": value for name, value in FRAGMENTS.items()}
    return {**samples(), "extension": scaled(), **fragments}


def path_of(name: str) -> Path:
    """Where the file of that name is."""
    return DIRECTORY / (name + SUFFIX)


if __name__ == "__main__":
    for name, value in values().items():
        if not path_of(name).exists():
            path_of(name).write_bytes(dumps(value))
