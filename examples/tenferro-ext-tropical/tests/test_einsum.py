"""Values: against loops over all labels, for random notation, sizes and elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tn
import tenferro_ext_tropical as tropical
from tenferro_ext_tropical import KindError

KINDS = st.sampled_from(["maxplus", "minplus"])
# Small integers make ties; their sums are exact, so that an order of additions does not matter.
NUMBERS = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
SPECIAL = st.sampled_from([-2.0, 0.0, 1.0, np.inf, -np.inf, np.nan])


@st.composite
def contractions(draw: Any, operands: int = 2, elements: Any = NUMBERS) -> Any:
    """Terms, the output's labels, and arrays that fit."""
    labels = "abcd"
    terms = [draw(st.text(labels, max_size=3)) for _ in range(operands)]
    used = sorted(set("".join(terms)))
    output = "".join(draw(st.permutations([label for label in used if draw(st.booleans())])))
    sizes = {label: draw(st.integers(0, 3)) for label in labels}
    arrays = []
    for term in terms:
        shape = [sizes[label] for label in term]
        count = int(np.prod(shape))
        arrays.append(
            np.reshape(
                np.array(draw(st.lists(elements, min_size=count, max_size=count)), float), shape
            )
        )
    return terms, output, arrays


@given(contractions(), KINDS)
@settings(max_examples=40)
def test_two_operands_are_contracted_as_by_definition(
    oracle: Callable[..., Any], case: Any, kind: Any
) -> None:
    terms, output, arrays = case
    found = tropical.einsum(f"{','.join(terms)}->{output}", *arrays, kind=kind)
    np.testing.assert_array_equal(found, oracle(terms, output, kind)(*arrays)[0])


@given(contractions(elements=SPECIAL), KINDS)
@settings(max_examples=40)
def test_nan_products_are_skipped_and_zero_absorbs_infinity(
    oracle: Callable[..., Any], case: Any, kind: Any
) -> None:
    terms, output, arrays = case
    found = tropical.einsum(f"{','.join(terms)}->{output}", *arrays, kind=kind)
    np.testing.assert_array_equal(found, oracle(terms, output, kind)(*arrays)[0])


@given(st.integers(1, 4).flatmap(lambda n: contractions(operands=n)), KINDS)
@settings(max_examples=40)
def test_any_number_of_operands_is_contracted_as_by_definition(
    oracle: Callable[..., Any], case: Any, kind: Any
) -> None:
    terms, output, arrays = case
    found = tropical.einsum(f"{','.join(terms)}->{output}", *arrays, kind=kind)
    np.testing.assert_array_equal(found, oracle(terms, output, kind)(*arrays)[0])


@given(contractions(elements=SPECIAL), KINDS, st.sampled_from(["float32", "float64"]))
@settings(max_examples=25)
def test_all_executors_agree(
    executors: dict[str, Any], oracle: Callable[..., Any], case: Any, kind: Any, dtype: str
) -> None:
    terms, output, arrays = case
    arrays = [x.astype(dtype) for x in arrays]
    expected = oracle(terms, output, kind)(*arrays)[0]
    program = tn.make_program(
        lambda x, y: tropical.einsum(f"{','.join(terms)}->{output}", x, y, kind=kind),
        *(tn.TensorSpec(x.shape, dtype) for x in arrays),
    )
    for executor in executors.values():
        (found,) = executor.run(program, dict(zip("xy", arrays, strict=True)))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("batch", "left", "inner", "right"),
    [(1, 70, 40, 600), (3, 5, 1000, 4), (1, 1, 5000, 1), (200, 3, 17, 3), (1, 300, 1, 200)],
)
@pytest.mark.parametrize("kind", ["minplus", pytest.param("maxplus", marks=pytest.mark.exhaustive)])
def test_tiles_blocks_and_loops_make_no_difference(
    executors: dict[str, Any], batch: int, left: int, inner: int, right: int, kind: str
) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(batch, left, inner))
    b = rng.normal(size=(batch, inner, right))
    reduce = np.max if kind == "maxplus" else np.min
    expected = np.stack([reduce(x[:, :, None] + y, axis=1) for x, y in zip(a, b, strict=True)])
    program = tn.make_program(
        lambda a, b: tropical.einsum("bik,bkj->bij", a, b, kind=kind),
        tn.TensorSpec(("p", "m", "k")),
        tn.TensorSpec(("p", "k", "n")),
    )
    for executor in executors.values():
        (found,) = executor.run(program, {"a": a, "b": b})
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("notation", ["ij,jk", "ij , jk -> ik", "...ij,...jk->...ik", "xy,yz->xz"])
def test_one_contraction_may_be_written_in_many_ways(notation: str) -> None:
    a, b = np.arange(6.0).reshape(2, 3), -np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(
        tropical.einsum(notation, a, b), np.max(a[:, :, None] + b, axis=1)
    )


def test_without_an_arrow_labels_that_occur_once_are_kept_in_alphabetical_order() -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(tropical.einsum("ba", x), x.T)
    assert float(tropical.einsum("ii", x[:, :2])) == 4.0


def test_an_ellipsis_broadcasts_over_missing_axes() -> None:
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(4.0)
    np.testing.assert_array_equal(tropical.einsum("...i,...i->...", x, y), np.max(x + y, axis=-1))
    np.testing.assert_array_equal(tropical.einsum("...i,i", x, y), np.max(x + y, axis=-1))


@pytest.mark.parametrize("optimize", ["greedy", "optimal", False, [(0, 1), (0, 1)], [(0, 1, 2)]])
def test_the_order_of_contractions_makes_no_difference(optimize: Any) -> None:
    rng = np.random.default_rng(0)
    x, y, z = rng.integers(-5, 5, (3, 4, 4)).astype(float)
    expected = np.max(x[:, :, None, None] + y[None, :, :, None] + z[None, None], axis=(1, 2))
    found = tropical.einsum("ij,jk,kl->il", x, y, z, optimize=optimize)
    np.testing.assert_array_equal(found, expected)


def test_numbers_lists_and_tensors_are_operands() -> None:
    x = np.arange(4, dtype="float32")
    scaled = tropical.einsum("i,->i", x, 2)
    assert scaled.dtype == "float32"
    np.testing.assert_array_equal(scaled, x + 2)
    np.testing.assert_array_equal(tropical.einsum("i,i->", tn.Tensor(x), [3.0, 0.0, 0.0, 0.0]), 3)


def test_mixed_precision_is_double() -> None:
    x = np.arange(4, dtype="float32")
    assert tropical.einsum("i,i->i", x, x.astype("float64")).dtype == "float64"


def test_equal_contractions_are_one_node_whatever_their_letters() -> None:
    program = tn.make_program(
        lambda a, b: tropical.einsum("ij,jk", a, b) + tropical.einsum("xy,yz->xz", a, b),
        tn.TensorSpec((2, 2)),
        tn.TensorSpec((2, 2)),
    )
    assert str(program).count("extension[") == 1


def test_sizes_may_be_symbols(executors: dict[str, Any]) -> None:
    program = tn.make_program(
        lambda a, b: tropical.einsum("ij,jk,kl", a, b, a),
        tn.TensorSpec(("n", "m")),
        tn.TensorSpec(("m", "n")),
    )
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    once = np.max(x[:, :, None] + y, axis=1)
    assert "f64[n,m] = extension" in str(program)
    (found,) = executors["numpy"].run(program, {"a": x, "b": y})
    np.testing.assert_array_equal(found, np.max(once[:, :, None] + x, axis=1))


def test_another_semiring_is_refused() -> None:
    with pytest.raises(KindError, match="kind must be one of maxplus, minplus, got 'plus'"):
        tropical.einsum("i", np.zeros(1), kind="plus")  # type: ignore[arg-type]
