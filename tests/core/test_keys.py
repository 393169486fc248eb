"""Identity: structural, interned, and gone when nothing holds it."""

import gc
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tenferro.core import (
    PRIMAL,
    Derived,
    GlobalOpKey,
    GlobalValKey,
    Linear,
    OpMode,
    input_key,
    interned_count,
    op_key,
)
from tenferro.errors import GraphError
from tests.core.plain_ops import Split
from tests.toy import ADD, EXP, MUL, Broadcast, real
from tests.work import tracked_objects


def test_equal_input_keys_are_one_object() -> None:
    assert input_key(real("x")) is input_key(real("x"))
    assert input_key(real("x")) is not input_key(real("y"))


def test_input_keys_of_equal_value_and_different_type_are_different() -> None:
    keys = [input_key(key) for key in (1, True, 1.0, 1 + 0j, "1")]
    assert len(set(keys)) == 5
    assert [key.key for key in keys] == [1, True, 1.0, 1 + 0j, "1"]


def test_equal_applications_are_one_object() -> None:
    x, y = input_key("x"), input_key("y")
    product = op_key(MUL, (x, y))
    assert op_key(MUL, (x, y)) is product
    assert op_key(MUL, (x, y)).output(0) is product.output(0)
    assert op_key(MUL, (y, x)) is not product
    assert op_key(ADD, (x, y)) is not product


def test_the_identity_of_the_op_decides_and_not_the_object() -> None:
    x = input_key("x")
    assert op_key(Broadcast(2), (x,)) is op_key(Broadcast(2), (x,))
    assert op_key(Broadcast(2), (x,)) is not op_key(Broadcast(3), (x,))


def test_the_active_mask_is_part_of_the_identity() -> None:
    a, x = input_key("a"), input_key("x")
    modes: list[OpMode] = [
        PRIMAL,
        Linear((False, True)),
        Linear((True, False)),
        Linear((True, True)),
    ]
    nodes = [op_key(MUL, (a, x), mode) for mode in modes]
    assert len(set(nodes)) == 4
    assert [node.mode for node in nodes] == modes
    assert op_key(MUL, (a, x), Linear((False, True))) is nodes[1]


def test_modes_print_as_their_masks() -> None:
    assert str(PRIMAL) == "primal"
    assert str(Linear((False, True))) == "linear[fixed,active]"


def test_a_node_keeps_its_first_site() -> None:
    x = input_key("recorded in two places")
    first = op_key(EXP, (x,), site="user.py:1")
    assert op_key(EXP, (x,), site="user.py:2") is first
    assert first.site == "user.py:1"


def test_each_output_of_an_op_is_one_object() -> None:
    node = op_key(Split(3), (input_key("x"),))
    outputs = node.outputs
    assert [key.slot for key in outputs] == [0, 1, 2]
    assert all(key.op is node for key in outputs)
    assert node.outputs == outputs
    assert node.output(1) is outputs[1]
    assert len(set(outputs)) == 3


@pytest.mark.parametrize("slot", [-1, 2])
def test_an_output_that_the_op_does_not_have_is_refused(slot: int) -> None:
    node = op_key(Split(2), (input_key("x"),))
    with pytest.raises(GraphError, match=rf"^split\[2\]: has no output {slot}$"):
        node.output(slot)


def test_an_output_is_made_again_after_it_was_freed() -> None:
    node = op_key(EXP, (input_key("x"),))
    assert isinstance(node.output(0), Derived)  # and freed here
    assert node.output(0) is node.output(0)


def test_later_keys_have_higher_serials() -> None:
    x = input_key("x")
    y = op_key(EXP, (x,)).output(0)
    assert x.serial < y.serial < op_key(EXP, (y,)).output(0).serial


def test_keys_show_what_they_are() -> None:
    x = input_key("x")
    node = op_key(MUL, (x, x), Linear((False, True)))
    assert repr(x) == "Input('x')"
    assert repr(node.output(0)) == "Derived(mul, slot=0)"
    assert repr(op_key(Split(2), (x,))) == "GlobalOpKey(split[2], 1 input, primal)"
    assert repr(op_key(Split(2), (x,)).output(1)) == "Derived(split[2], slot=1)"


def test_an_identity_that_nothing_holds_is_freed() -> None:
    gc.collect()
    baseline = interned_count()
    value: GlobalValKey = input_key("freed")
    for _ in range(100):
        value = op_key(MUL, (value, value)).output(0)
    assert interned_count() == baseline + 101
    del value
    assert interned_count() == baseline


@pytest.mark.parametrize("depth", [1_000, 50_000])
def test_a_chain_of_any_depth_is_freed_without_recursion(depth: int) -> None:
    gc.collect()
    baseline = interned_count()
    value: GlobalValKey = input_key("deep")
    for _ in range(depth):
        value = op_key(EXP, (value,)).output(0)
    assert interned_count() == baseline + depth + 1
    del value
    assert interned_count() == baseline


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_switches")
def test_threads_that_make_one_identity_get_one_object() -> None:
    threads, rounds = 8, 50
    start = threading.Barrier(threads)

    def build(_: int) -> list[GlobalOpKey]:
        start.wait()
        value: GlobalValKey = input_key("shared")
        made = []
        for _ in range(rounds):
            made.append(op_key(MUL, (value, value)))
            value = made[-1].output(0)
        return made

    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(build, range(threads)))
    assert all(result == results[0] for result in results)


@pytest.mark.usefixtures("eager_switches")
def test_threads_may_free_what_other_threads_make_again() -> None:
    gc.collect()
    baseline = interned_count()
    threads, rounds = 8, 2_000
    start = threading.Barrier(threads)

    def flicker(_: int) -> int:
        start.wait()
        twice = 0
        for _ in range(rounds):
            node = op_key(EXP, (input_key("flicker"),))
            twice += op_key(EXP, (input_key("flicker"),)) is not node
            twice += node.output(0) is not node.output(0)
        return twice

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(flicker, range(threads))) == [0] * threads
    assert interned_count() == baseline


def test_a_node_is_three_tracked_objects() -> None:
    def chain() -> GlobalValKey:
        value: GlobalValKey = x
        for _ in range(1_000):
            value = op_key(MUL, (value, x)).output(0)
        return value

    x = input_key("x")
    chain()
    _, count = tracked_objects(chain)  # the node, its inputs, and its entry among the known nodes
    assert count < 3_050
