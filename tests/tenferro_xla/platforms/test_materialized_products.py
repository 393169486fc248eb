"""Products of many factors that XLA must not compute again."""

import pytest

import tenferro as tn
from tenferro.runtime import GraphProgram
from tenferro_xla import XlaExecutor
from tenferro_xla.platforms import MaterializedProducts
from tests.programs import assert_same_results

SIDE = 16


def repeated_product(factors: int, times: int) -> GraphProgram:
    """A product of matrices' elements, repeated so many times in a larger value."""

    def repeated(*given: tn.TracedTensor) -> tn.TracedTensor:
        product = given[0]
        for factor in given[1:]:
            product = product * factor
        return (
            tn.broadcast_to(product, (times, SIDE, SIDE)) * tn.arange(float(times))[:, None, None]
        )

    return tn.make_program(repeated, *[tn.TensorSpec((SIDE, SIDE))] * factors)


def test_a_product_is_stored_before_a_large_value_repeats_it() -> None:
    program = repeated_product(9, 4096).exec_program
    result = MaterializedProducts().run(program)
    assert str(result).count("xla_stored") == 1
    assert_same_results(program, result, {})
    assert MaterializedProducts().run(result) is result


@pytest.mark.parametrize(("factors", "times"), [(8, 4096), (9, 4095)])
def test_short_products_and_small_values_are_left_to_xla(factors: int, times: int) -> None:
    program = repeated_product(factors, times).exec_program
    assert MaterializedProducts().run(program) is program


def test_xla_computes_a_stored_product_in_a_kernel_of_its_own() -> None:
    lowered = XlaExecutor("cpu").lower(repeated_product(9, 4096))
    entry = lowered.compile().as_text().split("ENTRY")[1]
    assert entry.count(" fusion(") == 2
