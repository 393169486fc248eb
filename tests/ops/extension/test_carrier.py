"""The carrier where the contract's own tests do not look: texts, extents, pickled errors."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro.errors import (
    BackendFailureError,
    ExtensionError,
    InvalidConfigError,
    ParseError,
    UnsupportedADRuleError,
)
from tenferro.extension import Extension, family_id
from tenferro.shape import RuntimeAxis, TensorMeta, Unknown, UpperBound, symbol
from tests.testing.families import Pair, X, Y

F64 = TensorMeta.of("f64", ())
SIZE = symbol(RuntimeAxis(1, 0))


class Swapped(Pair):
    """Says of its payload what the fields do not."""

    def payload(self) -> tuple[object, ...]:
        return ("swapped", (self.scale, None))


def test_the_text_shows_the_payload_and_not_only_the_fields() -> None:
    assert str(Extension(Pair(3.0))) == "extension[family_id='tests.pair.v1', scale=3.0]"
    text = "extension[family_id='tests.pair.v1', payload=('swapped', (2.0, None))]"
    assert str(Extension(Swapped())) == text
    assert Extension(Pair()).label == "pair"


def test_a_program_of_an_unknown_family_or_payload_is_not_parsed() -> None:
    spec = tn.TensorSpec((2, 3))
    program = tn.make_program(lambda x, y: tn.extension.apply(Swapped(), x, y), spec, spec)
    text = str(program.exec_program)
    with pytest.raises(ParseError, match="no class is given for the extension family"):
        parse(text)
    with pytest.raises(ParseError, match=r"parse: tests\.pair\.v1 cannot be read: .*payload"):
        parse(text, [Pair])


@pytest.mark.parametrize("extent", [UpperBound(4, SIZE), Unknown(SIZE)])
def test_extents_that_certainly_have_one_size_are_one_symbol(extent: Any) -> None:
    meta = F64.with_extents([extent])
    assert Extension(Pair()).infer_all([meta, meta]) == (meta, meta)
    other = F64.with_extents([type(extent)(*([4] if type(extent) is UpperBound else []))])

    seen: list[bool] = []

    class Asks(Pair):
        def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
            seen.append(input_shapes[0] == input_shapes[1])
            return super().infer_output_meta(input_dtypes, input_shapes)

    Extension(Asks()).infer_all([meta, meta])
    Extension(Asks()).infer_all([other, other])
    assert seen == [True, False]


def test_a_size_that_follows_from_no_input_keeps_its_guarantee() -> None:
    @family_id(namespace="tests", name="fixed", version=1)
    class Fixed(Pair):
        def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
            (rows,) = input_shapes[0]
            return [(input_dtypes[0], (7,)), (input_dtypes[0], (rows, rows + 1))]

    meta = F64.with_extents([UpperBound(4)])
    assert [str(out) for out in Extension(Fixed()).infer_all([meta, meta])] == [
        "f64[7]",
        "f64[<=4,<=5]",
    ]


def test_the_op_is_the_same_for_all_sizes_of_symbols() -> None:
    op = Extension(Pair())
    assert op.symbols() == set()
    assert op.bind({}) is op


@pytest.mark.parametrize(
    "error",
    [
        InvalidConfigError("a.b.v1", "family_id=a.b.v1: wrong"),
        BackendFailureError("a.b.v1", "a.b.v1: broken", "eager"),
        UnsupportedADRuleError("a.b.v1", "transpose", "no rule"),
    ],
)
def test_errors_are_pickled_with_their_family(error: Any) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    assert isinstance(again, ExtensionError | UnsupportedADRuleError)


def test_a_program_that_prunes_keeps_to_its_sites() -> None:
    program = tn.make_program(
        lambda x, y: tn.extension.apply(Pair(), x, y)[0],
        tn.TensorSpec(X.shape),
        tn.TensorSpec(Y.shape),
    )
    (step,) = program.exec_program.instructions
    assert step.site is not None
    assert "test_carrier.py" in step.site
