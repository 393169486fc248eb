"""What is wrong with notation or operands is said before anything runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_ext_tropical as tropical
from tenferro.errors import DTypeError, ShapeError
from tenferro.extension import InvalidConfigError
from tenferro_ext_tropical import SubscriptsError, TropicalEinsum, TropicalEinsumJvp

ROWS = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("notation", "operands", "text"),
    [
        (3, [ROWS], "subscripts must be text, got a int"),
        ("ij", [ROWS, ROWS], "'ij' describes 1 operands, but 2 are given"),
        ("ij,jk", [ROWS], "'ij,jk' describes 2 operands, but 1 are given"),
        ("i1", [ROWS], "'i1' has '1' where a label is expected; labels are letters"),
        ("ij->i->j", [ROWS], "has '-' where a label is expected"),
        ("i..", [ROWS], "has '.' where a label is expected"),
        ("......", [ROWS], "has '.' where a label is expected"),
        ("i", [ROWS], "'i' has 1 labels for operand 0, which has rank 2"),
        ("ij...k", [ROWS], "'ij...k' has 3 labels for operand 0, which has rank 2"),
        ("ij->ii", [ROWS], "the result of 'ij->ii' has the label 'i' twice"),
        ("ij->k", [ROWS], "the result of 'ij->k' has the label 'k', which no operand has"),
        ("...j->j", [ROWS], "has an ellipsis that the result lacks"),
    ],
)
def test_wrong_notation(notation: Any, operands: list[Any], text: str) -> None:
    with pytest.raises(SubscriptsError) as caught:
        tropical.einsum(notation, *operands)
    assert str(caught.value).startswith("einsum: ")
    assert text in str(caught.value)


def test_sizes_of_one_label_differ_between_operands() -> None:
    text = "label 'j' has size 3 on axis 1 of operand 0 and size 2 on axis 0 of operand 1"
    with pytest.raises(ShapeError, match=text):
        tropical.einsum("ij,jk", ROWS, ROWS)


def test_sizes_of_one_label_differ_within_an_operand() -> None:
    text = "label 'i' has size 2 on axis 0 of operand 0 and size 3 on axis 1 of operand 0"
    with pytest.raises(ShapeError, match=text):
        tropical.einsum("ii", ROWS)


def test_a_wrong_size_among_many_operands_is_found_before_any_step() -> None:
    with pytest.raises(ShapeError, match=r"label 'k' .* operand 1 .* operand 3"):
        tropical.einsum("ij,jk,ij,kl->il", ROWS, ROWS.T, ROWS, ROWS.T)


@pytest.mark.parametrize(
    ("dtype", "why"),
    [
        ("complex128", "complex numbers have no order; take real parts"),
        ("int64", "integers have no infinity to stand for the tropical zero; convert to float64"),
        ("uint8", "integers have no infinity"),
        ("bool", "it must be float32 or float64"),
        ("float16", "it must be float32 or float64"),
    ],
)
def test_dtypes_without_an_order_or_a_zero(dtype: str, why: str) -> None:
    with pytest.raises(DTypeError, match=f"einsum: operand 1 is {dtype}: {why}"):
        tropical.einsum("ij,ij", ROWS, ROWS.astype(dtype))


def test_symbolic_sizes_that_differ_are_found_when_they_are_known(executor: Any) -> None:
    program = tn.make_program(
        lambda a, b: tropical.einsum("ij,jk", a, b),
        tn.TensorSpec(("n", "m")),
        tn.TensorSpec(("p", "q")),
    )
    with pytest.raises(ShapeError, match="label 'b' has size 3 on axis 1 of operand 0 and size 2"):
        executor.run(program, {"a": ROWS, "b": ROWS})


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (("plus", (0,), (0,), ()), "kind 'plus' is none of maxplus, minplus"),
        (("maxplus", (1,), (0,), ()), "are not numbered by appearance"),
        (("maxplus", (0,), (2,), ()), "are not numbered by appearance"),
        (("maxplus", (0,), (0,), (0, 0)), "are not distinct labels of the operands"),
        (("maxplus", (0,), (0,), (1,)), "are not distinct labels of the operands"),
    ],
)
def test_a_malformed_payload_names_the_family(payload: Any, text: str) -> None:
    with pytest.raises(InvalidConfigError, match=text) as caught:
        TropicalEinsum(*payload)
    assert caught.value.family_id == TropicalEinsum.FAMILY_ID
    assert TropicalEinsum.FAMILY_ID in str(caught.value)


def test_a_derivative_of_no_operand_is_malformed() -> None:
    with pytest.raises(InvalidConfigError, match="operands \\(\\) is none of"):
        TropicalEinsumJvp("maxplus", (0,), (0,), (), ())


def test_operands_given_straight_to_the_op_are_checked_as_well() -> None:
    op = TropicalEinsum("maxplus", (0, 1), (1,), (0,))
    with pytest.raises(SubscriptsError, match=r"'ab,b->a' has 1 labels for operand 1, .* rank 2"):
        op.eager_execute([ROWS, ROWS])
    with pytest.raises(DTypeError, match="operands have dtypes float64, float32; convert them"):
        op.eager_execute([ROWS, np.zeros(3, "float32")])
    with pytest.raises(SubscriptsError, match="the tangent of operand 0 has rank 1, not 2"):
        TropicalEinsumJvp("maxplus", (0, 1), (1,), (0,), (0,)).eager_execute(
            [ROWS, ROWS[0], ROWS[0]]
        )
