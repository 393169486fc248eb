"""Mutated files: refused with a typed error, or what they say, and nothing in between.

Try more of them with `--mutations N`; `-s` shows what became of them.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from typing import Any

import pytest

from tenferro.errors import TenferroError
from tenferro.runtime import GraphProgram
from tenferro.serialization import PayloadCodecs, dumps, loads
from tests.serialization.families import Scale, scaled
from tests.serialization.headers import body_of, header_of
from tests.serialization.mutations import MUTATIONS, mutated
from tests.serialization.samples import bits, samples
from tests.serialization.test_fragments import SAMPLES as FRAGMENTS
from tests.serialization.work import at_most

CODECS = PayloadCodecs().register(Scale)


def allowed_calls(data: bytes) -> int:
    """How many functions may be called to read a file: in proportion to its length."""
    return 20_000 + 300 * len(data)


def corpus() -> dict[str, bytes]:
    """Files of every kind."""
    values: dict[str, Any] = {**samples(), "extension": scaled(), **FRAGMENTS}
    return {name: dumps(value) for name, value in values.items()}


CORPUS = corpus()


def outcome(original: bytes, data: bytes, skip: bool) -> str:
    """What becomes of a mutated file; an error that is not typed goes on to the caller."""
    try:
        with at_most(allowed_calls(data)):
            value = loads(data, codecs=CODECS, skip_missing_extensions=skip)
    except TenferroError as error:
        return f"refused: {type(error).__name__}"
    assert dumps(value) == data  # it is what the file says, to the bit
    if data == original:
        return "unchanged"
    if meaning(data) == meaning(original):
        return "other sites"
    assert header_of(data)["identity"] != header_of(original)["identity"]
    assert_says(value, header_of(data))
    return "another file, sealed as such"


def meaning(data: bytes) -> str:
    """All of a file but where its nodes were recorded."""
    header = header_of(data)
    for nodes in [header.get("nodes", ()), *(body["nodes"] for body in header.get("bodies", ()))]:
        for node in nodes:
            node["site"] = None
    return json.dumps([header, body_of(data).hex()], sort_keys=True)


def assert_says(value: Any, header: Any) -> None:
    """What was loaded is what an independent reading of the header finds there."""
    if not isinstance(value, GraphProgram):
        return  # its bytes are compared, which say all of it
    program = value.exec_program
    assert program.digest == header["digest"] or "extension" in str(header["nodes"])
    assert [each.name for each in value.inputs] == [each["name"] for each in header["inputs"]]
    assert [str(each.meta) for each in value.inputs] == [each["type"] for each in header["inputs"]]
    assert [step.site for step in program.instructions] == [e["site"] for e in header["nodes"]]
    assert list(program.output_slots) == header["outputs"]
    assert [[str(g.left), str(g.right), g.reason] for g in value.guards] == [
        [g["left"], g["right"], g["reason"]] for g in header["guards"]
    ]
    for each, written in zip(value.inputs, header["inputs"], strict=True):
        assert (each.default is None) == (written["default"] is None)
        if each.default is not None:
            assert len(bits(each.default)[1]) == header["blobs"][written["default"]]["length"]


def test_no_mutated_file_is_taken_for_another(mutations: int) -> None:
    files = list(CORPUS.values())
    outcomes: Counter[str] = Counter()
    for seed in range(mutations):
        rng = random.Random(seed)
        original = rng.choice(files)
        data = mutated(rng, original, files)
        try:
            result = outcome(original, data, rng.random() < 0.3)
        except Exception as error:
            error.add_note(f"with seed {seed}")
            raise
        outcomes[result.split(":")[0]] += 1
    sys.stdout.write(f"{dict(outcomes)}\n")  # shown with -s
    assert outcomes["refused"] > 0.9 * mutations
    assert outcomes.total() == mutations


def test_a_program_that_was_accepted_has_the_digest_of_the_original(mutations: int) -> None:
    """The digest is written, so no change of what is computed is accepted, whoever sealed it."""
    files = [data for data in CORPUS.values() if header_of(data)["kind"] == "program"]
    for seed in range(mutations // 5):
        rng = random.Random(-1 - seed)
        original = rng.choice(files)
        data = mutated(rng, original, [original])
        try:
            value = loads(data, codecs=CODECS)
        except TenferroError:
            continue
        assert header_of(data)["digest"] == header_of(original)["digest"], seed
        assert value.digest == header_of(original)["digest"], seed


@pytest.mark.parametrize("mutation", MUTATIONS[:8], ids=lambda each: each.__name__)
def test_every_kind_of_mutation_reaches_the_reader(mutation: Any) -> None:
    files = list(CORPUS.values())
    errors = set()
    for seed in range(40):
        rng = random.Random(seed)
        data = mutation(rng, rng.choice(files), files)
        try:
            loads(data, codecs=CODECS)
        except TenferroError as error:
            errors.add(str(error)[:30])
    assert errors
