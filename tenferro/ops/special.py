"""Special functions of real numbers: one op, and a table of their names and derivatives.

First derivatives are computed by the functions themselves where that cancels little, and by
asymptotic series far from 0 (NIST Digital Library of Mathematical Functions, 7.12).

SciPy is imported when the first of them is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tenferro.errors import ADRuleError, DTypeError, counted
from tenferro.ir import NumpyArray, TensorMeta, payload
from tenferro.ops.analytic import COS, ERF, EXP, LOG, LOG1P, SIN
from tenferro.ops.base import load_named
from tenferro.ops.elementwise import Elementwise, Formula, Term, where
from tenferro.ops.piecewise import REM, ROUND

__all__ = ["SLOPES", "SPECIAL_FUNCTIONS", "Special"]


# First derivatives of functions about the error function and of the dilogarithm, as arrays. They
# take the modules of array and of special functions: NumPy and SciPy, or others that name alike.

Modules = Any
PartialDerivative = Callable[..., Term]
"""A derivative as a formula of the result and the operands."""

FAR = 7.0
"""From here on the asymptotic series of `dawsn` and `erfcx` serve."""
_TERMS = 28
DAWSN_SERIES = tuple(math.prod(range(1, 2 * k, 2)) / 2 ** (k + 1) for k in range(_TERMS))
"""Dawson's integral is the sum of cₖ·x^(-2k-1)."""
ERFCX_SERIES = tuple((-1) ** k * 2 * c / math.sqrt(math.pi) for k, c in enumerate(DAWSN_SERIES))
"""EXP(x²)·erfc(x) is the sum of cₖ·x^(-2k-1), for positive x."""
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
    slope.__name__: slope for slope in (dawsn_slope, erfcx_slope, log_ndtr_slope, spence_slope)
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
    partials: tuple[PartialDerivative | None, ...]
    output: int | None = None


@payload
class Special(Elementwise, name="special"):
    """A special function of real numbers, `function` one of `SPECIAL_FUNCTIONS`."""

    function: str

    n_inputs = None
    kinds = "f"

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        row = SPECIAL_FUNCTIONS.get(self.function)
        if row is None:
            known = ", ".join(SPECIAL_FUNCTIONS)
            raise DTypeError(f"special: function {self.function!r} is not one of {known}")
        if len(metas) != len(row.partials):
            raise DTypeError(
                f"special: {self.function} takes {counted(len(row.partials), 'operand')}, got "
                f"{len(metas)}"
            )
        return super().infer(*metas)

    def infer_all(self, metas: Any) -> tuple[TensorMeta, ...]:
        return (self.infer(*metas),)

    @property
    def own_precision(self) -> bool:
        """Only of a number's neighbours, which depend on the dtype."""
        return self.function == "nextafter"

    def numpy(self, *operands: NumpyArray) -> NumpyArray:
        row, dtype = SPECIAL_FUNCTIONS[self.function], operands[0].dtype
        if self.function != "nextafter":  # whose steps are those of the dtype
            operands = tuple(x.astype(np.float64) for x in operands)
        result = load_named(row.kernel)(*operands)
        chosen = result if row.output is None else result[row.output]
        return np.asarray(chosen).astype(dtype)

    @property
    def jvp(self) -> Sequence[Formula]:  # type: ignore[override]  # depends on the payload
        """The product with ∂f/∂xᵢ."""
        return [
            self._refused(operand) if partial is None else _times(partial)
            for operand, partial in enumerate(SPECIAL_FUNCTIONS[self.function].partials)
        ]

    def _refused(self, operand: int) -> Formula:
        def refuse(*values: Term) -> Term:
            raise ADRuleError(
                f"{self.function}: has no derivative by operand {operand}; differentiate by "
                "another one, or wrap that operand in stop_gradient"
            )

        return refuse


def _times(partial: PartialDerivative) -> Formula:
    return lambda t, *values: partial(*values) * t


def _of(function: str, *operands: Term | float) -> Term:
    """Another special function of the operands, at least one of which is a value."""
    return Special(function)(*operands)


def _gamma_density(y: Term, a: Term, x: Term) -> Term:
    """∂P(a, x)/∂x."""
    return _of("gamma_density", a, x)


def _gamma_score(y: Term, a: Term, x: Term) -> Term:
    return LOG(x) - _of("digamma", a)


def _beta_density(y: Term, a: Term, b: Term, x: Term) -> Term:
    return _of("beta_density", a, b, x)


def _by_order(y: Term, n: Term, x: Term) -> Term:
    """-Eₙ₋₁(x), where E₋₁(x) is elementary."""
    order = n - 1
    below = _of("expn", where(order < 0, 0, order), x)
    return -where(n < 1, EXP(-x) * (1 + 1 / x) / x, below)


def _by_neighbours(function: str) -> PartialDerivative:
    """The derivative of a Bessel function, (fₙ₋₁(x) - fₙ₊₁(x))/2."""
    return lambda y, n, x: (_of(function, n - 1, x) - _of(function, n + 1, x)) * 0.5


def _power_series(x: Term, coefficients: Sequence[float]) -> Term:
    """The sum of cₖ·xᵏ, whose derivatives are such sums too: nothing cancels in them."""
    total = x.like(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _spence_curve(y: Term, x: Term) -> Term:
    """(1/x + y)/(1 - x), which cancels near 1: there by the series of y."""
    u = 1 - x
    near = where(abs(u) > _NEAR_ONE, 0, u)
    series = _power_series(near, [(k + 1) / (k + 2) for k in range(_NEAR_TERMS)])
    is_near = abs(u) <= _NEAR_ONE
    return where(is_near, series, (1 / x + y) / where(is_near, 1, u))


_ZETA_STEPS = 12
_ZETA_TAIL = (
    *(1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000),
    *(1 / 74724249600, -3617 / 10670622842880000),
)
"""B₂ⱼ/(2j)!, of the Euler-Maclaurin formula."""


def _zeta_by_exponent(y: Term, s: Term, q: Term) -> Term:
    """The derivative of Σ (q + k)⁻ˢ by s: some terms, then the Euler-Maclaurin formula."""
    total = s * 0
    for k in range(_ZETA_STEPS):
        log = LOG(q + k)
        total = total - log * EXP(-s * log)
    base = q + _ZETA_STEPS
    log, less = LOG(base), s - 1
    power = EXP(-s * log)
    total = total - base * power * (log + 1 / less) / less - log * power * 0.5
    rising, sums = s, 1 / s  # s (s + 1) … and Σ 1/(s + i)
    power = power / base
    for j, coefficient in enumerate(_ZETA_TAIL, 1):
        total = total + rising * power * (sums - log) * coefficient
        for i in (2 * j - 1, 2 * j):
            rising, sums = rising * (s + i), sums + 1 / (s + i)
        power = power / (base * base)
    return total


def _sinc(y: Term, x: Term) -> Term:
    """sin(x)/x, by its series in x² up to 1."""
    near = where(abs(x) > 1, 0, x)
    series = _power_series(
        near * near, [(-1) ** k / math.factorial(2 * k + 1) for k in range(_SINC_TERMS)]
    )
    far = where(abs(x) <= 1, 1, x)
    return where(abs(x) <= 1, series, SIN(far) / far)


def _half_square_phase(x: Term) -> Term:
    """An angle that differs from πx²/2 by whole turns, and whose digits x² would not hold."""
    whole = ROUND(x)
    part, odd = x - whole, REM(whole, 2.0)
    turns = odd * odd + REM(whole * part, 2.0) * 2  # these products are exact
    return (turns + part * part) * (math.pi / 2)


def _erfcx_curve(y: Term, x: Term) -> Term:
    """2·erfcx(x) + 2x·y, which cancels far to the right: there by the asymptotic series."""
    near = (_of("erfcx", x) + x * y) * 2
    inverse = 1 / where(x < FAR, FAR, x)
    series = [(2 * k + 1) * (2 * k + 2) * c for k, c in enumerate(ERFCX_SERIES)]
    square = inverse * inverse
    return where(x >= FAR, inverse * square * _power_series(square, series), near)


def _dawsn_curve(y: Term, x: Term) -> Term:
    """-2·dawsn(x) - 2x·y, which cancels far from 0: there by the asymptotic series."""
    near = (_of("dawsn", x) + x * y) * -2
    inverse = 1 / where(abs(x) < FAR, FAR, x)
    series = [(2 * k + 1) * (2 * k + 2) * c for k, c in enumerate(DAWSN_SERIES)]
    square = inverse * inverse
    return where(abs(x) >= FAR, inverse * square * _power_series(square, series), near)


def _log_ndtr_curve(y: Term, x: Term) -> Term:
    """-y·(x + y), which cancels far to the left: there by the asymptotic series."""
    near = -y * (x + y)
    inverse = 1 / where(x > -LOG_NDTR_FAR, -LOG_NDTR_FAR, x)
    series = [1.0, *(2 * k * (2 * k + 1) * c for k, c in enumerate(LOG_NDTR_SERIES, 1))]
    square = inverse * inverse
    far = square * _power_series(square, series) - 1
    return where(x <= -LOG_NDTR_FAR, far, near)


def _owens_by_h(y: Term, h: Term, a: Term) -> Term:
    return EXP(h * h * -0.5) * ERF(a * h * math.sqrt(0.5)) * (-1 / math.sqrt(8 * math.pi))


def _owens_by_a(y: Term, h: Term, a: Term) -> Term:
    across = a * h
    decay = EXP((h * h + across * across) * -0.5)
    return decay / (a * a + 1) * (1 / (2 * math.pi))


def _ratio(x: Term, y: Term) -> Term:
    """x/y, and 0 for 0/0: x·log(y) is 0 for x = 0, whatever y."""
    return x / where(x.equals(0), where(y.equals(0), 1, y), y)


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
        ("digamma", "digamma", (lambda y, x: _of("polygamma", 1, x),)),
        ("digamma_step", "~digamma_step",
         (lambda y, x, d: _of("polygamma_step", 1, x, d),
          lambda y, x, d: _of("polygamma", 1, x + d))),
        ("polygamma", "polygamma",
         (None, lambda y, n, x: _of("polygamma", n + 1, x))),
        ("polygamma_step", "~polygamma_step",
         (None, lambda y, n, x, d: _of("polygamma_step", n + 1, x, d),
          lambda y, n, x, d: _of("polygamma", n + 1, x + d))),
        ("zeta", "~zeta", (_zeta_by_exponent, lambda y, s, q: -s * _of("zeta", s + 1, q))),
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
         (lambda y, a, b, x: y * (LOG(x) + _digamma_step(a, b)),
          lambda y, a, b, x: y * (LOG1P(-x) + _digamma_step(b, a)),
          lambda y, a, b, x: y * ((a - 1) / x - (b - 1) / (1 - x)))),
        ("betaln", "~betaln", (lambda y, a, b: -_digamma_step(a, b),
                               lambda y, a, b: -_digamma_step(b, a))),
        ("poch", "~poch", (lambda y, z, m: y * _digamma_step(z, m),
                           lambda y, z, m: y * _of("digamma", z + m))),
        ("comb", "~comb", (lambda y, n, k: y * _digamma_step(n - k + 1, k),
                            lambda y, n, k: y * _digamma_step(k + 1, n - k * 2))),
        ("xlogy", "xlogy", (lambda z, x, y: LOG(y), lambda z, x, y: _ratio(x, y))),
        ("xlog1py", "xlog1py", (lambda z, x, y: LOG1P(y), lambda z, x, y: _ratio(x, 1 + y))),
        ("i0", "i0", (lambda y, x: _of("i1", x),)),
        ("i1", "i1", (lambda y, x: _of("i1_slope", x),)),
        ("i0e", "i0e", (lambda y, x: _of("i0e_slope", x),)),
        ("i1e", "i1e", (lambda y, x: _of("i1e_slope", x),)),
        ("i1_slope", "~i1_slope", (lambda y, x: _of("i0_derivative", 3, x),)),
        ("i0e_slope", "~i0e_slope", (lambda y, x: _of("i0e_derivative", 2, x),)),
        ("i1e_slope", "~i1e_slope", (lambda y, x: _of("i1e_derivative", 2, x),)),
        ("i0_derivative", "~i0_derivative",
         (None, lambda y, n, x: _of("i0_derivative", n + 1, x))),
        ("i0e_derivative", "~i0e_derivative",
         (None, lambda y, n, x: _of("i0e_derivative", n + 1, x))),
        ("i1e_derivative", "~i1e_derivative",
         (None, lambda y, n, x: _of("i1e_derivative", n + 1, x))),
        ("bessel_j", "~bessel_j", (None, _by_neighbours("bessel_j"))),
        ("bessel_y", "~bessel_y", (None, _by_neighbours("bessel_y"))),
        ("hyp1f1", "~hyp1f1",
         (None, None, lambda y, a, b, x: a / b * _of("hyp1f1", a + 1, b + 1, x))),
        ("hyp2f1", "~hyp2f1",
         (None, None, None,
          lambda y, a, b, c, x: a * b / c * _of("hyp2f1", a + 1, b + 1, c + 1, x))),
        ("ndtri", "ndtri", (lambda y, p: EXP(y * y * 0.5) * _SQRT_2PI,)),
        ("log_ndtr", "log_ndtr", (lambda y, x: _of("log_ndtr_slope", x),)),
        ("log_ndtr_slope", "~log_ndtr_slope", (_log_ndtr_curve,)),
        ("expi", "expi", (lambda y, x: EXP(x) / x,)),
        ("exp1", "exp1", (lambda y, x: -EXP(-x) / x,)),
        ("expn", "~expn", (None, _by_order)),
        ("spence", "spence", (lambda y, x: _of("spence_slope", x),)),
        ("spence_slope", "~spence_slope", (_spence_curve,)),
        ("dawsn", "dawsn", (lambda y, x: _of("dawsn_slope", x),)),
        ("dawsn_slope", "~dawsn_slope", (_dawsn_curve,)),
        ("erfcx", "erfcx", (lambda y, x: _of("erfcx_slope", x),)),
        ("erfcx_slope", "~erfcx_slope", (_erfcx_curve,)),
        ("sine_integral", "sici", (_sinc,), 0),
        ("cosine_integral", "sici", (lambda y, x: COS(x) / x,), 1),
        ("fresnel_sine", "~fresnel", (lambda y, x: SIN(_half_square_phase(x)),), 0),
        ("fresnel_cosine", "~fresnel", (lambda y, x: COS(_half_square_phase(x)),), 1),
        ("nextafter", "numpy:nextafter", (None, None)),
        ("owens_t", "owens_t", (_owens_by_h, _owens_by_a)),
    )
}  # fmt: skip
