"""Errors of array functions name the function that the user called."""

from tenferro.errors import TenferroError
from tenferro.ops.functions.dispatch import _named_after_call as named_after_call
from tests.core.test_user_frames import CALLS, of_package


def test_the_text_of_an_error_names_the_function_that_was_called() -> None:
    names = of_package(
        CALLS + "fail = lambda: named(error('add: operands'), 'add').args[0]",
        named=named_after_call,
        error=TenferroError,
    )
    assert names["outer"](names["fail"]) == "outer: operands"
    assert names["inner"](names["fail"]) == "inner: operands"
    assert str(named_after_call(TenferroError("add: operands"), "add")) == "add: operands"
    assert str(named_after_call(TenferroError("sub: operands"), "add")) == "sub: operands"
    assert named_after_call(TenferroError(1, 2), "add").args == (1, 2)
