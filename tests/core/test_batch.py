"""Batches of graphs of toy ops: a batch is its entries one after another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tenferro.core import (
    Batched,
    BatchSite,
    FragmentBuilder,
    FragmentEmitter,
    GlobalValKey,
    Input,
    ResolvedView,
    V,
    batch,
    input_key,
    op_key,
    resolve_keys,
)
from tenferro.errors import BatchingError, BatchRuleError, TenferroError
from tests.toy import ADD, CTX, EXP, MUL, NEG, SUM, Broadcast, Toy, entrywise, real, vector
from tests.toy_graphs import run

VIEW: ResolvedView[Any] = resolve_keys()
BATCH = {"x": (0.5, -1.0, 2.0), "y": (3.0, 0.25, -2.0), "z": (1.5, 0.0, -0.5)}
X, Y, Z = (input_key(real(name)) for name in BATCH)
THRICE = Broadcast(3)
WHOLE = {key: input_key(vector(f"{key.key}s", 3)) for key in (X, Y, Z)}


def emit(op: Any, *operands: GlobalValKey, site: str | None = None) -> GlobalValKey:
    return op_key(op, operands, site=site).output(0)


def value_of(key: GlobalValKey, values: Mapping[str, Any]) -> Any:
    given = {source.key: values[str(source.key)] for source in inputs_of(key)}
    return run(VIEW, [key], given)[0]


def inputs_of(*keys: GlobalValKey) -> list[Input]:
    return VIEW.topo_order(keys)[1]


FUNCTIONS: list[GlobalValKey] = [
    emit(MUL, emit(EXP, X), emit(ADD, Y, emit(MUL, X, Z))),
    emit(ADD, emit(NEG, Z), emit(MUL, emit(EXP, Y), emit(EXP, Y))),
    emit(NEG, emit(MUL, X, X)),
]


@pytest.mark.parametrize("mask", [*itertools.product([False, True], repeat=3)])
def test_a_batch_is_its_entries_one_after_another(mask: tuple[bool, ...]) -> None:
    whole = {key: WHOLE[key] for key, on in zip((X, Y, Z), mask, strict=True) if on}
    results = batch(VIEW, FUNCTIONS, whole, 3, ctx=CTX)
    single = {name: entries[0] for name, entries in BATCH.items()}
    both = {f"{name}s": entries for name, entries in BATCH.items()} | single
    for function, (key, is_batched) in zip(FUNCTIONS, results, strict=True):
        assert is_batched == any(read in whole for read in inputs_of(function))
        entries = [
            value_of(
                function,
                {
                    str(read.key): BATCH[str(read.key)][i if read in whole else 0]
                    for read in (X, Y, Z)
                    if isinstance(read, Input)
                },
            )
            for i in range(3)
        ]
        assert value_of(key, both) == (tuple(entries) if is_batched else entries[0])


def test_what_does_not_depend_on_the_batch_stays_the_same_node() -> None:
    fixed = emit(EXP, emit(ADD, Y, Z))
    ((key, is_batched), (product, _)) = batch(
        VIEW, [fixed, emit(MUL, X, fixed)], {X: WHOLE[X]}, 3, ctx=CTX
    )
    assert key is fixed
    assert not is_batched
    assert product is emit(MUL, WHOLE[X], emit(THRICE, fixed))


def test_an_input_is_an_output() -> None:
    assert batch(VIEW, [X, Y], {X: WHOLE[X]}, 3, ctx=CTX) == [(WHOLE[X], True), (Y, False)]


def test_values_that_are_the_same_for_all_entries_are_replaced_too() -> None:
    other = input_key(real("other"))
    results = batch(
        VIEW, [emit(EXP, Y), emit(MUL, X, Y)], {X: WHOLE[X]}, 3, ctx=CTX, replaced={Y: other}
    )
    assert results[0] == (emit(EXP, other), False)
    assert results[1] == (emit(MUL, WHOLE[X], emit(THRICE, other)), True)


def test_values_in_the_middle_of_a_graph_are_replaced() -> None:
    middle = emit(EXP, X)
    ((key, _),) = batch(VIEW, [emit(NEG, middle)], {middle: WHOLE[Y]}, 3, ctx=CTX)
    assert key is emit(NEG, WHOLE[Y])


def test_sites_are_kept() -> None:
    x, xs = input_key(real("u")), input_key(vector("us", 3))
    at_line = emit(EXP, emit(MUL, x, x, site="user.py:3"), site="user.py:4")
    ((key, _),) = batch(VIEW, [at_line], {x: xs}, 3, ctx=CTX)
    ops, _ = VIEW.topo_order([key])
    assert [op.site for op in ops] == ["user.py:3", "user.py:4"]


def test_the_caller_may_bring_an_emitter() -> None:
    builder: FragmentBuilder[Any] = FragmentBuilder()
    whole = builder.input(vector("xs", 3), active=True)
    emitter = FragmentEmitter(builder, CTX)
    ((key, _),) = batch(VIEW, [emit(NEG, X)], {X: whole}, 3, ctx=CTX, emitter=emitter)
    assert builder.is_active(key, False)


def test_a_deep_graph_needs_no_deep_stack() -> None:
    chain: GlobalValKey = X
    for _ in range(5_000):
        chain = emit(EXP, chain)
    ((key, is_batched),) = batch(VIEW, [chain], {X: WHOLE[X]}, 3, ctx=CTX)
    assert is_batched
    assert len(VIEW.topo_order([key])[0]) == 5_000


class Halves(Toy):
    """The pair (x, x·0); of a batch, the second output is not batched."""

    n_outputs = 2

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return inputs[0], entrywise(lambda x: x * 0, *inputs)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        (x,) = at.inputs
        first, _ = at.emitter.emit_all(self, x)
        return (first, True), (at.emit(SUM, at.emit(MUL, x, at.emit(NEG, x))), False)


def test_each_output_says_whether_it_is_batched() -> None:
    first, second = op_key(Halves("halves"), (X,)).outputs
    results = batch(VIEW, [second, first, emit(ADD, second, Y)], {X: WHOLE[X]}, 3, ctx=CTX)
    assert [is_batched for _, is_batched in results] == [False, True, False]


class Broken(Toy):
    def __init__(self, result: Callable[[Any], Any], number: int) -> None:
        super().__init__(f"broken{number}")
        self.result = result

    def batch_rule(self, at: BatchSite[V]) -> Any:
        return self.result(at.inputs[0])


@pytest.mark.parametrize(
    ("number", "result", "got"),
    [
        (0, lambda x: x, "one Input"),
        (1, lambda x: (x,), "1 value"),
        (2, lambda x: ((x, True), (x, True)), "2 values"),
        (3, lambda x: ((x, 1),), "1 value"),
    ],
)
def test_what_a_rule_returns_is_checked(
    number: int, result: Callable[[Any], Any], got: str
) -> None:
    with pytest.raises(BatchRuleError) as caught:
        batch(VIEW, [emit(Broken(result, number), X)], {X: WHOLE[X]}, 3, ctx=CTX)
    assert str(caught.value) == (
        f"broken{number}: its batch rule returns {got}; return a tuple of 1 pair, for each output "
        "its value and whether it is batched"
    )


class WithoutRule:
    n_inputs, n_outputs, identity = 1, 1, "bare"

    def __str__(self) -> str:
        return self.identity


@pytest.mark.parametrize("op", [SUM, WithoutRule()], ids=str)
def test_an_op_without_a_rule_is_named(op: Any) -> None:
    with pytest.raises(BatchRuleError, match=f"{op}: has no batch rule"):
        batch(VIEW, [emit(op, X)], {X: WHOLE[X]}, 3, ctx=CTX)


def test_the_errors_are_those_of_the_library() -> None:
    assert issubclass(BatchRuleError, BatchingError)
    assert issubclass(BatchingError, TenferroError)
