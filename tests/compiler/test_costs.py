"""The one model of costs: what it says of larger and of other products."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tenferro.compiler import CPU
from tenferro.shape import as_dtype

F64, F32, C128 = map(as_dtype, ("f64", "f32", "c128"))


@pytest.mark.parametrize("grown", range(4))
def test_a_larger_product_takes_longer(grown: int) -> None:
    small = [2, 64, 64, 64]
    large = [size * 2 if axis == grown else size for axis, size in enumerate(small)]
    assert CPU.product(F64, *large) > CPU.product(F64, *small)
    assert CPU.contraction(*large) > CPU.contraction(*small)


def test_a_product_without_elements_takes_no_time() -> None:
    assert CPU.product(F64, 1, 0, 64, 64) == 0.0


def test_a_number_of_more_bytes_takes_longer() -> None:
    assert CPU.moving(F64, 10**6) > CPU.moving(F32, 10**6)
    assert CPU.writing(C128, 10**6) == 2 * CPU.writing(F64, 10**6)
    assert CPU.product(C128, 1, 64, 64, 64) > 2 * CPU.product(F64, 1, 64, 64, 64)


def test_a_narrow_product_takes_longer_than_its_arithmetic() -> None:
    assert CPU.product(F64, 1, 4096, 1, 4096) > CPU.product(F64, 1, 256, 256, 256)
    assert replace(CPU, edge=0.0).edges(1, 1, 1) == 1.0


def test_a_left_operand_that_is_contracted_first_costs_by_its_size() -> None:
    assert CPU.packing(1e-3, 10**6) > CPU.packing(1e-3, 10**3) > 0.0


def test_a_short_left_side_costs_if_the_right_one_is_longer() -> None:
    assert CPU.short_side(8, 4) == 0.0
    assert CPU.short_side(8, 640) > CPU.short_side(320, 640) > 0.0
