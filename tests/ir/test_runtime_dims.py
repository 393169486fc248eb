from tenferro.core import input_key, op_key
from tenferro.ops import EXP, DynamicTruncate, shape_context
from tenferro.shape import (
    FLOAT64,
    Exact,
    RuntimeAxis,
    RuntimeScalar,
    TensorInput,
    TensorMeta,
    Unknown,
    UpperBound,
    at_most,
    dim,
    implies,
    leaves,
    name_sizes,
    runtime_dims,
    same_size,
    symbol,
)

N = dim("n")
CTX = shape_context()


def test_a_size_of_an_operand_means_nothing_outside_its_op() -> None:
    local = UpperBound(N, symbol(RuntimeScalar(1, N, "truncate")))
    named = UpperBound(N, symbol(RuntimeScalar(7, N, "truncate", local=False)))
    assert not same_size(local, local)
    assert same_size(named, named)


def test_extents_are_compared_by_their_guarantee() -> None:
    one, other = (UpperBound(N, symbol(RuntimeAxis(i, 0))) for i in (1, 2))
    assert one == other == UpperBound(N)
    assert not same_size(one, other)
    assert Unknown(symbol(RuntimeAxis(1, 0))) == Unknown()


def test_sizes_are_named_by_the_numbers_of_values() -> None:
    meta = TensorMeta(FLOAT64, [Exact(2), UpperBound(N), Unknown()])
    named = name_sizes(meta, 5, (), lambda axis: None)
    assert named == meta
    assert [str(extent.size) for extent in named.extents] == [
        "2",
        "size(value 5, 1)",
        "size(value 5, 2)",
    ]
    exact = TensorMeta.of("f64", (2,))
    assert name_sizes(exact, 5, (), lambda axis: None) is exact


def test_a_decided_size_is_at_most_its_limit() -> None:
    inner = symbol(RuntimeScalar(1, N, "truncate", local=False))
    outer = symbol(RuntimeScalar(2, inner, "truncate", local=False))
    assert at_most(outer, inner)
    assert at_most(outer, N)
    assert not at_most(N, outer)


def test_what_is_known_implies_what_is_weaker() -> None:
    assert implies(Exact(3), Exact(3))
    assert implies(Exact(3), UpperBound(4))
    assert implies(UpperBound(3), UpperBound(4))
    assert implies(UpperBound(3), Unknown())
    assert not implies(Exact(3), UpperBound(2))
    assert not implies(UpperBound(3), Exact(3))
    assert not implies(Unknown(), UpperBound(3))


def test_a_graph_value_says_where_its_size_can_be_had_from() -> None:
    x = input_key(TensorInput("x", TensorMeta.of("f64", ("n",))))
    k = input_key(TensorInput("k", TensorMeta.of("i64", ())))
    y = op_key(DynamicTruncate(0), (x, k)).output(0)
    z = op_key(EXP, (y,)).output(0)
    size = CTX.meta(z).extents[0].size
    assert size is not None
    (leaf,) = runtime_dims(size)
    assert leaf.source is not None
    assert leaf.source.value is y
    assert leaves(size) == {leaf}


def test_an_input_of_which_a_bound_is_known_is_its_own_source() -> None:
    x = input_key(TensorInput("x", TensorMeta(FLOAT64, [UpperBound(N)])))
    size = CTX.meta(x).extents[0].size
    assert size is not None
    (leaf,) = runtime_dims(size)
    assert leaf.source is not None
    assert leaf.source.value is x
