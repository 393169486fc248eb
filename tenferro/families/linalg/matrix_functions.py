"""The family of functions of general square matrices, and their Fréchet derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations
from operator import mul
from typing import Any

from tenferro.core import JvpSite, Slots, TransposeSite, V
from tenferro.errors import ConfigError
from tenferro.families.composite import KernelOp, LinearFormula, Transform, applied
from tenferro.families.linalg.degeneracy import MatrixFormula, chosen
from tenferro.families.linalg.divided_differences import (
    Exponential,
    Inverse,
    InverseSquareRoot,
    Logarithm,
    Power,
    ScalarFunction,
    Signum,
    SquareRoot,
    Step,
    Term,
    Times,
    XLogX,
    pairs,
    widened,
)
from tenferro.families.linalg.eigh import Eigh
from tenferro.families.linalg.matrix_op import ExpandedOp, check_dtype, check_square, columns, sym
from tenferro.families.linalg.sylvester import sylvester
from tenferro.ir import Dim, DType, TensorMeta
from tenferro.ops import full
from tenferro.ops.extension import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops.functions import Expression, apply, elementwise, expressions, manipulation

__all__ = [
    "Frechet",
    "HermitianFunction",
    "MatrixFunction",
    "hermitian_derivative",
    "hermitian_function",
]


# The family of functions of general square matrices, and their Fréchet derivatives.

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
    kernel = "tenferro.families.linalg.lapack:matrix_function"

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
        above: Any = apply(manipulation.concat, a, da, axis=-1)
        below: Any = apply(manipulation.concat, zero, a, axis=-1)
        block: Any = apply(manipulation.concat, above, below, axis=-2)
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


# The family of functions of Hermitian matrices and their derivatives of all orders.

_PLAIN: dict[str, Callable[[], ScalarFunction]] = {
    "abs": lambda: Times(Signum()),
    "exp": Exponential,
    "inverse": Inverse,
    "log": Logarithm,
    "rsqrt": InverseSquareRoot,
    "sign": Signum,
    "sqrt": SquareRoot,
    "xlogx": XLogX,
}
_OF_COUNT: dict[str, Callable[[int], ScalarFunction]] = {
    "keep": lambda count: Times(Step(count)),
    "step": Step,
}


def scalar_function(name: str, parameter: object) -> ScalarFunction:
    """The function of this name.

    Raises:
        ConfigError: there is none, or it takes another parameter.
    """
    if name in _PLAIN:
        if parameter is not None:
            raise ConfigError(f"funm_hermitian: {name} takes no parameter, got {parameter!r}")
        return _PLAIN[name]()
    if name == "power":
        if not isinstance(parameter, int | float):
            raise ConfigError(f"funm_hermitian: power takes an exponent, got {parameter!r}")
        return Power(float(parameter))
    if name in _OF_COUNT:
        if not isinstance(parameter, int):
            raise ConfigError(
                f"funm_hermitian: {name} takes a number of eigenvalues, got {parameter!r}"
            )
        return _OF_COUNT[name](parameter)
    known = ", ".join(sorted([*_PLAIN, *_OF_COUNT, "power"]))
    raise ConfigError(f"funm_hermitian: there is no function {name!r}; there are {known}")


@family_id(namespace="tenferro-linalg", name="hermitian_function", version=1)
@dataclass(frozen=True)
class HermitianFunction(ExpandedOp):
    """The derivative of order r of h at sym(A), in the directions sym(E).

    The inputs are A, its eigenvalues w and eigenvectors V, and r matrices E. The result is

        V (Σ over orders of the E's, h[w, …, w] ∘ VᴴE₁V ⋯ VᴴEᵣV) Vᴴ,

    of shape [..., n, n]: h(A) for r = 0, and V (h[w_i, w_j] ∘ VᴴEV) Vᴴ for r = 1 (Daleckii and
    Krein 1965; Higham, Functions of Matrices, chapter 3). It is a function of A and the E's: w and
    V only save a factorization. The reference implementation does not read them.

    Attributes:
        name: of h.
        parameter: of h.
        order: r.
    """

    name: str
    parameter: float | None = None
    order: int = 0

    output_count = 1
    kernel = "tenferro.families.linalg.lapack:of_eigenvectors"

    @property
    def input_count(self) -> int:
        """A, w, V and the E's."""
        return 3 + self.order

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of A."""
        scalar_function(self.name, self.parameter)
        dtype = check_dtype("funm_hermitian", input_dtypes[0], *input_dtypes[2:])
        check_square("funm_hermitian", dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))]

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """The formula."""
        _, w, v, *directions = inputs
        h = scalar_function(self.name, self.parameter)
        values = h.domain(w)
        if not directions:
            return [(v * columns(h.value(values))) @ v.H]
        factors = [v.H @ sym(e) @ v for e in directions]
        if self.order == 2:
            inner = _by_products(values, h.second(values), *factors)
        else:
            inner = _contracted(h.table(values, self.order), factors)
        return [v @ inner @ v.H]


def _contracted(table: Expression, factors: list[Expression]) -> Expression:
    """Σ over orders of the factors of h[i0..ir] F_1[i0, i1] ⋯ F_r[i(r−1), ir], over inner i's."""
    order = len(factors)
    count = order + 1

    def placed(factor: Expression, place: int) -> Expression:
        return widened(factor, tuple(at - count for at in range(count) if at - place not in (0, 1)))

    terms = [
        reduce(mul, [placed(factor, place) for place, factor in enumerate(chain)])
        for chain in permutations(factors)
    ]
    total = reduce(lambda x, y: x + y, terms)
    product = total * table
    return product if order == 1 else product.sum(axis=tuple(range(-count + 1, -1)))


def _by_products(w: Expression, terms: Sequence[Term], e: Expression, f: Expression) -> Expression:
    """Σ R ∘ ((P∘E)(Q∘F) + (P∘F)(Q∘E)) over terms P, Q, R, for Hermitian E and F.

    The terms hold where w_i ≤ w_k. The result is Hermitian, which gives the other half.
    """

    def times(table: Expression | None, x: Expression) -> Expression:
        return x if table is None else table * x

    products = [
        times(r, times(p, e) @ times(q, f) + times(p, f) @ times(q, e)) for p, q, r in terms
    ]
    x, y = pairs(w)
    sign: Any = apply(elementwise.sign, y - x)
    weight = sign * 0.5 + 0.5
    half = chosen(weight == 0, 0.0, weight * reduce(lambda x, y: x + y, products))
    return half + half.H


class HermitianFunctionRule(ExtensionAdRule):
    """One order more in the direction dA, and the same op in each dE; it is its own adjoint."""

    family_id = HermitianFunction.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The sum of these."""
        assert isinstance(op, HermitianFunction)
        emitter = at.emitter
        terms: list[V] = []
        if at.tangent[0] is not None:
            higher = Extension(replace(op, order=op.order + 1))
            terms += emitter.emit_all(higher, *at.primal, at.tangent[0])
        for place in range(3, op.input_count):
            tangent = at.tangent[place]
            if tangent is not None:
                inputs = list(at.primal)
                inputs[place] = tangent
                terms += emitter.emit_all(Extension(op), *inputs)
        if not terms:
            return (None,)
        return (reduce(lambda x, y: x + y, expressions(emitter, terms)).value,)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The op with the cotangent in the place of the active direction."""
        places = [place for place, on in enumerate(at.active) if on]
        if len(places) != 1 or places[0] < 3:
            return super().transpose_rule(op, at)
        inputs = list(at.inputs)
        (ct,) = at.ct
        assert ct is not None
        inputs[places[0]] = ct
        (result,) = at.emitter.emit_all(Extension(op), *inputs)
        slots: list[V | None] = [None] * len(inputs)
        slots[places[0]] = result
        return tuple(slots)


def hermitian_derivative(a: Expression, e: Expression, name: str) -> Expression:
    """The derivative of h at A along E; both Hermitian."""
    factors = a.emit_all(Extension(Eigh()))
    (result,) = a.emit_all(Extension(HermitianFunction(name, order=1)), *factors, e)
    return result


def hermitian_function(a: Expression, name: str, parameter: float | None = None) -> Expression:
    """h(A) for Hermitian A; see `HermitianFunction`."""
    scalar_function(name, parameter)
    if name == "power" and parameter is not None:
        parameter = float(parameter)  # 2 and 2.0 are one payload
    factors = a.emit_all(Extension(Eigh()))
    (result,) = a.emit_all(Extension(HermitianFunction(name, parameter)), *factors)
    return result
