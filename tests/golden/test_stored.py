"""Files that were written once load for good, and the same bytes are written today."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.runtime import GraphProgram
from tenferro.serialization import PayloadCodecs, dumps, loads
from tests.golden.stored import DIRECTORY, SUFFIX, path_of, values
from tests.serialization.families import Scale
from tests.serialization.samples import described, samples

CODECS = PayloadCodecs().register(Scale)
STORED = sorted(DIRECTORY.glob(f"*{SUFFIX}"))
VALUES = values()


def test_every_value_has_its_file() -> None:
    assert {path.name.removesuffix(SUFFIX) for path in STORED} >= VALUES.keys()


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
def test_a_stored_file_loads_and_is_written_with_the_same_bytes(path: Path) -> None:
    assert dumps(tn.load(path, codecs=CODECS)) == path.read_bytes()


@pytest.mark.parametrize("name", [name for name in VALUES if "fragment" not in name])
def test_the_same_program_has_the_same_bytes_today(name: str) -> None:
    assert dumps(VALUES[name]) == path_of(name).read_bytes()


@pytest.mark.parametrize("name", samples())
def test_a_stored_program_is_what_it_was(name: str) -> None:
    assert described(tn.load(path_of(name))) == described(samples()[name])


def stored(name: str) -> GraphProgram:
    program: Any = loads(path_of(name).read_bytes(), codecs=CODECS)
    assert isinstance(program, GraphProgram)
    return program


def test_a_stored_program_computes_what_it_did() -> None:
    x = np.array([[0.1, -0.2, 0.3]])
    w = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
    b = np.array([0.5, -0.25, 1.0, 2.0])
    total, hidden, again = tn.call(stored("layer"), x, w, b)
    np.testing.assert_allclose(hidden.numpy(), np.tanh(x @ w + b), rtol=1e-14)
    np.testing.assert_allclose(total.item(), np.tanh(x @ w + b).sum(), rtol=1e-14)
    assert again.item() == total.item()


def test_stored_literals_have_the_bits_they_had() -> None:
    results = tn.GraphExecutor(tn.NumpyBackend()).run(stored("literals"), {})
    bits = [each.numpy().tobytes().hex() for each in results]
    assert bits == [
        "0100",
        "80",
        "ff" * 8,
        "00000000000000800000807f0000c07f",
        "59f3f8c21f6ea50101000000000000009a9999999999b93f",
        "000000800000803f",
        "000000000000f03f0000000000000080",
        "ff7b",
        "",
        "00000000000000800000807f0000c07f",
    ]
