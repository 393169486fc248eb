from typing import Any

import numpy as np
import pytest

from tenferro.errors import ExtentError, ShapeError, UnsupportedDynamicShapeError
from tenferro.shape import (
    FLOAT32,
    FLOAT64,
    MAX_EXTENT,
    Exact,
    SymDim,
    TensorMeta,
    TensorSpec,
    Unknown,
    UpperBound,
    dim,
    make_meta,
)

MIXED = TensorMeta(FLOAT64, [Exact(2), UpperBound(dim("n")), Unknown()])


def test_a_type_prints_dtype_and_extents() -> None:
    assert str(TensorMeta.of("f32", ())) == "f32[]"
    assert str(TensorMeta.of(bool, (2, "n", "2*n + 1"))) == "bool[2,n,2*n + 1]"
    assert str(MIXED) == "f64[2,<=n,?]"
    assert repr(MIXED) == "TensorMeta(f64[2,<=n,?])"


def test_rank_is_exact_whatever_is_known_of_extents() -> None:
    assert MIXED.rank == 3
    assert TensorMeta.of("f64", ()).rank == 0


def test_what_may_be_asked_of_a_shape_depends_on_what_is_known() -> None:
    static, symbolic = TensorMeta.of("f64", (2, 3)), TensorMeta.of("f64", (2, "n"))
    assert static.static_shape == static.dims == static.exact_shape() == (2, 3)
    assert symbolic.static_shape is None
    assert symbolic.dims == symbolic.exact_shape() == symbolic.bound_shape() == (2, dim("n"))
    assert MIXED.static_shape is None
    assert MIXED.dims is None
    assert MIXED.with_extents(MIXED.extents[:2]).bound_shape() == (2, dim("n"))


def test_an_upper_bound_is_never_taken_for_the_size() -> None:
    with pytest.raises(UnsupportedDynamicShapeError) as caught:
        MIXED.exact_shape("reshape", "operand")
    assert str(caught.value) == (
        "UnsupportedDynamicShape: reshape: operand[1] must be exact, but is at most n (upper bound)"
        "; data decide it, so it is a number only where nothing is traced: call the function "
        "without jit, and for derivatives with a tn.EagerRuntime; or keep the size, by size= or "
        "pad=True of the function that selects, or with tn.where"
    )
    assert caught.value.primitive == "reshape"
    assert caught.value.field == "operand[1]"
    assert caught.value.observed == "at most n (upper bound)"


def test_what_is_unknown_has_no_bound() -> None:
    with pytest.raises(UnsupportedDynamicShapeError, match=r"pad: x\[2\] .* but is unknown"):
        MIXED.bound_shape("pad", "x")


@pytest.mark.parametrize("size", [-1, MAX_EXTENT + 1])
def test_extents_out_of_range_are_refused(size: int) -> None:
    with pytest.raises(ExtentError, match=f"extent {size} is not between 0 and 2"):
        TensorMeta.of("f64", (2, size))


@pytest.mark.parametrize("size", [1.0, True, None, [1]], ids=repr)
def test_a_value_that_is_not_a_size_is_refused(size: object) -> None:
    with pytest.raises(ShapeError, match="is not a size; pass an integer, or a name"):
        TensorMeta.of("f64", (size,))  # type: ignore[arg-type]


def test_integers_of_numpy_are_sizes() -> None:
    shape = TensorMeta.of("f64", (np.int32(3),)).static_shape  # type: ignore[arg-type]
    assert shape == (3,)
    assert type(shape[0]) is int


def test_types_are_equal_by_dtype_and_extents() -> None:
    one = TensorMeta.of("f64", (2, "n"))
    other = TensorMeta(FLOAT64, [Exact(2), Exact(dim("n"))])
    assert one == other
    assert hash(one) == hash(other)
    assert one != TensorMeta.of("f32", (2, "n"))
    assert one != TensorMeta(FLOAT64, [Exact(2), UpperBound(dim("n"))])
    assert one != "f64[2,n]"


def test_equal_exact_types_are_shared() -> None:
    assert TensorMeta.of("f64", (2, 3)) is make_meta(FLOAT64, (2, 3))


def test_another_dtype_keeps_guarantees() -> None:
    assert MIXED.with_dtype(FLOAT32).extents == MIXED.extents
    assert MIXED.with_dtype(FLOAT64) is MIXED
    assert TensorMeta.of("f64", (2,)).with_dtype(FLOAT32) is TensorMeta.of("f32", (2,))


def test_binding_keeps_guarantees() -> None:
    bound = MIXED.bind({SymDim("n"): 5})
    assert bound.extents == (Exact(2), UpperBound(5), Unknown())
    assert TensorMeta.of("f64", ("n", "m")).bind({SymDim("n"): 2}).dims == (2, dim("m"))
    static = TensorMeta.of("f64", (2,))
    assert static.bind({SymDim("n"): 2}) is static


def test_symbols_of_all_extents_are_found() -> None:
    assert MIXED.symbols() == {SymDim("n")}
    assert TensorMeta.of("f64", (2,)).symbols() == set()
    assert TensorMeta.of("f64", ("n*m", 3)).symbols() == {SymDim("n"), SymDim("m")}


def test_a_spec_is_the_type_of_an_input() -> None:
    spec = TensorSpec(["n", 3], "float32")
    assert spec.shape == (dim("n"), 3)
    assert spec.dtype == FLOAT32
    assert spec.meta == TensorMeta.of("f32", ("n", 3))
    assert spec == TensorSpec(("n", 3), np.float32)
    assert TensorSpec(()).meta == TensorMeta.of("f64", ())


@pytest.mark.parametrize("wrong", ["nm", 3, None])
def test_a_spec_takes_a_sequence_of_sizes(wrong: Any) -> None:
    with pytest.raises(ShapeError, match=r"TensorSpec: .* is not a shape; pass a tuple of sizes"):
        TensorSpec(wrong)
