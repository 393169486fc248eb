"""Names of values in printed text."""

from tenferro.core import GlobalValKey, Tangent, input_key, name_of, op_key
from tests.core.plain_ops import PlainOp, Split
from tests.toy import EXP, MUL, real
from tests.toy_graphs import text_of


def test_an_input_is_named_by_its_key() -> None:
    assert name_of(input_key(real("x"))) == "x"
    assert name_of(input_key(("x", 1))) == "('x', 1)"


def test_a_value_is_named_by_the_expression_it_is() -> None:
    x, a = input_key("x"), input_key("a")
    product = op_key(MUL, (x, a)).output(0)
    assert name_of(op_key(EXP, (product,)).output(0)) == "exp(mul(x, a))"


def test_an_output_of_several_is_named_with_its_slot() -> None:
    assert name_of(op_key(Split(2), (input_key("x"),)).output(1)) == "split[2](x).1"


def test_an_op_without_operands_is_named_without_brackets() -> None:
    assert name_of(op_key(PlainOp("pi", n_inputs=0), ()).output(0)) == "pi"


def test_a_deep_expression_is_cut_off() -> None:
    value: GlobalValKey = input_key("x")
    for _ in range(4):
        value = op_key(EXP, (value,)).output(0)
    assert name_of(value) == "exp(exp(exp(…)))"


def test_a_wide_expression_is_cut_off() -> None:
    wide = PlainOp("concatenate", n_inputs=None)
    value: GlobalValKey = input_key("x")
    for _ in range(3):
        value = op_key(wide, (value,) * 1000).output(0)
    inner = "concatenate(x, x, x, x, …)"
    assert name_of(op_key(wide, (input_key("x"),) * 5).output(0)) == inner
    assert len(name_of(value)) < 1000


def test_a_tangent_is_named_by_what_it_is_the_tangent_of() -> None:
    x = input_key(real("x"))
    exp_x = op_key(EXP, (x,)).output(0)
    tangent = input_key(Tangent(exp_x, 3))
    assert name_of(tangent) == "d3(exp(x))"
    assert text_of(name_of(input_key(Tangent(tangent, 4)))) == "d(d(exp(x)))"
