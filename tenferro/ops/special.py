"""Special functions, their derivatives, and samples of the gamma distribution.

By the functions themselves where that cancels little, and by asymptotic series far from 0 (NIST
Digital Library of Mathematical Functions, 7.12). Each takes the modules of array and of special
functions: NumPy and SciPy, or others that name functions alike.

SciPy is imported when the first of them is computed.

With F the distribution function and x = F⁻¹(u; a) for a fixed u, dx/da = -(∂F/∂a)/(∂F/∂x).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np

from tenferro.core import JvpSite, Slots, V, chain
from tenferro.errors import ADRuleError, DTypeError
from tenferro.ir import NumpyArray, TensorMeta, payload
from tenferro.ops.analytic import (
    EXP,
    SECH_SQUARED,
    Analytic,
    Partial,
    Term,
    cos,
    exp,
    log,
    log1p,
    sin,
)
from tenferro.ops.base import StdTensorOp, same_type
from tenferro.ops.broadcast import full_like, zeros_like
from tenferro.ops.comparison import ABS, MAXIMUM, MINIMUM, REM, SELECT, Compare
from tenferro.ops.elementwise import DIV, MUL, NEG, ROUND, SUB, Elementwise
from tenferro.ops.error_function import erf, erf_inv, erfc

__all__ = [
    "CBRT",
    "ERF",
    "ERFC",
    "ERF_INV",
    "GAMMA_GRAD",
    "LARGE_SHAPE",
    "LOGISTIC",
    "LOG_ADD_EXP",
    "SLOPES",
    "SPECIAL_FUNCTIONS",
    "Cbrt",
    "Erf",
    "ErfInv",
    "Erfc",
    "GammaGrad",
    "GammaSample",
    "LogAddExp",
    "Logistic",
    "Special",
    "gamma_grad_of_large",
]


# Special functions: cube root, error functions, logistic, and sums of exponentials.


@payload
class Cbrt(Analytic, name="cbrt"):
    """Cube root, negative for negative x."""

    kinds = "f"

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.cbrt`."""
        return np.cbrt(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/(3·cbrt(x)²)."""
        out = at.out[0]
        third = full_like(at.emitter, 1 / 3, out)
        return at.emit(DIV, third, at.emit(MUL, out, out))


@payload
class Erf(Analytic, name="erf"):
    """The error function, 2/sqrt(π) times the integral of exp(-t²) from 0 to x."""

    kinds = "f"

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """In double precision, to a unit of rounding."""
        return erf(x.astype(np.float64)).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """2/sqrt(π)·exp(-x²)."""
        return _bell(at, 2 / math.sqrt(math.pi))


@payload
class Erfc(Analytic, name="erfc"):
    """1 - erf(x), accurate where it is small."""

    kinds = "f"

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """In double precision, to a few units of rounding."""
        return erfc(x.astype(np.float64)).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """-2/sqrt(π)·exp(-x²)."""
        return _bell(at, -2 / math.sqrt(math.pi))


@payload
class ErfInv(Analytic, name="erf_inv"):
    """The y with erf(y) = x; infinite at ±1 and NaN beyond."""

    kinds = "f"

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """In double precision, to a few units of rounding."""
        return erf_inv(x.astype(np.float64)).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """sqrt(π)/2·exp(y²)."""
        out = at.out[0]
        growth = at.emit(EXP, at.emit(MUL, out, out))
        return at.emit(MUL, full_like(at.emitter, math.sqrt(math.pi) / 2, out), growth)


@payload
class Logistic(Analytic, name="logistic"):
    """1/(1 + exp(-x)), without overflow."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """Computed from exp of numbers whose real part is not positive."""
        right = x.real >= 0
        decay = np.exp(np.where(right, -x, x))
        result = np.where(right, 1, decay) / (1 + decay)
        return np.asarray(result).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/(2·cosh(x/2))², accurate for x of either sign, and so are its derivatives."""
        x = at.primal[0]
        half = at.emit(MUL, full_like(at.emitter, 0.5, x), x)
        return at.emit(MUL, full_like(at.emitter, 0.25, x), at.emit(SECH_SQUARED, half))


@payload
class LogAddExp(Elementwise, name="log_add_exp"):
    """log(exp(x) + exp(y)), without overflow."""

    n_inputs = 2
    kinds = "f"
    commutative = True

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.logaddexp`."""
        return np.logaddexp(x, y)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """logistic(x - y)·dx + logistic(y - x)·dy; factors of ½ for equal infinities."""
        x, y = at.primal
        infinite = at.emit(Compare("EQ"), at.emit(ABS, x), full_like(at.emitter, math.inf, x))
        zero = zeros_like(at.emitter, x)

        def weight(operand: V, other_operand: V) -> V:
            difference = at.emit(SUB, operand, other_operand)
            tie = at.emit(SELECT, at.emit(Compare("EQ"), x, y), zero, difference)
            return at.emit(LOGISTIC, at.emit(SELECT, infinite, tie, difference))

        return chain(
            at,
            lambda t: at.emit(MUL, weight(x, y), t),
            lambda t: at.emit(MUL, weight(y, x), t),
        )


def _bell(at: JvpSite[V], height: float) -> V:
    """A multiple of exp(-x²)."""
    x = at.primal[0]
    decay = at.emit(EXP, at.emit(NEG, at.emit(MUL, x, x)))
    return at.emit(MUL, full_like(at.emitter, height, x), decay)


CBRT = Cbrt()
ERF = Erf()
ERFC = Erfc()
ERF_INV = ErfInv()
LOGISTIC = Logistic()
LOG_ADD_EXP = LogAddExp()


# First derivatives of functions about the error function and of the dilogarithm.

Modules = Any

FAR = 7.0
"""From here on the asymptotic series of `dawsn` and `erfcx` serve."""
_TERMS = 28
DAWSN_SERIES = tuple(math.prod(range(1, 2 * k, 2)) / 2 ** (k + 1) for k in range(_TERMS))
"""Dawson's integral is the sum of cₖ·x^(-2k-1)."""
ERFCX_SERIES = tuple((-1) ** k * 2 * c / math.sqrt(math.pi) for k, c in enumerate(DAWSN_SERIES))
"""exp(x²)·erfc(x) is the sum of cₖ·x^(-2k-1), for positive x."""
LOG_NDTR_FAR = 9.0
"""From minus this on, to the left, the asymptotic series of `log_ndtr` serves."""


def _log_series(series: Sequence[int]) -> list[Fraction]:
    """The coefficients of log(1 + Σ sₖ·uᵏ), k from 1: l′·s = s′."""
    logs: list[Fraction] = []
    for n, coefficient in enumerate(series, 1):
        known = sum(k * logs[k - 1] * series[n - k - 1] for k in range(1, n))
        logs.append(coefficient - Fraction(known) / n)
    return logs


LOG_NDTR_SERIES = tuple(
    float(c) for c in _log_series([(-1) ** k * math.prod(range(1, 2 * k, 2)) for k in range(1, 30)])
)
"""log_ndtr(x) is -x²/2 - log(-x·√2π) plus the sum of cₖ·x^(-2k) from k = 1."""


def dawsn_slope(x: Any, xp: Modules, special: Modules) -> Any:
    """1 - 2x·dawsn(x)."""
    far = abs(x) >= FAR
    series = [-(2 * k + 1) * c for k, c in enumerate(DAWSN_SERIES)]
    return xp.where(far, _squares(x, far, series, xp), 1 - 2 * x * special.dawsn(x))


def erfcx_slope(x: Any, xp: Modules, special: Modules) -> Any:
    """2x·erfcx(x) - 2/√π."""
    far = x >= FAR
    series = [-(2 * k + 1) * c for k, c in enumerate(ERFCX_SERIES)]
    near = 2 * x * special.erfcx(x) - 2 / math.sqrt(math.pi)
    return xp.where(far, _squares(x, far, series, xp), near)


def log_ndtr_slope(x: Any, xp: Modules, special: Modules) -> Any:
    """The density over the probability; where both vanish, as the inverse of Mills' ratio."""
    below, above = xp.where(x > 0, 0, x), xp.where(x < 0, 0, x)
    left = 1 / special.erfcx(below * -math.sqrt(0.5))
    right = xp.exp(above * above * -0.5) / special.erfc(above * -math.sqrt(0.5))
    return xp.where(x > 0, right, left) * math.sqrt(2 / math.pi)


def spence_slope(x: Any, xp: Modules, special: Modules) -> Any:
    """log(x)/(1 - x), and -1 at 1."""
    one = x == 1
    away = xp.where(one, 2, x)
    near = abs(away - 1) < 0.5
    log = xp.where(near, xp.log1p(xp.where(near, away - 1, 0)), xp.log(away))
    return xp.where(one, -1, log / (1 - away))


def _squares(x: Any, far: Any, coefficients: Sequence[float], xp: Modules) -> Any:
    """The sum of cₖ·x^(-2k-2), where `far`."""
    inverse = 1 / xp.where(far, x, FAR)
    square = inverse * inverse
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * square + coefficient
    return total * square


SLOPES: dict[str, Callable[..., Any]] = {
    slope.__name__: slope
    for slope in (
        dawsn_slope,
        erfcx_slope,
        log_ndtr_slope,
        spence_slope,
    )
}
"""By name: from the operands, and the modules of array and of special functions."""


# Special functions of real numbers, as one op: the table says what SciPy and calculus call each.


@dataclass(frozen=True)
class SpecialFunction:
    """A row of the table.

    Attributes:
        kernel: the NumPy function, as `"module:function"`.
        partials: for each operand the derivative by it, from the result and the operands; None if
            it has none.
        output: the one of several results of the kernel.
    """

    kernel: str
    partials: tuple[Partial | None, ...]
    output: int | None = None


@payload
class Special(Elementwise, name="special"):
    """A special function of real numbers, `function` one of `SPECIAL_FUNCTIONS`."""

    function: str

    n_inputs = None
    kinds = "f"

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The operands' common type."""
        row = SPECIAL_FUNCTIONS.get(self.function)
        if row is None:
            known = ", ".join(SPECIAL_FUNCTIONS)
            raise DTypeError(f"special: function {self.function!r} is not one of {known}")
        if len(metas) != len(row.partials):
            raise DTypeError(
                f"special: {self.function} takes {len(row.partials)} operands, got {len(metas)}"
            )
        return super().infer(*metas)

    def infer_all(self, metas: Any) -> tuple[TensorMeta, ...]:
        """The operands' common type."""
        return (self.infer(*metas),)

    def numpy(self, *operands: NumpyArray) -> NumpyArray:
        """SciPy's function, in double precision."""
        row, dtype = SPECIAL_FUNCTIONS[self.function], operands[0].dtype
        if self.function != "nextafter":  # whose steps are those of the dtype
            operands = tuple(x.astype(np.float64) for x in operands)
        result = _kernel(row.kernel)(*operands)
        chosen = result if row.output is None else result[row.output]
        return np.asarray(chosen).astype(dtype)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The sum of ∂f/∂xᵢ·dxᵢ."""
        row = SPECIAL_FUNCTIONS[self.function]
        terms = [Term(at, value) for value in (at.out[0], *at.primal)]

        def by(operand: int) -> Callable[[V], V]:
            def times(t: V) -> V:
                partial = row.partials[operand]
                if partial is None:
                    raise ADRuleError(
                        f"{self.function}: has no derivative by operand {operand}; differentiate "
                        "by another one, or wrap that operand in stop_gradient"
                    )
                return at.emit(MUL, partial(*terms).value, t)

            return times

        return chain(at, *map(by, range(len(row.partials))))


@cache
def _kernel(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = EntryPoint("kernel", name, "tenferro.kernels").load()
    return function


def _of(function: str, *operands: Term) -> Term:
    """Another special function of the operands, at least one of which is a value."""
    return operands[0].on(Special(function), *operands[1:])


def _gamma_density(y: Term, a: Term, x: Term) -> Term:
    """∂P(a, x)/∂x."""
    return _of("gamma_density", a, x)


def _gamma_score(y: Term, a: Term, x: Term) -> Term:
    return log(x) - _of("digamma", a)


def _beta_density(y: Term, a: Term, b: Term, x: Term) -> Term:
    return _of("beta_density", a, b, x)


def _by_order(y: Term, n: Term, x: Term) -> Term:
    """-Eₙ₋₁(x), where E₋₁(x) is elementary."""
    below = _of("expn", (n - 1).where("LT", 0, 0), x)
    return -below.chosen(n, "LT", 1, exp(-x) * (1 + 1 / x) / x)


def _power_series(x: Term, coefficients: Sequence[float]) -> Term:
    """The sum of cₖ·xᵏ, whose derivatives are such sums too: nothing cancels in them."""
    total = x.like(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _spence_curve(y: Term, x: Term) -> Term:
    """(1/x + y)/(1 - x), which cancels near 1: there by the series of y."""
    u = 1 - x
    near = u.chosen(abs(u), "GT", _NEAR_ONE, 0)
    series = _power_series(near, [(k + 1) / (k + 2) for k in range(_NEAR_TERMS)])
    far = u.chosen(abs(u), "LE", _NEAR_ONE, 1)
    return ((1 / x + y) / far).chosen(abs(u), "LE", _NEAR_ONE, series)


def _sinc(y: Term, x: Term) -> Term:
    """sin(x)/x, by its series in x² up to 1."""
    near = x.chosen(abs(x), "GT", 1, 0)
    series = _power_series(
        near * near, [(-1) ** k / math.factorial(2 * k + 1) for k in range(_SINC_TERMS)]
    )
    far = x.chosen(abs(x), "LE", 1, 1)
    return (sin(far) / far).chosen(abs(x), "LE", 1, series)


def _half_square_phase(x: Term) -> Term:
    """An angle that differs from πx²/2 by whole turns, and whose digits x² would not hold."""
    whole = x.on(ROUND)
    part, odd = x - whole, whole.on(REM, 2.0)
    turns = odd * odd + (whole * part).on(REM, 2.0) * 2  # these products are exact
    return (turns + part * part) * (math.pi / 2)


def _erfcx_curve(y: Term, x: Term) -> Term:
    """2·erfcx(x) + 2x·y, which cancels far to the right: there by the asymptotic series."""
    near = (_of("erfcx", x) + x * y) * 2
    inverse = 1 / x.where("LT", FAR, FAR)
    series = [(2 * k + 1) * (2 * k + 2) * c for k, c in enumerate(ERFCX_SERIES)]
    square = inverse * inverse
    return near.chosen(x, "GE", FAR, inverse * square * _power_series(square, series))


def _dawsn_curve(y: Term, x: Term) -> Term:
    """-2·dawsn(x) - 2x·y, which cancels far from 0: there by the asymptotic series."""
    near = (_of("dawsn", x) + x * y) * -2
    inverse = 1 / x.chosen(abs(x), "LT", FAR, FAR)
    series = [(2 * k + 1) * (2 * k + 2) * c for k, c in enumerate(DAWSN_SERIES)]
    square = inverse * inverse
    return near.chosen(abs(x), "GE", FAR, inverse * square * _power_series(square, series))


def _log_ndtr_curve(y: Term, x: Term) -> Term:
    """-y·(x + y), which cancels far to the left: there by the asymptotic series."""
    near = -y * (x + y)
    inverse = 1 / x.where("GT", -LOG_NDTR_FAR, -LOG_NDTR_FAR)
    series = [1.0, *(2 * k * (2 * k + 1) * c for k, c in enumerate(LOG_NDTR_SERIES, 1))]
    square = inverse * inverse
    far = square * _power_series(square, series) - 1
    return near.chosen(x, "LE", -LOG_NDTR_FAR, far)


def _owens_by_h(y: Term, h: Term, a: Term) -> Term:
    erf = (a * h * math.sqrt(0.5)).on(ERF)
    return exp(h * h * -0.5) * erf * (-1 / math.sqrt(8 * math.pi))


def _owens_by_a(y: Term, h: Term, a: Term) -> Term:
    across = a * h
    decay = exp((h * h + across * across) * -0.5)
    return decay / (a * a + 1) * (1 / (2 * math.pi))


def _ratio(x: Term, y: Term) -> Term:
    """x/y, and 0 for 0/0: x·log(y) is 0 for x = 0, whatever y."""
    return x / y.chosen(x, "EQ", 0, y.where("EQ", 0, 1))


def _digamma_step(x: Term, d: Term) -> Term:
    """digamma(x + d) - digamma(x)."""
    return _of("digamma_step", x, d)


_NEAR_ONE, _NEAR_TERMS = 0.3, 32
_SINC_TERMS = 10
_SQRT_2PI = math.sqrt(2 * math.pi)


def _kernel_of(name: str) -> str:
    """A function of this package, of SciPy, or with `~` one of SciPy that is mended here."""
    if name.startswith("~"):
        return f"tenferro.ops.special_kernels:{name[1:]}"
    return name if ":" in name else f"scipy.special:{name}"


SPECIAL_FUNCTIONS: dict[str, SpecialFunction] = {
    name: SpecialFunction(_kernel_of(kernel), partials, *output)
    for name, kernel, partials, *output in (
        ("lgamma", "gammaln", (lambda y, x: _of("digamma", x),)),
        ("digamma", "digamma", (lambda y, x: _of("polygamma", x.like(1), x),)),
        ("digamma_step", "~digamma_step",
         (lambda y, x, d: _of("polygamma_step", x.like(1), x, d),
          lambda y, x, d: _of("polygamma", x.like(1), x + d))),
        ("polygamma", "polygamma",
         (None, lambda y, n, x: _of("polygamma", n + 1, x))),
        ("polygamma_step", "~polygamma_step",
         (None, lambda y, n, x, d: _of("polygamma_step", n + 1, x, d),
          lambda y, n, x, d: _of("polygamma", n + 1, x + d))),
        ("zeta", "~zeta", (None, lambda y, s, q: -s * _of("zeta", s + 1, q))),
        ("gamma", "gamma", (lambda y, x: y * _of("digamma", x),)),
        ("gammainc", "~gammainc",
         (lambda y, a, x: _of("gammainc_grad_a", a, x), _gamma_density)),
        ("gammaincc", "~gammaincc",
         (lambda y, a, x: -_of("gammainc_grad_a", a, x),
          lambda y, a, x: -_gamma_density(y, a, x))),
        ("gammainc_grad_a", "~gammainc_grad_a",
         (None, lambda y, a, x: _gamma_density(y, a, x) * _gamma_score(y, a, x))),
        ("gamma_density", "~gamma_density",
         (lambda y, a, x: y * _gamma_score(y, a, x), lambda y, a, x: y * ((a - 1) / x - 1))),
        ("betainc", "betainc", (None, None, _beta_density)),
        ("beta_density", "~beta_density",
         (lambda y, a, b, x: y * (log(x) + _digamma_step(a, b)),
          lambda y, a, b, x: y * (log1p(-x) + _digamma_step(b, a)),
          lambda y, a, b, x: y * ((a - 1) / x - (b - 1) / (1 - x)))),
        ("betaln", "~betaln", (lambda y, a, b: -_digamma_step(a, b),
                               lambda y, a, b: -_digamma_step(b, a))),
        ("poch", "~poch", (lambda y, z, m: y * _digamma_step(z, m),
                           lambda y, z, m: y * _of("digamma", z + m))),
        ("comb", "~comb", (lambda y, n, k: y * _digamma_step(n - k + 1, k),
                            lambda y, n, k: y * _digamma_step(k + 1, n - k * 2))),
        ("xlogy", "xlogy", (lambda z, x, y: log(y), lambda z, x, y: _ratio(x, y))),
        ("xlog1py", "xlog1py", (lambda z, x, y: log1p(y), lambda z, x, y: _ratio(x, 1 + y))),
        ("i0", "i0", (lambda y, x: _of("i1", x),)),
        ("i1", "i1", (lambda y, x: _of("i1_slope", x),)),
        ("i0e", "i0e", (lambda y, x: _of("i0e_slope", x),)),
        ("i1e", "i1e", (lambda y, x: _of("i1e_slope", x),)),
        ("i1_slope", "tenferro.ops.special_kernels:i1_slope",
         (lambda y, x: _of("i0_derivative", x.like(3), x),)),
        ("i0e_slope", "tenferro.ops.special_kernels:i0e_slope",
         (lambda y, x: _of("i0e_derivative", x.like(2), x),)),
        ("i1e_slope", "tenferro.ops.special_kernels:i1e_slope",
         (lambda y, x: _of("i1e_derivative", x.like(2), x),)),
        ("i0_derivative", "tenferro.ops.special_kernels:i0_derivative",
         (None, lambda y, n, x: _of("i0_derivative", n + 1, x))),
        ("i0e_derivative", "tenferro.ops.special_kernels:i0e_derivative",
         (None, lambda y, n, x: _of("i0e_derivative", n + 1, x))),
        ("i1e_derivative", "tenferro.ops.special_kernels:i1e_derivative",
         (None, lambda y, n, x: _of("i1e_derivative", n + 1, x))),
        ("ndtri", "ndtri", (lambda y, p: exp(y * y * 0.5) * _SQRT_2PI,)),
        ("log_ndtr", "log_ndtr", (lambda y, x: _of("log_ndtr_slope", x),)),
        ("log_ndtr_slope", "~log_ndtr_slope", (_log_ndtr_curve,)),
        ("expi", "expi", (lambda y, x: exp(x) / x,)),
        ("exp1", "exp1", (lambda y, x: -exp(-x) / x,)),
        ("expn", "~expn", (None, _by_order)),
        ("spence", "spence", (lambda y, x: _of("spence_slope", x),)),
        ("spence_slope", "~spence_slope", (_spence_curve,)),
        ("dawsn", "dawsn", (lambda y, x: _of("dawsn_slope", x),)),
        ("dawsn_slope", "~dawsn_slope", (_dawsn_curve,)),
        ("erfcx", "erfcx", (lambda y, x: _of("erfcx_slope", x),)),
        ("erfcx_slope", "~erfcx_slope", (_erfcx_curve,)),
        ("sine_integral", "sici", (_sinc,), 0),
        ("cosine_integral", "sici", (lambda y, x: cos(x) / x,), 1),
        ("fresnel_sine", "~fresnel", (lambda y, x: sin(_half_square_phase(x)),), 0),
        ("fresnel_cosine", "~fresnel", (lambda y, x: cos(_half_square_phase(x)),), 1),
        ("nextafter", "numpy:nextafter", (None, None)),
        ("owens_t", "owens_t", (_owens_by_h, _owens_by_a)),
    )
}  # fmt: skip


# Samples of the gamma distribution as functions of its shape: their derivative.


@payload
class GammaSample(StdTensorOp, name="gamma_sample"):
    """A sample, as a function of the shape a of the distribution that it was drawn from.

    The operands are the sample and a; the result is the sample.

    Attributes:
        log: whether the sample is the logarithm of one of the gamma distribution.

    Source: Figurnov et al., "Implicit reparameterization gradients", arXiv:1805.08498.
    """

    log: bool = False

    n_inputs = 2
    pointwise = True

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        return same_type(self.name, metas, "f")

    def numpy(self, sample: NumpyArray, a: NumpyArray) -> NumpyArray:
        return sample

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        sample, a = at.primal

        def by_shape(tangent: V) -> V:
            if not self.log:
                return at.emit(MUL, at.emit(GAMMA_GRAD, a, sample), tangent)
            info = np.finfo(at.ctx.meta(sample).dtype)
            tiny, largest = (
                full_like(at.emitter, float(end), sample) for end in (info.tiny, info.max)
            )
            x = at.emit(MAXIMUM, at.emit(EXP, sample), tiny)
            rate = at.emit(DIV, at.emit(GAMMA_GRAD, a, x), x)
            # A sample that is 0 has no weight, and 0 times an infinite rate would be NaN.
            return at.emit(MUL, at.emit(MINIMUM, rate, largest), tangent)

        return chain(at, lambda tangent: tangent, by_shape)


@payload
class GammaGrad(StdTensorOp, name="gamma_grad"):
    """dx/da of a sample x of the gamma distribution of shape a; the operands are a and x.

    It has no derivative.
    """

    n_inputs = 2
    pointwise = True

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        return same_type(self.name, metas, "f")

    def numpy(self, a: NumpyArray, x: NumpyArray) -> NumpyArray:
        """In double precision, to about 1e-10."""
        return gamma_grad(a.astype(np.float64), x.astype(np.float64)).astype(x.dtype)


GAMMA_GRAD = GammaGrad()
_STEPS = 20_000


LARGE_SHAPE = 4e6
"""Above it the derivative is that of x = a + z√a + (z² − 1)/3, of fixed z, to 1e-9."""


def gamma_grad_of_large(a: Any, x: Any) -> Any:
    """The derivative for shapes above `LARGE_SHAPE`, of arrays of any library."""
    distance = x / a - 1
    return 1 + distance / 2 - (distance * distance - 1 / a) / 6


def gamma_grad(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """The derivative, by a series for x below a or 1, else by a continued fraction."""
    result = np.full(x.shape, np.nan)
    known = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    normal = known & (a > LARGE_SHAPE)
    small = known & ~normal & ((x <= 1) | (x <= a))
    large = known & ~normal & ~small
    result[normal] = gamma_grad_of_large(a[normal], x[normal])
    result[small] = _by_series(a[small], x[small])
    result[large] = _by_fraction(a[large], x[large])
    result[(x == 0) & (a > 0)] = 0
    return result


def _by_series(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """With P = p·(x/a)·S and S = Σ xⁿ/((a+1)…(a+n)), for p the density."""
    term, total = np.ones_like(x), np.ones_like(x)
    slope, total_slope = np.zeros_like(x), np.zeros_like(x)
    for n in range(1, _STEPS):
        slope = (slope - term / (a + n)) * x / (a + n)
        term = term * x / (a + n)
        total, total_slope = total + term, total_slope + slope
        if np.all((term <= 1e-17 * total) & (-slope <= -1e-17 * total_slope)):
            break
    return np.asarray(-(x / a) * (total * (np.log(x) - digamma(a + 1)) + total_slope))


def _by_fraction(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """With Q = p·x·h, where h = 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))).

    Both convergents and their derivatives by a follow one recurrence.
    """
    zero, one = np.zeros_like(x), np.ones_like(x)
    b = x + 1 - a
    (p0, p1), (q0, q1) = (zero, one), (one, b)
    (dp0, dp1), (dq0, dq1) = (zero, zero), (zero, -one)
    h, dh = p1 / q1, -dq1 * p1 / q1**2
    done = np.zeros(x.shape, bool)
    for n in range(1, _STEPS):
        factor, slope = -n * (n - a), float(n)
        b = b + 2
        p2, q2 = b * p1 + factor * p0, b * q1 + factor * q0
        dp2 = -p1 + b * dp1 + slope * p0 + factor * dp0
        dq2 = -q1 + b * dq1 + slope * q0 + factor * dq0
        scale = 1 / np.maximum(np.abs(q2), 1e-300)
        p0, p1, q0, q1 = p1 * scale, p2 * scale, q1 * scale, q2 * scale
        dp0, dp1, dq0, dq1 = dp1 * scale, dp2 * scale, dq1 * scale, dq2 * scale
        value = p1 / q1
        slope_of = (dp1 - value * dq1) / q1
        near = np.abs(slope_of - dh) <= 1e-15 * (np.abs(slope_of) + np.abs(value))
        h, dh = np.where(done, h, value), np.where(done, dh, slope_of)
        done |= near & (n > 4)  # rounding spoils the derivative of later convergents
        if done.all():
            break
    return np.asarray(x * (h * (np.log(x) - digamma(a)) + dh))


def digamma(x: NumpyArray) -> NumpyArray:
    """The derivative of the logarithm of the gamma function, for x > 0.

    By the recurrence up to 10, and the asymptotic series from there.
    """
    below = np.zeros_like(x)
    for _ in range(10):
        low = x < 10
        below = below + np.where(low, 1 / x, 0)
        x = np.where(low, x + 1, x)
    inverse = 1 / (x * x)
    series = np.zeros_like(x)
    for coefficient in reversed(_BERNOULLI_NUMBERS):
        series = (series + coefficient) * inverse
    return np.asarray(np.log(x) - 0.5 / x - series - below)


_BERNOULLI_NUMBERS = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""B₂ₖ/(2k) for k = 1, 2, …"""
