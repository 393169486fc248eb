"""ExtensionOp contract, section 11: what any serializer of extension ops must do."""

from __future__ import annotations

import pytest

import tenferro as tn
from tenferro.errors import MalformedFamilyIdError, UnsupportedExtensionError
from tenferro.ops.extension import ExtensionOp
from tests.serialization.families import OldScale, Scale, scaled
from tests.serialization.headers import changed, header_of

FAMILY = "tenferro-tests.scale.v2"
CODECS = tn.PayloadCodecs().register(Scale)


def test_section_11_the_family_id_is_written_verbatim() -> None:
    nodes = header_of(tn.dumps(scaled()))["nodes"]
    assert [node["payload"]["family"] for node in nodes if node["op"] == "extension"] == [FAMILY]


def test_section_11_a_malformed_family_id_is_rejected_before_it_is_looked_up() -> None:
    class Spy(tn.PayloadCodecs):
        def make(self, family_id: str, values: tuple[object, ...]) -> ExtensionOp:
            raise AssertionError("looked up")

    data = changed(tn.dumps(scaled()), "nodes/1/payload/family", "scale")
    with pytest.raises(
        MalformedFamilyIdError, match="'scale' does not match the namespaced format"
    ):
        tn.loads(data, codecs=Spy())


def test_section_11_payloads_are_made_by_an_explicit_registry_alone() -> None:
    data = tn.dumps(scaled())
    assert tn.loads(data, codecs=CODECS).digest == scaled().digest
    with pytest.raises(UnsupportedExtensionError):  # though the class is imported here
        tn.loads(data)


def test_section_11_an_absent_family_is_not_registered() -> None:
    with pytest.raises(UnsupportedExtensionError) as caught:
        tn.loads(tn.dumps(scaled()))
    assert (caught.value.op, caught.value.message) == ("extension", f"{FAMILY}: not registered")


def test_section_11_a_newer_family_is_a_version_mismatch_with_both_versions() -> None:
    with pytest.raises(UnsupportedExtensionError) as caught:
        tn.loads(tn.dumps(scaled()), codecs=tn.PayloadCodecs().register(OldScale))
    assert (caught.value.op, caught.value.message) == (
        "extension",
        f"{FAMILY}: version mismatch, graph has v2, runtime has v1",
    )


def test_section_11_a_skipped_extension_is_an_error_producing_placeholder() -> None:
    program = tn.loads(tn.dumps(scaled()), skip_missing_extensions=True)
    assert len(program.exec_program.instructions) == 2
    with pytest.raises(UnsupportedExtensionError, match=FAMILY):
        tn.GraphExecutor(tn.NumpyBackend()).run(program, {"x": [[1.0, 2.0, 3.0]]})
