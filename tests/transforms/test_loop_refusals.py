"""What loops and branches refuse, and how they say it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    AxisError,
    ControlFlowError,
    DTypeError,
    PytreeError,
    ShapeError,
    TenferroError,
    TracingError,
    UnsupportedDynamicShapeError,
)

X = np.arange(3.0)
ONE = np.int64(1)


def traced(function: Callable[[Any], Any], value: Any = 3) -> Any:
    return tn.jit(function, executor="numpy")(value)


def keep(c: Any, x: Any) -> Any:
    return c, x


CONTROL: dict[str, tuple[Callable[[], Any], str]] = {
    "no pair": (
        lambda: tn.scan(lambda c, x: (c, x, x), 0.0, X),
        "scan: f must return a pair (carry, y), got a tuple of 3",
    ),
    "an array": (
        lambda: tn.scan(lambda c, x: c, 0.0, X),
        "scan: f must return a pair (carry, y), got a TracedTensor",
    ),
    "a carry that becomes a float": (
        lambda: tn.scan(lambda c, x: ((c[0] + x,), x), (np.int64(0),), X),
        "scan: carry leaf [0] starts as i64[] and becomes f64[]; start it as 0.0",
    ),
    "its number": (
        lambda: tn.while_loop(lambda c: c > 1, lambda c: c / 2, np.int64(3)),
        "while_loop: carry leaf [0] starts as i64[] and becomes f64[]; start it as 3.0",
    ),
    "traced": (
        lambda: traced(lambda c: tn.scan(lambda c, x: (c + x, x), {"n": c}["n"], X), ONE),
        "scan: carry leaf [0] starts as i64[] and becomes f64[]; start it as 0.0",
    ),
    "an array that becomes complex": (
        lambda: tn.fori_loop(0, 2, lambda i, c: {"z": c["z"] * 1j}, {"z": X}),
        "fori_loop: carry leaf ['z'] starts as f64[3] and becomes c128[3]; start it as c128",
    ),
    "another size": (
        lambda: tn.scan(lambda c, x: ((tn.concat([c[0], c[0]]), c[1]), x), (np.ones(2), ONE), X),
        "scan: the carry goes in as (f64[2], i64[]) and comes out as (f64[4], i64[]); "
        "leaf [0] must keep its type",
    ),
    "two leaves": (
        lambda: tn.scan(lambda c, x: ((c[0][None], c[1][None]), x), (X, X), X),
        "scan: the carry goes in as (f64[3], f64[3]) and comes out as (f64[1,3], f64[1,3]); "
        "leaves [0] and [1] must keep their types",
    ),
    "a narrower dtype": (
        lambda: tn.scan(lambda c, x: (c.astype("float32"), x), X, X),
        "scan: the carry goes in as f64[3] and comes out as f32[3]; leaf [0] must keep its type",
    ),
    "another structure": (
        lambda: tn.scan(lambda c, x: ({"a": c, "b": None}, x), 0.0, X),
        "scan: the carry goes in as f64[] and comes out as {'a': f64[], 'b': None}; "
        "it must keep its structure",
    ),
    "a structure in fori_loop": (
        lambda: tn.fori_loop(0, 3, lambda i, c: (c,), 1.0),
        "fori_loop: the carry goes in as f64[] and comes out as (f64[],); "
        "it must keep its structure",
    ),
    "two lengths": (
        lambda: tn.scan(keep, 0.0, (np.ones(3), np.ones(4))),
        "scan: xs leaves have lengths 3 and 4 along axis 0",
    ),
    "two lengths in map": (
        lambda: tn.map(lambda x: x, {"a": np.ones(3), "b": np.ones((4, 3))}),
        "map: xs leaves have lengths 3 and 4 along axis 0",
    ),
    "another length": (
        lambda: tn.scan(keep, 0.0, X, length=4),
        "scan: length is 4, but the xs leaves have length 3 along axis 0",
    ),
    "no length": (
        lambda: tn.scan(keep, 0.0),
        "scan: without xs, length= must say how many rounds to run",
    ),
    "a negative length": (
        lambda: tn.scan(keep, 0.0, length=-1),
        "scan: length must not be negative, got -1",
    ),
    "a length beyond int64": (
        lambda: tn.scan(keep, 0.0, length=2**70),
        f"scan: length must fit int64, got {2**70}",
    ),
    "a bound beyond int64": (
        lambda: tn.fori_loop(0, 2**65, lambda i, c: c + 1, 0.0),
        f"fori_loop: upper must fit int64, got {2**65}",
    ),
    "conditions of many": (
        lambda: tn.while_loop(lambda c: c < 1, lambda c: c + 1, X),
        "while_loop: cond_fun must return one bool[], got bool[3]; reduce it with tn.all or tn.any",
    ),
    "a length of a float": (
        lambda: tn.scan(keep, 0.0, length=2.0),  # type: ignore[arg-type]
        "scan: length must be an integer, got 2.0",
    ),
    "a traced length": (
        lambda: traced(lambda n: tn.scan(keep, 0.0, length=n)),
        "scan: length is a traced value i64[], but it must be known when the loop is traced; "
        "pass a Python integer, or use fori_loop or while_loop; it depends on the argument n of "
        "<lambda>",
    ),
    "xs of numbers": (
        lambda: tn.scan(keep, 0.0, [1.0, 2.0]),
        "scan: xs leaf [0] is f64[], which has no axis 0 to loop over; pass an array, or let the "
        "function close over it",
    ),
    "no entries": (
        lambda: tn.map(keep, None),
        "map: xs has no arrays, so there are no entries to map over",
    ),
    "a batch size": (
        lambda: tn.map(lambda x: x, X, batch_size=-1),
        "map: batch_size must be a positive integer, got -1",
    ),
    "unroll": (
        lambda: tn.scan(keep, 0.0, X, unroll=-1),
        "scan: unroll must be a positive integer, got -1",
    ),
    "reverse": (
        lambda: tn.scan(keep, 0.0, X, reverse=1),  # type: ignore[arg-type]
        "scan: reverse must be True or False, got 1",
    ),
    "no function": (lambda: tn.scan(1, 0.0, X), "scan: f must be a function, got an int"),  # type: ignore[arg-type]
    "branches": (
        lambda: tn.cond(True, lambda x: (x, ONE), lambda x: (x,), X),
        "cond: true_fun returns (f64[3], i64[]) and false_fun (f64[3],); "
        "branches must return one structure and types",
    ),
    "dtypes of branches": (
        lambda: traced(lambda i: tn.switch(i, [lambda: X, lambda: X, lambda: X > 1])),
        "switch: branch 0 returns f64[3] and branch 2 bool[3]; "
        "branches must return one structure and types",
    ),
    "a function for branches": (
        lambda: tn.switch(0, tn.sin, X),  # type: ignore[arg-type]
        "switch: branches must be a list of functions, got a function",
    ),
    "a number for a branch": (
        lambda: tn.switch(0, [tn.sin, 1], X),  # type: ignore[list-item]
        "switch: branches[1] must be a function, got an int",
    ),
    "no branch": (
        lambda: tn.switch(0, [], X),
        "switch: branches is empty; pass at least one function",
    ),
    "an array pred": (
        lambda: tn.cond(X > 1, tn.sin, tn.cos, X),
        "cond: pred must be a scalar bool, got bool[3]; reduce it with tn.all or tn.any, or choose "
        "elements with tn.where",
    ),
    "a float index": (
        lambda: tn.switch(1.0, [tn.sin, tn.cos], X),
        "switch: index must be a scalar integer, got f64[]",
    ),
    "a bool index": (
        lambda: tn.switch(True, [tn.sin, tn.cos], X),
        "switch: index must be a scalar integer, got bool[]; use cond",
    ),
    "a float condition": (
        lambda: tn.while_loop(lambda c: c, lambda c: c, 1.0),
        "while_loop: cond_fun must return one bool[], got f64[]",
    ),
    "two conditions": (
        lambda: tn.while_loop(lambda c: (c < 1, c < 2), lambda c: c, 1.0),  # type: ignore[arg-type, return-value]
        "while_loop: cond_fun must return one bool[], got (bool[], bool[])",
    ),
    "max_steps": (
        lambda: traced(lambda n: tn.while_loop(lambda c: c < 1, lambda c: c, 1, max_steps=n)),
        "while_loop: max_steps is a traced value i64[], but it must be known when the loop is "
        "traced; pass a Python integer; it depends on the argument n of <lambda>",
    ),
    "a complex bound": (
        lambda: tn.fori_loop(0, 2j, lambda i, c: c, 0),
        "fori_loop: upper must be a real scalar, got 2j",
    ),
    "a traced bound": (
        lambda: traced(lambda n: tn.fori_loop(n, 3, lambda i, c: c, 0), X),
        "fori_loop: lower must be a real scalar, got f64[3]",
    ),
    "unroll without bounds": (
        lambda: traced(lambda n: tn.fori_loop(0, n, lambda i, c: c, 0, unroll=2)),
        "fori_loop: unroll needs bounds that are known when the loop is traced; "
        "upper is a traced value i64[] (n); it depends on the argument n of <lambda>",
    ),
    "fn": (
        lambda: tn.associative_scan(lambda a, b: (a, b), X),
        "associative_scan: fn takes f64[1] and returns (f64[1], f64[1]); "
        "it must return what it takes",
    ),
    "reverse of partial combinations": (
        lambda: tn.associative_scan(tn.add, X, reverse=1),  # type: ignore[arg-type]
        "associative_scan: reverse must be True or False, got 1",
    ),
    "sizes": (
        lambda: tn.associative_scan(lambda a, b: a, (np.ones(3), np.ones(4))),
        "associative_scan: elems leaves have sizes 3 and 4 along the axis of the entries",
    ),
}
OTHERS: dict[str, tuple[type[TenferroError], Callable[[], Any], str]] = {
    "a text in the carry": (
        PytreeError,
        lambda: tn.scan(keep, {"a": "text"}, X),
        "scan: init['a'] is a str, not an array or number; let the function close over it instead",
    ),
    "a text in xs": (
        PytreeError,
        lambda: tn.map(keep, ("text", X)),
        "map: xs[0] is a str, not an array or number",
    ),
    "a text that comes out": (
        PytreeError,
        lambda: tn.scan(lambda c, x: (c, {"y": "text"}), 0.0, X),
        "scan: f returns a str at [1]['y'], not an array or number",
    ),
    "a text that map gets": (
        PytreeError,
        lambda: tn.map(lambda x: {"y": "text"}, X),
        "map: f returns a str at ['y'], not an array or number",
    ),
    "a text that fori_loop gets": (
        PytreeError,
        lambda: tn.fori_loop(0, 2, lambda i, c: "text", 0.0),
        "fori_loop: body_fun returns a str, not an array or number",
    ),
    "a range of a round": (
        DTypeError,
        lambda: tn.scan(lambda c, i: (c, tn.arange(i)), 0.0, np.arange(3)),
        "arange: takes numbers, since they decide the size, got TracedTensor(i64[]); make the "
        "argument that it is static (static_argnames), take the size of an array, such as "
        "x.shape[0], or mask the largest range",
    ),
    "a text for pred": (
        PytreeError,
        lambda: tn.cond("text", tn.sin, tn.cos, X),  # type: ignore[arg-type]
        "cond: pred is a str, not an array or number",
    ),
    "a text for an operand": (
        PytreeError,
        lambda: tn.cond(True, tn.sin, tn.cos, "text"),
        "cond: operands[0] is a str, not an array or number",
    ),
    "an axis": (
        AxisError,
        lambda: tn.associative_scan(tn.add, X, axis=1),
        "associative_scan: axis 1 is out of range for elems leaf [0]: f64[3]",
    ),
    "bool of a traced value": (
        TracingError,
        lambda: traced(lambda n: 1 if n > 2 else 0),
        "it has no value yet; branch with tn.cond or tn.where",
    ),
}


@pytest.mark.parametrize(("call", "text"), CONTROL.values(), ids=CONTROL)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ControlFlowError) as raised:
        call()
    assert str(raised.value) == text


@pytest.mark.parametrize(("error", "call", "text"), OTHERS.values(), ids=OTHERS)
def test_other_mistakes_have_their_errors(
    error: type[TenferroError], call: Callable[[], Any], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()


def test_an_error_in_a_branch_names_the_branch_and_the_line() -> None:
    def wrong(x: Any) -> Any:
        return x @ tn.ones(4)

    with pytest.raises(ShapeError, match=r"matmul: .* have sizes 3 and 4") as raised:
        tn.cond(True, tn.sum, wrong, X)
    (note,) = raised.value.__notes__
    line = wrong.__code__.co_firstlineno + 1
    assert note == f"raised in false_fun of cond, at test_loop_refusals.py:{line}"


def test_a_size_that_data_decide_is_refused_with_its_line() -> None:
    def body(c: Any, x: Any) -> Any:
        return c, tn.sum(tn.dynamic_truncate(tn.ones(3), c, axis=0))

    line = body.__code__.co_firstlineno + 1
    with pytest.raises(UnsupportedDynamicShapeError) as raised:
        tn.scan(body, ONE, X)
    assert str(raised.value) == (
        "scan: the body makes a value whose size data decide (dynamic_truncate, "
        f"test_loop_refusals.py:{line}); keep the size and mask, or take the loop out of the "
        "program"
    )
