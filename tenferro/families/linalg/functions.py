"""The family of functions of general square matrices, and their Fréchet derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenferro.arrays import Expression, apply, expressions, rearrange
from tenferro.chainrules import JvpSite, Slots, V
from tenferro.families.formula import Transform
from tenferro.families.kernels import KernelOp
from tenferro.families.linalg.rules import MatrixFormula
from tenferro.families.linalg.sylvester import sylvester
from tenferro.families.linalg.types import check_dtype, check_square
from tenferro.families.linear_formula import LinearFormula, applied
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops import full
from tenferro.shape import Dim, DType, TensorMeta

MATRIX_FUNCTIONS = {"exp": "expm", "log": "logm", "sqrt": "sqrtm"}
"""The functions, and the names under which users call them."""


@family_id(namespace="tenferro-linalg", name="matrix_function", version=1)
@dataclass(frozen=True)
class MatrixFunction(KernelOp):
    """The exponential, or the principal logarithm or square root, of square matrices.

    The dtype is kept. For a real matrix whose result is not real, or any without a result, it is
    NaN.

    Attributes:
        name: `"exp"`, `"log"` or `"sqrt"`.
    """

    name: str = "exp"

    input_count = 1
    output_count = 1
    kernel = "tenferro.families.linalg.kernels.general:matrix_function"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of the matrix."""
        name = MATRIX_FUNCTIONS[self.name]
        dtype = check_dtype(name, *input_dtypes)
        check_square(name, dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))]


@family_id(namespace="tenferro-linalg", name="frechet", version=1)
@dataclass(frozen=True)
class Frechet(MatrixFormula):
    """The derivative of a function f at A along dA: the upper right block of f([[A, dA], [0, A]]).

    Its adjoint is the derivative at Aᴴ.

    Attributes:
        name: the function, as of `MatrixFunction`.
        adjoint_first: whether it is the derivative at Aᴴ.
    """

    name: str = "exp"
    adjoint_first: bool = False
    present: tuple[bool, ...] = (True,)
    transforms: tuple[Transform, ...] = ()

    fixed = 1
    formula_outputs = 1

    def types(self, metas: Sequence[TensorMeta | None]) -> Sequence[TensorMeta]:
        """That of A."""
        assert metas[0] is not None
        return [metas[0]]

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """The tangent."""
        a, da = inputs
        if self.adjoint_first:
            a = a.H
        zero = Expression(a.emitter, full(a.emitter, 0, a.meta))
        above = apply(rearrange.concat, a, da, axis=-1)
        below = apply(rearrange.concat, zero, a, axis=-1)
        block = apply(rearrange.concat, above, below, axis=-2)
        (whole,) = block.emit_all(Extension(MatrixFunction(self.name)))
        n = a.shape[-1]
        return (whole[..., :n, n:],)

    def adjoint(self, present: tuple[bool, ...]) -> LinearFormula:
        """The derivative at Aᴴ."""
        return replace(self, adjoint_first=not self.adjoint_first, present=present)


class MatrixFunctionRule(ExtensionAdRule):
    """The Fréchet derivative; for the square root X, the dX with X dX + dX X = dA."""

    family_id = MatrixFunction.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The tangent."""
        assert isinstance(op, MatrixFunction)
        if op.name != "sqrt":
            return tuple(applied(at.emitter, Frechet(op.name), at.primal, at.tangent))
        x, da = expressions(at.emitter, (at.out[0], at.tangent[0]))
        return (sylvester(x, x, da).value,)
