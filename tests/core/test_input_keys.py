"""Keys of the inputs that AD transforms create."""

from concurrent.futures import ThreadPoolExecutor

from tenferro.core import Cotangent, Tangent, fresh_pass_id, input_key, op_key
from tests.toy import EXP, real

X = input_key(real("x"))


def test_no_two_passes_share_a_number() -> None:
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: fresh_pass_id(), range(1000)))
    assert len(set(numbers)) == 1000


def test_tangents_are_told_apart_by_value_and_pass() -> None:
    exp_x = op_key(EXP, (X,)).output(0)
    keys = [Tangent(X, 1), Tangent(X, 2), Tangent(exp_x, 1), Cotangent(0, 1), Cotangent(1, 1)]
    assert len({input_key(key) for key in keys}) == 5
    assert input_key(Tangent(X, 1)) is input_key(Tangent(X, 1))


def test_keys_print_in_the_notation_of_fragments() -> None:
    assert str(Tangent(X, 1)) == "d1(x)"
    assert str(Cotangent(0, 2)) == "ct2[0]"
