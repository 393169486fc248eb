"""What functions of others return is theirs: results are arrays that nobody else has."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.extension import ExtensionOp, KernelRuntime, Package, apply, family_id
from tenferro.ops.extension import unaliased

SCRATCH, ITSELF = np.zeros(4), np.zeros(2)
MEMORY = (ctypes.c_double * 2)()
FORTRAN = np.zeros((2, 2), order="F")
X = np.array([1.0, 2.0])


def view_of_scratch(x: Any) -> Any:
    SCRATCH[:2] += x
    return SCRATCH[:2]


def memory_of_others(x: Any) -> Any:
    result = np.frombuffer(MEMORY)
    result[:] = x + 1
    return result


def column(x: Any) -> Any:
    FORTRAN[:, 0] = x + 1
    return FORTRAN[:, 0]


def scratch_itself(x: Any) -> Any:
    np.add(ITSELF, x, out=ITSELF)
    return ITSELF


RETURNED: list[Any] = [None]


def kept_in_a_list(x: Any) -> Any:
    RETURNED[0] = x + 1
    return RETURNED[0]


def the_operand(x: Any) -> Any:
    return x


@family_id(namespace="owned-tests", name="calls", version=1)
@dataclass(frozen=True)
class Calls(ExtensionOp):
    """Calls one of the functions."""

    place: int
    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Any) -> Any:
        return [FUNCTIONS[self.place](inputs[0])]


FUNCTIONS: list[Callable[[Any], Any]] = [
    view_of_scratch, memory_of_others, column, scratch_itself, kept_in_a_list, the_operand
]  # fmt: skip
PACKAGE = Package("owned-tests", ops=(Calls,), runtimes=(KernelRuntime(Calls),))


@pytest.mark.parametrize("place", range(len(FUNCTIONS)), ids=lambda at: FUNCTIONS[at].__name__)
def test_results_stay_when_the_function_uses_its_memory_again(place: int) -> None:
    spec = tn.TensorSpec((2,), "float64")

    def callback(x: Any) -> Any:
        first = tn.pure_callback(FUNCTIONS[place], spec, x)
        return first, tn.pure_callback(FUNCTIONS[place], spec, first + 0.0)

    def extension(x: Any) -> Any:
        first = apply(Calls(place), x)
        return first, apply(Calls(place), first + 0.0)

    for run in (
        callback,
        extension,
        tn.jit(callback, executor="numpy"),
        tn.jit(callback),
        tn.jit(extension, executor="numpy", packages=(PACKAGE,)),
    ):
        for _ in range(2):
            SCRATCH[:] = ITSELF[:] = 0.0
            x = X.copy()
            first, second = run(x)
            x[:] = MEMORY[0] = MEMORY[1] = FORTRAN[:] = 7.0
            expected = X + (place in (1, 2, 4))
            assert first.tolist() == expected.tolist()
            again = [2 * X, X + 2, X + 2, 2 * X, X + 2, X][place]
            assert second.tolist() == again.tolist()
            if place in (0, 3):
                assert x.flags.writeable


def test_an_array_that_nobody_else_has_is_not_copied() -> None:
    made: list[int] = []

    def fresh() -> Any:
        array = np.ones(3)
        made.append(id(array))
        return [array, np.float64(2.0)]

    result = unaliased(fresh())
    assert (id(result[0]), result[1]) == (made[0], 2.0)
    assert unaliased(result)[0] is not result[0]
    assert unaliased(result[0])[0] is not result[0]
    assert unaliased(np.ones((2, 3)).T)[0].flags.owndata
