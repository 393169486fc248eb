"""Functions of general square matrices and of Hermitian ones, with derivatives of all orders."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np

from tenferro.errors import ConfigError
from tenferro.ir import AnyTensor, ArrayLike, NumpyArray, TensorMeta, assume_equal, dtype_kind
from tenferro.linalg.arguments import (
    agreed,
    check_dtype,
    check_square,
    floating,
    integer,
    known,
    same_batch,
    square,
)
from tenferro.linalg.divided_differences import (
    Exponential,
    InverseSquareRoot,
    Logarithm,
    Power,
    Reciprocal,
    ScalarFunction,
    Signum,
    SquareRoot,
    StepFunction,
    TableFactors,
    Times,
    XLogX,
    pairs,
    widened,
)
from tenferro.linalg.eigh import Eigh, by_eigenvectors
from tenferro.linalg.matrix_op import (
    ExpandedOp,
    H,
    columns,
    concatenated,
    family,
    identity,
    over_batch,
    scipy_linalg,
    sym,
    zeros_like,
)
from tenferro.linalg.solve import inverse
from tenferro.linalg.sylvester import sylvester
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    LinearFormula,
    OutputTypes,
    Shapes,
    Terms,
    Transform,
)
from tenferro.ops.functions import array_function, elementwise, emit, emit_all, promote
from tenferro.ops.functions.elementwise import where

__all__ = [
    "ExpmFrechetResult",
    "expm",
    "expm_frechet",
    "funm_hermitian",
    "logm",
    "matrix_power",
    "sqrtm",
]

# Functions of general square matrices.

MATRIX_FUNCTIONS = {"exp": "expm", "log": "logm", "sqrt": "sqrtm"}
"""The functions, and the names under which users call them."""


@family(name="matrix_function")
@dataclass(frozen=True)
class MatrixFunction(FamilyOp):
    """The exponential, or the principal logarithm or square root, of square matrices.

    The result has the dtype of the matrix. It is NaN for a real matrix whose function is not real,
    and for any without one.

    Attributes:
        name: `"exp"`, `"log"` or `"sqrt"`.
    """

    name: str = "exp"

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        name = MATRIX_FUNCTIONS[self.name]
        dtype = check_dtype(name, *input_dtypes)
        check_square(name, dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))]

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        """By SciPy; NaN for each matrix without a result in the dtype."""
        if not a.size:
            return [a]
        with warnings.catch_warnings(record=True), np.errstate(all="ignore"):
            warnings.simplefilter("always")
            function = {"exp": scipy_linalg().expm, "log": _log, "sqrt": _sqrt}[self.name]
            return over_batch(lambda x: (function(x),), [a], [np.empty_like(a)])

    def jvp(self, at: FormulaSite) -> Terms:
        """The Fréchet derivative; for the square root X, the dX with X dX + dX X = dA."""
        (a,), (x,), (da,) = at.operands, at.results, at.tangents
        if self.name == "sqrt":
            return [sylvester(x, x, da)]
        return emit_all(Extension(Frechet(self.name)), a, da)


def _log(a: NumpyArray) -> NumpyArray:
    wide = a.astype(np.result_type(a.dtype, np.float64))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = scipy_linalg().logm(wide)
    if any("exactly singular" in str(each.message) for each in caught):
        raise np.linalg.LinAlgError("singular")
    return _in_dtype(result, a.dtype)


def _sqrt(a: NumpyArray) -> NumpyArray:
    wide = a.astype(np.result_type(a.dtype, np.float64))
    result = scipy_linalg().sqrtm(wide)
    error = np.abs(result @ result - wide).max(initial=0)
    bound = 1e3 * len(a) * np.finfo(wide.dtype).eps * np.sum(np.abs(result) ** 2)
    if not error <= bound:  # a singular matrix may have no square root
        raise np.linalg.LinAlgError("no square root")
    return _in_dtype(result, a.dtype)


def _in_dtype(result: NumpyArray, dtype: Any) -> NumpyArray:
    """The result in a dtype, without an imaginary part for a real one.

    Raises:
        LinAlgError: it has one.
    """
    if dtype_kind(dtype) == "f" and dtype_kind(result.dtype) == "c":
        size = np.abs(result).max(initial=0)
        if not np.abs(result.imag).max(initial=0) <= 1e-8 * size:
            raise np.linalg.LinAlgError("not real")
        result = result.real
    return np.asarray(result, dtype)


@family(name="frechet")
@dataclass(frozen=True)
class Frechet(LinearFormula):
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

    def formula(self, *inputs: Any) -> Sequence[AnyTensor]:
        """The tangent."""
        a, da = inputs
        if self.adjoint_first:
            a = H(a)
        block = concatenated(concatenated(a, da), concatenated(zeros_like(a), a), -2)
        whole = emit(Extension(MatrixFunction(self.name)), block)
        n = a.shape[-1]
        return (whole[..., :n, n:],)

    def adjoint(self, present: tuple[bool, ...]) -> LinearFormula:
        """The derivative at Aᴴ."""
        return replace(self, adjoint_first=not self.adjoint_first, present=present)


# Functions of Hermitian matrices and their derivatives of all orders.

_PLAIN: dict[str, Callable[[], ScalarFunction]] = {
    "abs": lambda: Times(Signum()),
    "exp": Exponential,
    "inverse": Reciprocal,
    "log": Logarithm,
    "rsqrt": InverseSquareRoot,
    "sign": Signum,
    "sqrt": SquareRoot,
    "xlogx": XLogX,
}


_OF_COUNT: dict[str, Callable[[int], ScalarFunction]] = {
    "keep": lambda count: Times(StepFunction(count)),
    "step": StepFunction,
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


@family(name="hermitian_function")
@dataclass(frozen=True)
class HermitianFunction(ExpandedOp):
    """The derivative of order r of h at sym(A), in the directions sym(E).

    The inputs are A, its eigenvalues w and eigenvectors V, and r matrices E. The result is

        V (Σ over orders of the E's, h[w, …, w] ∘ VᴴE₁V ⋯ VᴴEᵣV) Vᴴ,

    of shape [..., n, n]: h(A) for r = 0, and V (h[w_i, w_j] ∘ VᴴEV) Vᴴ for r = 1 (Daleckii and
    Krein 1965; Higham, Functions of Matrices, chapter 3). It is a function of A and the E's: w and
    V only save a factorization.

    Attributes:
        name: of h.
        parameter: of h.
        order: r.
    """

    name: str
    parameter: float | None = None
    order: int = 0

    output_count = 1
    linear_from = 3

    @property
    def input_count(self) -> int:
        """A, w, V and the E's."""
        return 3 + self.order

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        scalar_function(self.name, self.parameter)
        dtype = check_dtype("funm_hermitian", input_dtypes[0], *input_dtypes[2:])
        check_square("funm_hermitian", dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[0]))]

    def kernel(self, *arrays: NumpyArray) -> list[NumpyArray]:
        return by_eigenvectors(self, *arrays)

    def formula(self, *inputs: Any) -> Sequence[AnyTensor]:
        _, w, v, *directions = inputs
        h = scalar_function(self.name, self.parameter)
        values = h.domain(w)
        if not directions:
            return [(v * columns(h.value(values))) @ H(v)]
        factors = [H(v) @ sym(e) @ v for e in directions]
        if self.order == 2:
            inner = _by_products(values, h.second(values), *factors)
        else:
            inner = _contracted(h.table(values, self.order), factors)
        return [v @ inner @ H(v)]

    def jvp(self, at: FormulaSite) -> Terms:
        """One order more in the direction dA, and the same op in each dE."""
        a, *others = at.operands
        terms: list[AnyTensor] = []
        if at.tangents[0] is not None:
            higher = Extension(replace(self, order=self.order + 1))
            terms += emit_all(higher, a, *others, at.tangents[0])
        for place in range(3, self.input_count):
            if at.tangents[place] is not None:
                terms += self._along(at, place, at.tangents[place])
        return [reduce(add, terms) if terms else None]

    def vjp(self, at: FormulaSite) -> Terms | None:
        """The op with the cotangent in the place of the active direction: it is its own adjoint."""
        if sum(at.active) != 1:
            return super().vjp(at)
        (ct,) = at.cts
        return [
            self._along(at, place, ct)[0] if at.active[place] else None
            for place in range(3, self.input_count)
        ]

    def _along(self, at: FormulaSite, place: int, e: AnyTensor) -> tuple[AnyTensor, ...]:
        """The op with another direction."""
        others = (*at.operands[1:place], e, *at.operands[place + 1 :])
        return emit_all(Extension(self), at.operands[0], *others)


def _contracted(table: AnyTensor, factors: list[AnyTensor]) -> AnyTensor:
    """Σ over orders of the factors of h[i0..ir] F_1[i0, i1] ⋯ F_r[i(r−1), ir], over inner i's."""
    order = len(factors)
    count = order + 1

    def placed(factor: AnyTensor, place: int) -> AnyTensor:
        return widened(factor, tuple(at - count for at in range(count) if at - place not in (0, 1)))

    terms = [
        reduce(mul, [placed(factor, place) for place, factor in enumerate(chain)])
        for chain in permutations(factors)
    ]
    total = reduce(lambda x, y: x + y, terms)
    product = total * table
    return product if order == 1 else product.sum(axis=tuple(range(-count + 1, -1)))


def _by_products(
    w: AnyTensor, terms: Sequence[TableFactors], e: AnyTensor, f: AnyTensor
) -> AnyTensor:
    """Σ R ∘ ((P∘E)(Q∘F) + (P∘F)(Q∘E)) over terms P, Q, R, for Hermitian E and F.

    The terms hold where w_i ≤ w_k. The result is Hermitian, which gives the other half.
    """

    def times(table: AnyTensor | None, x: AnyTensor) -> AnyTensor:
        return x if table is None else table * x

    products = [
        times(r, times(p, e) @ times(q, f) + times(p, f) @ times(q, e)) for p, q, r in terms
    ]
    x, y = pairs(w)
    sign = elementwise.sign(y - x)
    weight = sign * 0.5 + 0.5
    half = where(weight == 0, 0.0, weight * reduce(lambda x, y: x + y, products))
    return half + H(half)


def hermitian_derivative(a: AnyTensor, e: AnyTensor, name: str) -> AnyTensor:
    """The derivative of h at A along E; both Hermitian."""
    factors = emit_all(Extension(Eigh()), a)
    return emit(Extension(HermitianFunction(name, order=1)), a, *factors, e)


def hermitian_function(a: AnyTensor, name: str, parameter: float | None = None) -> AnyTensor:
    """h(A) for Hermitian A; see `HermitianFunction`."""
    scalar_function(name, parameter)
    if name == "power" and parameter is not None:
        parameter = float(parameter)  # 2 and 2.0 are one payload
    factors = emit_all(Extension(Eigh()), a)
    return emit(Extension(HermitianFunction(name, parameter)), a, *factors)


@array_function(module="tenferro.linalg")
def expm(A: ArrayLike, *, assume_a: str = "gen") -> AnyTensor:  # noqa: N803  # SciPy's name
    """The exponential of square matrices.

    Args:
        A: matrices, of shape [..., n, n].
        assume_a: "gen", or "her" for Hermitian ones, of which (a + aᴴ) / 2 is read; see
            `funm_hermitian`.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.
        ConfigError: `assume_a` is neither.

    >>> tn.linalg.expm([[0.0, 1.0], [0.0, 0.0]])
    Tensor([[1., 1.],
            [0., 1.]])
    """
    return _function("expm", "exp", A, assume_a)


@array_function(module="tenferro.linalg")
def logm(a: ArrayLike, *, assume_a: str = "gen") -> AnyTensor:
    """The principal logarithm of square matrices.

    The dtype is kept: the result is NaN for a real matrix with a negative eigenvalue. Convert it to
    a complex one for the complex result. It is NaN for a singular matrix too. Parameters are as in
    `expm`.

    >>> tn.linalg.logm([[1.0, 3.0], [0.0, 1.0]])
    Tensor([[0., 3.],
            [0., 0.]])
    """
    return _function("logm", "log", a, assume_a)


@array_function(module="tenferro.linalg")
def sqrtm(A: ArrayLike, *, assume_a: str = "gen") -> AnyTensor:  # noqa: N803
    """The principal square root of square matrices.

    The dtype is kept, with NaN for a real matrix with a negative eigenvalue, as in `logm`. The
    result is NaN for a matrix without a square root too. Parameters are as in `expm`.

    >>> tn.linalg.sqrtm([[4.0, 1.0], [0.0, 4.0]])
    Tensor([[2.  , 0.25],
            [0.  , 2.  ]])
    """
    return _function("sqrtm", "sqrt", A, assume_a)


def _check_assumption(name: str, assume_a: str) -> None:
    if assume_a not in ("gen", "her"):
        raise ConfigError(f"{name}: assume_a must be 'gen' or 'her', got {assume_a!r}")


def _function(name: str, function: str, a: ArrayLike, assume_a: str) -> AnyTensor:
    _check_assumption(name, assume_a)
    value = square(name, a)
    if assume_a == "her":
        return hermitian_function(value, function)
    return emit(Extension(MatrixFunction(function)), value)


class ExpmFrechetResult(NamedTuple):
    """Of `expm_frechet`."""

    expm: AnyTensor
    derivative: AnyTensor


@array_function(operands=2, module="tenferro.linalg", results=ExpmFrechetResult)
def expm_frechet(
    A: ArrayLike,  # noqa: N803
    E: ArrayLike,  # noqa: N803
    *,
    compute_expm: bool = True,
    assume_a: str = "gen",
) -> ExpmFrechetResult | AnyTensor:
    """The exponential of square matrices, and its derivative along others.

    Args:
        A: matrices, of shape [..., n, n].
        E: the directions, of shape [..., n, n].
        compute_expm: whether both are returned, or the derivative alone.
        assume_a: "gen", or "her" for Hermitian a and e, of which (x + xᴴ) / 2 is read.

    Raises:
        ShapeError: an operand is not square, or the sizes differ.
        DTypeError: an operand is of half precision.
        ConfigError: `assume_a` is neither.

    >>> tn.linalg.expm_frechet([[0.0]], [[3.0]]).derivative
    Tensor([[3.]])
    """
    _check_assumption("expm_frechet", assume_a)
    lhs, rhs = floating("expm_frechet", A, E)
    lhs, rhs = square("expm_frechet", lhs), square("expm_frechet", rhs)
    metas = [value.meta for value in (lhs, rhs)]
    n, m = (meta.exact_shape("expm_frechet")[-1] for meta in metas)
    text = f"expm_frechet: a {metas[0]} and e {metas[1]}"
    agreed(n, m, f"{text} differ in rows: {n} and {m}")
    assume_equal(n, m, text)
    lhs, rhs = same_batch("expm_frechet", lhs, rhs)
    if assume_a == "her":
        derivative = hermitian_derivative(lhs, rhs, "exp")
    else:
        derivative = emit(Extension(Frechet("exp")), lhs, rhs)
    if not compute_expm:
        return derivative
    return ExpmFrechetResult(_function("expm", "exp", lhs, assume_a), derivative)


@array_function(module="tenferro.linalg")
def funm_hermitian(x: ArrayLike, name: str, parameter: float | None = None) -> AnyTensor:
    """V h(w) Vᴴ for Hermitian matrices V diag(w) Vᴴ, with derivatives at equal eigenvalues too.

    Reads (x + xᴴ) / 2. Derivatives of all orders are exact where eigenvalues are equal, and use one
    factorization with the value. The derivative in the direction E is V (h[w_i, w_j] ∘ VᴴEV) Vᴴ,
    with h[a, b] = (h(a) − h(b)) / (a − b), or h'(a) where a = b.

    The names are "exp", "log", "sqrt", "rsqrt" (w^(−1/2)), "power" (w^parameter), "inverse", "abs",
    "sign", "xlogx" (w log w, 0 at 0), "step" (1 for the `parameter` smallest eigenvalues, the
    projector on their space) and "keep" (w for these and 0 for others). A negative parameter of
    "step" and "keep" takes the largest ones. Where h is not defined the matrix is NaN, and where
    it has no derivative the derivative is infinite or NaN.

    Args:
        x: matrices, of shape [..., n, n].
        name: h.
        parameter: the exponent of "power", and the number of eigenvalues of "step" and "keep".

    Raises:
        ShapeError: x is not square.
        ConfigError: there is no function of this name, or it takes another parameter.

    Source: Higham, Functions of Matrices, chapter 3; Daleckii and Krein 1965.

    >>> tn.linalg.funm_hermitian([[2.0, 0.0], [0.0, 3.0]], "power", 2)
    Tensor([[4., 0.],
            [0., 9.]])
    """
    known("funm_hermitian", "parameter", parameter)
    if name in ("step", "keep"):
        count = integer("funm_hermitian", "parameter", parameter)
        parameter = parameter if count is None else count
    a = square("funm_hermitian", x)
    return hermitian_function(a, name, parameter)


@array_function(module="tenferro.linalg")
def matrix_power(a: ArrayLike, n: int) -> AnyTensor:
    """The n-th power of square matrices, by repeated squaring; of the inverse for negative n.

    Powers of integers and bools are of their dtype, unless n is negative.

    Args:
        a: matrices, of shape [..., n, n].
        n: an integer, not an array.

    Raises:
        ConfigError, TracingError: the exponent is not an integer.
        ShapeError: `a` is not square.
        DTypeError: `a` is of half precision, and n negative.

    >>> tn.linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 5)
    Tensor([[1., 5.],
            [0., 1.]])
    """
    exponent = integer("matrix_power", "the exponent", n)
    if exponent is None:
        raise ConfigError(f"matrix_power: the exponent must be an integer, got {n!r}")
    n = exponent
    (base,) = promote((a,))
    if n < 0:
        base, n = inverse(square("matrix_power", base)), -n
    else:
        check_square("matrix_power", base.dtype, base.meta.exact_shape("matrix_power", "a"))
    result: AnyTensor | None = None
    while n:
        if n % 2:
            result = base if result is None else result @ base
        n //= 2
        base = base @ base if n else base
    return identity(base) if result is None else result
