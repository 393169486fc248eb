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
    assert CPU.moving(F64, (1000, 1000), (1, 0)) > CPU.moving(F32, (1000, 1000), (1, 0))
    assert CPU.writing(C128, 10**6) == 2 * CPU.writing(F64, 10**6)
    assert CPU.product(C128, 1, 64, 64, 64) > 2 * CPU.product(F64, 1, 64, 64, 64)


def test_a_narrow_product_takes_longer_than_its_arithmetic() -> None:
    assert CPU.product(F64, 1, 4096, 1, 4096) > CPU.product(F64, 1, 256, 256, 256)
    assert replace(CPU, edge=0.0).edges(1, 1, 1) == 1.0


def test_a_short_right_side_costs_if_the_left_one_is_longer() -> None:
    assert CPU.short_side(4, 8) == CPU.short_side(1000, 100) == 0.0
    assert CPU.short_side(640, 8) > CPU.short_side(640, 32) > 0.0


def test_a_transpose_costs_by_what_it_reads_together() -> None:
    sizes = (2,) * 16
    kept = CPU.moving(F64, sizes, (1, 0, *range(2, 16)))
    turned = CPU.moving(F64, sizes, (*range(2, 16), 0, 1))
    scattered = CPU.moving(F64, sizes, (*range(15, 0, -2), *range(0, 16, 2)))
    assert kept < turned < scattered


def test_axes_of_one_number_cost_nothing() -> None:
    assert CPU.moving(F64, (1, 1, 1), (2, 0, 1)) < 2 * CPU.kernel
    assert CPU.moving(F64, (1, 90, 1), (1, 0, 2)) == CPU.moving(F64, (90,), (0,))
