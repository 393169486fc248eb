"""What is done to a payload after an op was applied changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ExtensionRegistryError, InvalidConfigError
from tenferro.extension import DType, ExtensionOp, OutputMeta, Package, apply, family_id


@family_id(namespace="tests", name="table", version=1)
@dataclass(frozen=True)
class Table(ExtensionOp):
    """Multiplies by a table."""

    table: Any
    more: tuple[Any, ...] = ()

    input_count = 1
    output_count = 1

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[Any]
    ) -> list[OutputMeta]:
        return [OutputMeta(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Sequence[Any]) -> list[Any]:
        return [inputs[0] * self.table]


def test_an_array_that_changes_after_apply_does_not_change_the_op() -> None:
    table, inner = np.array([2.0, 3.0]), np.zeros(1)
    carrier = tn.extension.Extension(Table(table, (inner, 1)))
    digest = carrier.identity
    table[0], inner[0] = 100.0, 5.0
    assert carrier.op.table.tolist() == [2.0, 3.0]  # type: ignore[attr-defined]
    assert carrier.op.more[0].tolist() == [0.0]  # type: ignore[attr-defined]
    assert carrier.identity == digest == tn.extension.Extension(carrier.op).identity
    assert not carrier.op.table.flags.writeable  # type: ignore[attr-defined]


def test_an_op_without_arrays_is_kept_as_it_is() -> None:
    op = Table(2.0)
    assert tn.extension.Extension(op).op is op


def test_a_view_of_an_array_that_can_change_is_copied() -> None:
    base = np.ones(2)
    view = base[:]
    view.flags.writeable = False
    carrier = tn.extension.Extension(Table(view))
    earlier = np.ones(2)
    writer = earlier[:]
    earlier.flags.writeable = False
    owner = tn.extension.Extension(Table(earlier))
    base[0] = writer[0] = 7
    assert carrier.op.table.tolist() == [1, 1]  # type: ignore[attr-defined]
    assert owner.op.table.tolist() == [1, 1]  # type: ignore[attr-defined]
    assert tn.extension.Extension(owner.op).op is owner.op


@family_id(namespace="frozen-tests", name="sized", version=1)
@dataclass(frozen=True)
class Sized(ExtensionOp):
    """An op of which a test says what it infers."""

    meta: Any
    table: Any = None
    input_count = 1
    output_count = 1

    def payload(self) -> Any:
        return () if self.table is None else (self.table,)

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [self.meta]

    def eager_execute(self, inputs: Any) -> Any:
        return inputs


@pytest.mark.parametrize(
    ("op", "text"),
    [
        (lambda: Sized((None, (2,))), "the dtype is None"),
        (lambda: Sized(("f64", ("zz",))), "no input has the size zz"),
        (lambda: Sized(("f64", (2,)), np.array([object()])), "dtype: object is not supported"),
    ],
)
def test_what_an_op_infers_or_holds_must_be_known(op: Callable[[], Any], text: str) -> None:
    with pytest.raises(InvalidConfigError, match=text):
        apply(op(), np.ones(2))


def test_numbers_of_numpy_in_a_payload_are_python_s() -> None:
    for given, held in ((np.int32(3), 3), (np.bool_(True), True), ((np.uint8(1), 2.0), (1, 2.0))):
        op = Table(given)
        carried = tn.extension.Extension(op).op.payload()[0]
        assert op.payload_eq(Table(held))
        assert (carried, type(carried)) == (held, type(held))


class Derived(Sized):
    """Of no family of its own."""


def test_two_classes_are_not_of_one_family() -> None:
    match = r"Derived: is derived from Sized, of the family 'frozen-tests.sized.v1', and two"
    with pytest.raises(ExtensionRegistryError, match=match):
        apply(Derived(("f64", (2,))), np.ones(2))
    with pytest.raises(ExtensionRegistryError, match=match):
        Package("frozen-tests", ops=(Sized, Derived))


class Prunes(Sized):
    FAMILY_ID = "frozen-tests.prunes.v1"
    output_count = 2

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [("f64", input_shapes[0])] * 2

    def prune_outputs(self, live: Any) -> Any:
        return self.meta() if callable(self.meta) else self.meta


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda: {}["boom"], "prune_outputs failed: KeyError: 'boom'"),
        (3, "prune_outputs returned 3; return an op, or None"),
    ],
)
def test_what_prune_outputs_returns_is_an_op_or_none(result: Any, text: str) -> None:
    with pytest.raises(InvalidConfigError, match=f"prunes.v1: {text}"):
        tn.make_program(lambda x: apply(Prunes(result), x)[0], np.ones(2))
