"""What an op says of the elements that it reads holds: each row of the table in `cases`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tenferro.ir import Reach
from tenferro.ops import StdTensorOp
from tenferro.transforms.jacobian_sparsity import Pattern
from tests.graphs import Array, metas_of
from tests.ops.cases import CASES
from tests.ops.rows import Case, row_id

ROWS = [case for case in CASES if case.operands and case.dtypes[-1] in ("f64", "c128")]


@pytest.mark.exhaustive(but=68)
@pytest.mark.parametrize("case", ROWS, ids=row_id)
def test_no_element_depends_on_others_than_the_op_says(case: Case) -> None:
    dtype = case.dtypes[-1]
    op: Any = case.op_for(dtype)
    arrays = case.arrays(dtype)
    for operand, array in enumerate(arrays):
        reach = op.reach(operand, metas_of(arrays), arrays.__getitem__)
        if reach is None or array.dtype.kind not in "fc" or operand == op.size_operand:
            continue
        (result,) = op.evaluate(arrays)
        for element in range(array.size):
            changed = np.flatnonzero(result != changed_at(op, arrays, operand, element))
            assert set(changed) <= set(readers(reach, array.size, result.size, element))


def changed_at(op: StdTensorOp, arrays: list[Array], operand: int, element: int) -> Array:
    """The result after one element of an operand was changed."""
    changed = [array.copy() for array in arrays]
    changed[operand].reshape(-1)[element] += 0.125
    with np.errstate(all="ignore"):  # an order of a special function is a number like others here
        (result,) = op.evaluate(changed)
    return result


def readers(reach: Reach, size: int, results: int, element: int) -> Array:
    """The elements of the result that depend on one element of the operand."""
    pattern = Pattern.units(size, 0, size).through(reach, results)
    assert pattern.rows == results
    return pattern.row_numbers[pattern.column_numbers == element]
