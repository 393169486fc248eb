"""What differentiate and transpose return."""

import math

import pytest

from tenferro.core import (
    FragmentBuilder,
    LinearFragment,
    differentiate,
    input_key,
    op_key,
    resolve_keys,
    transpose,
)
from tests.toy import CTX, EXP, MUL, NEG, Toy, real
from tests.toy_graphs import run


def test_its_identities_are_those_of_its_local_ids() -> None:
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    dx, dy = builder.input("dx"), builder.input("dy")
    (result,) = builder.add(NEG, [dy])
    linear = LinearFragment(builder.build([result]), (("dx", 0), ("dy", 1)), (2, None, 0))
    assert linear.input_keys == (dx, dy)
    assert linear.output_keys == (result, None, dx)


def test_it_prints_as_its_fragment() -> None:
    x = input_key(real("x"))
    output = op_key(EXP, (x,)).output(0)
    linear = differentiate(resolve_keys(), [output], [x], ctx=CTX)
    assert str(linear) == str(linear.fragment)


def test_linear_fragments_are_compared_by_identity() -> None:
    fragment = FragmentBuilder[Toy]().build([])
    assert LinearFragment(fragment, (), ()) != LinearFragment(fragment, (), ())


def test_a_cut_divides_a_fragment_in_two_of_which_each_is_transposed_alone() -> None:
    names = real("x"), real("y")
    x, y = map(input_key, names)
    inner = op_key(EXP, (x,)).output(0)
    outputs = [op_key(EXP, (inner,)).output(0), op_key(MUL, (inner, y)).output(0)]
    linear = differentiate(resolve_keys(), outputs, [x, y], ctx=CTX)
    cut = [linear.live_nodes()[0].outputs[0], linear.input_keys[1]]
    front, rest = linear.until(cut), linear.since(cut)
    assert (front.input_keys, front.output_keys) == (linear.input_keys, tuple(cut))
    assert (rest.input_keys, rest.output_keys) == (tuple(cut), linear.output_keys)
    values = dict(zip(names, (0.5, 2.0), strict=True))
    to_front, to_cut = (
        run(resolve_keys(), transpose(part, ctx=CTX).output_keys, values) for part in (front, rest)
    )
    e = math.exp(0.5)
    assert to_front == pytest.approx([e, 1.0])
    assert to_cut == pytest.approx([math.exp(e) + 2.0, e])
