"""Special functions of real numbers, as one op: the table says what SciPy and calculus call each.

SciPy is imported when the first of them is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V, chain
from tenferro.errors import ADRuleError, DTypeError
from tenferro.exec_ir import Array, payload
from tenferro.ops.arithmetic import MUL
from tenferro.ops.compare import REM
from tenferro.ops.elementwise import Elementwise
from tenferro.ops.rounding import ROUND
from tenferro.ops.slopes import (
    DAWSN_SERIES,
    ERFCX_SERIES,
    FAR,
    LOG_NDTR_FAR,
    LOG_NDTR_SERIES,
)
from tenferro.ops.special import ERF
from tenferro.ops.term import Partial, Term, cos, exp, log, log1p, sin
from tenferro.shape import TensorMeta


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

    def numpy(self, *operands: Array) -> Array:
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
        ("i1_slope", "tenferro.ops.bessel:i1_slope",
         (lambda y, x: _of("i0_derivative", x.like(3), x),)),
        ("i0e_slope", "tenferro.ops.bessel:i0e_slope",
         (lambda y, x: _of("i0e_derivative", x.like(2), x),)),
        ("i1e_slope", "tenferro.ops.bessel:i1e_slope",
         (lambda y, x: _of("i1e_derivative", x.like(2), x),)),
        ("i0_derivative", "tenferro.ops.bessel:i0_derivative",
         (None, lambda y, n, x: _of("i0_derivative", n + 1, x))),
        ("i0e_derivative", "tenferro.ops.bessel:i0e_derivative",
         (None, lambda y, n, x: _of("i0e_derivative", n + 1, x))),
        ("i1e_derivative", "tenferro.ops.bessel:i1e_derivative",
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
