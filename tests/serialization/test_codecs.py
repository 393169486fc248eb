"""Extension ops in files: made by registered codecs alone, refused in the contract's words."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ExtensionRegistryError,
    FileError,
    InvalidConfigError,
    MalformedFamilyIdError,
    UnsupportedADRuleError,
    UnsupportedExtensionError,
)
from tenferro.ops.extension import Extension, ExtensionOp, ExtensionRuleSet
from tenferro.runtime import GraphProgram
from tenferro.serialization import MissingExtension, PayloadCodecs, call, dumps, loads
from tests.ops.extension.cube import Table
from tests.serialization.families import MinMax, Mode, OldScale, Scale, ScaleRule, applied, scaled
from tests.serialization.headers import changed, header_of
from tests.serialization.samples import described

FAMILY = "tenferro-tests.scale.v2"
CODECS = PayloadCodecs().register(Scale).register(MinMax).register(Table, Table.of_payload)


def only_op(program: GraphProgram) -> ExtensionOp:
    """The extension op of a program that has one."""
    carrier = program.exec_program.instructions[-1].op
    assert isinstance(carrier, Extension)
    return carrier.op


def test_an_extension_op_survives_a_file() -> None:
    data = dumps(scaled())
    loaded = loads(data, codecs=CODECS)
    assert described(loaded) == described(scaled())
    op = only_op(loaded)
    assert op == Scale(-0.5, Mode.DOWN, note="größe")
    assert isinstance(op, Scale)
    assert op.mode is Mode.DOWN


def test_the_family_id_is_written_verbatim() -> None:
    payload = header_of(dumps(scaled()))["nodes"][1]["payload"]
    assert payload["family"] == FAMILY
    assert payload["values"][0] == {"float": "bfe0000000000000"}


def test_several_outputs_survive_a_file() -> None:
    program = applied(Extension(MinMax()))
    assert described(loads(dumps(program), codecs=CODECS)) == described(program)


def test_a_payload_of_ones_own_is_made_by_the_decoder_that_is_registered() -> None:
    program = applied(Extension(Table({"b": 1, "a": 2})))
    op = only_op(loads(dumps(program), codecs=CODECS))
    assert isinstance(op, Table)
    assert op.entries == {"a": 2, "b": 1}


def test_a_family_that_is_not_registered_is_refused() -> None:
    with pytest.raises(UnsupportedExtensionError) as caught:
        loads(dumps(scaled()))
    assert str(caught.value) == f"extension: {FAMILY}: not registered"
    assert (caught.value.op, caught.value.message) == ("extension", f"{FAMILY}: not registered")
    assert caught.value.family_id == FAMILY


def test_a_newer_family_names_both_versions() -> None:
    with pytest.raises(UnsupportedExtensionError) as caught:
        loads(dumps(scaled()), codecs=PayloadCodecs().register(OldScale))
    assert caught.value.message == (f"{FAMILY}: version mismatch, graph has v2, runtime has v1")


def test_an_older_family_names_both_versions() -> None:
    data = dumps(applied(Extension(OldScale(2.0))))
    with pytest.raises(UnsupportedExtensionError) as caught:
        loads(data, codecs=PayloadCodecs().register(Scale))
    assert caught.value.message == (
        "tenferro-tests.scale.v1: version mismatch, graph has v1, runtime has v2"
    )


def test_both_versions_of_a_family_can_be_registered() -> None:
    codecs = PayloadCodecs().register(Scale).register(OldScale)
    assert isinstance(only_op(loads(dumps(scaled()), codecs=codecs)), Scale)
    old = loads(dumps(applied(Extension(OldScale(2.0)))), codecs=codecs)
    assert isinstance(only_op(old), OldScale)


@pytest.mark.parametrize(
    "family", ["scale.v2", "a.b.c", "a.b.v01", "a.b.v-1", "", "a.b.v1\n", "os"]
)
@pytest.mark.parametrize("skip", [False, True])
def test_a_malformed_family_id_is_refused_before_it_is_looked_up(family: str, skip: bool) -> None:
    class Unasked(PayloadCodecs):
        def make(self, family_id: str, values: tuple[Any, ...]) -> ExtensionOp:
            raise AssertionError("looked up")

    data = changed(dumps(scaled()), "nodes/1/payload/family", family)
    with pytest.raises(MalformedFamilyIdError, match="does not match the namespaced format"):
        loads(data, codecs=Unasked(), skip_missing_extensions=skip)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([], "Scale cannot be made from it: zip"),
        ([1, 2, 3], "Scale cannot be made from it"),
        (["x", "up", [], {"dtype": "f64"}, None, {"bytes": ""}], "factor of Scale cannot be 'x'"),
        (
            [{"float": "3ff0000000000000"}, "left", [], {"dtype": "f64"}, None, {"bytes": ""}],
            "'left' is not a member of Mode",
        ),
        (
            [{"float": "3ff0000000000000"}, "up", [True], {"dtype": "f64"}, None, {"bytes": ""}],
            r"axes of Scale cannot be \(True,\)",
        ),
    ],
)
def test_a_malformed_payload_is_refused_with_its_family(values: Any, problem: str) -> None:
    data = changed(dumps(scaled()), "nodes/1/payload/values", values)
    with pytest.raises(InvalidConfigError, match=f"{FAMILY}: malformed payload: .*{problem}") as it:
        loads(data, codecs=CODECS)
    assert it.value.family_id == FAMILY


def test_a_decoder_must_make_the_op_that_was_written() -> None:
    codecs = PayloadCodecs().register(Scale, lambda values: Scale(1.0))
    with pytest.raises(
        InvalidConfigError, match=f"{FAMILY}: malformed payload: the Scale made from"
    ):
        loads(dumps(scaled()), codecs=codecs)


def test_other_types_than_the_family_infers_are_refused_with_its_family() -> None:
    data = changed(dumps(scaled()), "nodes/1/types/0", "f32[n,3]")
    text = rf"family_id={FAMILY}: node 1: the file says f32\[n,3\], but the op infers f64\[n,3\]"
    with pytest.raises(InvalidConfigError, match=text) as caught:
        loads(data, codecs=CODECS)
    assert caught.value.family_id == FAMILY


def test_another_number_of_operands_is_refused_with_its_family() -> None:
    data = changed(dumps(scaled()), "nodes/1/in", [1, 0])
    with pytest.raises(InvalidConfigError, match=f"family_id={FAMILY}: expected 1 input, got 2"):
        loads(data, codecs=CODECS)


def test_a_loaded_extension_is_differentiated_and_lowered_like_the_original() -> None:
    pytest.importorskip("jax")
    rules = ExtensionRuleSet()
    rules.register_rule(ScaleRule())
    context = tn.AdContext.builder().with_extension_rules(rules).build()
    loaded = loads(dumps(scaled()), codecs=CODECS)
    x = np.linspace(-1.0, 1.0, 6).reshape(2, 3)

    def f(program: GraphProgram, x: Any) -> Any:
        return tn.sum(tn.exp(call(program, x)))

    expected = 0.5 * np.exp(0.5 * x)
    for program in (scaled(), loaded):
        gradient = tn.grad(partial(f, program), ad_context=context)
        np.testing.assert_allclose(tn.jit(gradient)(x).numpy(), expected, rtol=1e-14)
        with pytest.raises(UnsupportedADRuleError, match=FAMILY):
            tn.grad(partial(f, program))(x)


class TestSkippedFamilies:
    """`skip_missing_extensions=True` leaves placeholders."""

    @pytest.fixture
    def program(self) -> GraphProgram:
        loaded = loads(dumps(scaled()), skip_missing_extensions=True)
        assert isinstance(loaded, GraphProgram)
        return loaded

    def test_a_placeholder_has_the_arity_and_types_that_were_written(
        self, program: GraphProgram
    ) -> None:
        step = program.exec_program.instructions[1]
        assert isinstance(step.op, MissingExtension)
        assert step.op.family_id == FAMILY
        assert (step.op.n_inputs, step.op.n_outputs) == (1, 1)
        assert step.op.types == ("f64[n,3]",)
        assert step.output_metas == scaled().exec_program.instructions[1].output_metas
        assert step.site == "scale.py:2"

    def test_it_is_written_verbatim(self, program: GraphProgram) -> None:
        assert dumps(program) == dumps(scaled())
        again = loads(dumps(program), skip_missing_extensions=True)
        assert dumps(again) == dumps(scaled())
        assert described(loads(dumps(again), codecs=CODECS)) == described(scaled())

    def test_it_is_never_taken_for_the_op(self, program: GraphProgram) -> None:
        assert program.digest != scaled().digest

    def test_a_family_that_is_known_is_not_skipped(self) -> None:
        loaded = loads(dumps(scaled()), codecs=CODECS, skip_missing_extensions=True)
        assert described(loaded) == described(scaled())

    def test_the_rest_of_a_program_is_checked_all_the_same(self) -> None:
        for path, value in [
            ("nodes/0/types/0", "f32[n,3]"),
            ("nodes/1/in/0", 9),
            ("nodes/1/types/0", "f64[n"),
            ("digest", "00"),
            ("nodes/1/payload/values/0", {"float": "3ff0000000000000"}),
        ]:
            with pytest.raises(FileError):
                loads(changed(dumps(scaled()), path, value), skip_missing_extensions=True)

    @pytest.mark.parametrize("shape", [(2, 3), ("n", 3)])
    @pytest.mark.parametrize("executor", ["numpy", "xla"])
    def test_it_raises_when_run(self, shape: tuple[Any, ...], executor: str) -> None:
        saved = dumps(applied(Extension(Scale(2.0)), *shape))
        program = loads(saved, skip_missing_extensions=True)
        run: Any = tn.GraphExecutor(tn.NumpyBackend()).run
        if executor == "xla":
            txla = pytest.importorskip("tenferro_xla", exc_type=ImportError)
            run = txla.XlaExecutor().run
        with pytest.raises(UnsupportedExtensionError, match=f"{FAMILY}: not registered; this op"):
            run(program, {"x": np.ones((2, 3))})

    def test_it_raises_when_compiled(self, program: GraphProgram) -> None:
        txla = pytest.importorskip("tenferro_xla", exc_type=ImportError)
        with pytest.raises(UnsupportedExtensionError, match=FAMILY):
            txla.XlaExecutor().lower(program, {"x": tn.TensorSpec((2, 3), "float64")})

    def test_it_raises_when_traced_and_when_differentiated(self, program: GraphProgram) -> None:
        def f(x: Any) -> Any:
            return tn.sum(call(program, x))

        with pytest.raises(UnsupportedExtensionError, match=FAMILY):
            tn.make_program(f, tn.TensorSpec((2, 3), "float64"))
        with pytest.raises(UnsupportedExtensionError, match=FAMILY):
            tn.grad(f)(np.ones((2, 3)))
        op = program.exec_program.instructions[1].op
        assert isinstance(op, MissingExtension)
        site: Any = None
        for use in (op.linearize, op.transpose_rule, op.evaluate):
            with pytest.raises(UnsupportedExtensionError, match=FAMILY):
                use(site)


class TestRegistry:
    """What can be registered."""

    def test_a_class_may_be_registered_again(self) -> None:
        assert list(PayloadCodecs().register(Scale).register(Scale)) == [FAMILY]

    def test_two_classes_of_one_family_are_refused(self) -> None:
        class Other(Scale):
            pass

        with pytest.raises(ExtensionRegistryError, match=f"{FAMILY}: already registered for Scale"):
            PayloadCodecs().register(Scale).register(Other)

    def test_a_class_without_family_is_refused(self) -> None:
        class Nameless(Table):
            FAMILY_ID = "nameless"

        with pytest.raises(MalformedFamilyIdError, match="'nameless' does not match"):
            PayloadCodecs().register(Nameless)

    def test_a_payload_of_ones_own_needs_a_decoder(self) -> None:
        with pytest.raises(ExtensionRegistryError, match="Table is not a dataclass"):
            PayloadCodecs().register(Table)

    def test_registries_share_nothing(self) -> None:
        PayloadCodecs().register(Scale)
        assert len(PayloadCodecs()) == 0
