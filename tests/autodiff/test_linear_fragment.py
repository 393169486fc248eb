"""What differentiate and transpose return."""

from tenferro.autodiff import LinearFragment, differentiate
from tenferro.computegraph import FragmentBuilder, input_key, op_key, resolve_keys
from tests.toy import CTX, EXP, NEG, Toy, real


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
