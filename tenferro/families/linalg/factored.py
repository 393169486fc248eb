"""Ops of a matrix and its factors: functions of the matrix alone, computed by the factors.

Their derivatives are taken by the matrix, never by the factors. The reference implementation
factors the matrix itself; runtimes and lowerings use the factors that are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tenferro.exec_ir import Array
from tenferro.families.kernels import KernelOp, kernel_of
from tenferro.families.linalg.types import Shape, check_dtype, check_same, check_square
from tenferro.family import ExtensionCache, ExtensionOp
from tenferro.shape import Dim, DType


class FactoredOp(KernelOp):
    """An op of A, its packed LU factors, its permutation, and further inputs.

    Attributes:
        by_factors: the kernel that reads only the factors, as `"module:function"`.
    """

    by_factors: ClassVar[str]


class FactoredRuntime:
    """Runs a family of such ops by the factors that are given."""

    def __init__(self, family: type[FactoredOp]) -> None:
        self.family_id = family.FAMILY_ID

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Array], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the op."""
        assert isinstance(op, FactoredOp)
        return kernel_of(op.by_factors)(op, *inputs)


def check_factored(
    name: str, dtypes: Sequence[DType], shapes: Sequence[Sequence[Dim]]
) -> tuple[DType, Shape, Dim]:
    """The dtype, the batch sizes and the rows of A; the other inputs are factors of it.

    Raises:
        ShapeError, DTypeError: A is not square, or the factors are not of its type.
    """
    dtype = check_dtype(name, *dtypes[:2])
    batch, n = check_square(name, dtype, shapes[0])
    for shape in shapes[1:]:
        for ours, theirs in zip((*batch, n), shape, strict=False):
            check_same(name, "the sizes of A and its factors", ours, theirs)
    return dtype, batch, n
