"""Special functions, as in SciPy.

They promote and broadcast as NumPy's functions do, run on NumPy by SciPy, and are differentiable
where JAX's are, to any order. `MISSING` lists what is not there, with reasons.

>>> tn.scipy.special.gammaln([4.0])
Tensor([1.79175947])
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tenferro import numpy as tn
from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Axis, dtype_kind, is_complex, read_integer
from tenferro.missing_names import attributes
from tenferro.numpy import (
    betaln,
    digamma,
    erfinv,
    gammaln,
    i0,
    i0e,
    i1,
    i1e,
    logsumexp,
    polygamma,
    xlog1py,
    xlogy,
)
from tenferro.numpy import digamma as psi
from tenferro.numpy import sigmoid as expit
from tenferro.numpy.arguments import Named, array, numbers, promoted
from tenferro.ops.functions import analytic, apply
from tenferro.scipy.complex_functions import (
    complementary_error,
    error_function,
    faddeeva,
    harmonic,
    log_gamma,
)
from tenferro.transforms import fori_loop

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "jn",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "psi",
    "rel_entr",
    "rgamma",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "yn",
    "zeta",
]


# What the functions of this package do first with their operands.


def real(name: str, *operands: ArrayLike) -> tuple[AnyTensor, ...]:
    """The operands as floating-point values of one dtype and shape."""
    return apply(Named(name, _real), *operands)


def _real(name: str, *operands: ArrayLike) -> tuple[AnyTensor, ...]:
    values = analytic.inexact(name, *operands)
    meta = values[0].meta
    if is_complex(meta.dtype):
        raise DTypeError(f"{name}: takes real operands, got {meta}; pass real parts")
    return tuple(values)


def special_function(name: str, function: str, *operands: ArrayLike) -> AnyTensor:
    """A row of `tenferro.ops.SPECIAL_FUNCTIONS` on the operands."""
    return apply(Named(name, analytic.special, (function,)), *operands)


# The gamma function and its relatives.


def gamma(x: ArrayLike) -> AnyTensor:
    """The gamma function of real or complex numbers; NaN at negative whole numbers.

    >>> tn.scipy.special.gamma([4.0])
    Tensor([6.])
    """
    value = _complex("gamma", x)
    if value is not None:
        return tn.exp(log_gamma(value))
    return special_function("gamma", "gamma", x)


def loggamma(x: ArrayLike) -> AnyTensor:
    """The logarithm of |Γ(x)| of real numbers, as `gammaln`; of complex ones that of Γ(x).

    It is continuous but on the negative real axis.

    >>> tn.scipy.special.loggamma([4.0, 1.0])
    Tensor([1.79175947, 0.        ])
    """
    value = _complex("loggamma", x)
    return gammaln(x) if value is None else log_gamma(value)


def _complex(name: str, x: ArrayLike) -> Any:
    """The operand, if it is complex; else None."""
    value = array(name, x)
    return value if dtype_kind(value.dtype) == "c" else None


def rgamma(x: ArrayLike) -> AnyTensor:
    """1/gamma(x), which has no poles; of real numbers.

    >>> tn.scipy.special.rgamma([2.0, 3.0])
    Tensor([1. , 0.5])
    """
    (value,) = real("rgamma", x)
    left = value < 0.5
    near = tn.where(left, 1 - value, value)
    whole = tn.round(value)
    part = tn.where(left & tn.isfinite(value), value - whole, 0.5)
    odd = tn.floor(whole * 0.5) * 2 < whole
    sine = tn.sin(math.pi * part) * tn.where(odd, -1.0, 1.0)
    factor = gamma(tn.where(left, near, 1.0))
    below = tn.where((part == 0) & tn.isinf(factor), 0.0, factor * sine / math.pi)
    return tn.where(left, below, tn.exp(-gammaln(near))).astype(value.dtype)


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> AnyTensor:
    """The Hurwitz zeta function, the sum of (k + q)^-x from k = 0; NaN for x < 1.

    Riemann's without q, for all real x.

    >>> tn.scipy.special.zeta([2.0, -1.0])
    Tensor([ 1.64493407, -0.08333333])
    """
    if q is not None:
        return tn.zeta(x, q)
    (s,) = real("zeta", x)
    reflected = s < -0.5  # next to 0 the digits of s would be lost in 1 - s
    right = tn.where(reflected, 1 - s, s)
    series = tn.zeta(tn.where(right < 1, 2.0, right))
    middle = (s >= -0.5) & (s < 1)
    quarter = s - 4 * tn.round(s / 4)  # from -2 to 2, where sin(πs/2) is as at s
    folded = tn.where(tn.abs(quarter) > 1, tn.copysign(2.0, quarter) - quarter, quarter)
    log = gammaln(tn.where(reflected, right, 1.0)) - right * math.log(2 * math.pi)
    sine = tn.sin(folded * (math.pi / 2))
    is_zero = (tn.abs(quarter) == 2) | (quarter == 0)  # where the other factors may be infinite
    turned = 2 * tn.where(is_zero & (log > 50), 0.0, tn.exp(log) * sine) * series
    value = tn.where(reflected, turned, tn.where(middle, _zeta_below_one(s, middle), series))
    return value.astype(s.dtype)


def _zeta_below_one(s: AnyTensor, inside: AnyTensor) -> AnyTensor:
    """Riemann's function from -1/2 to 1: some terms, and the formula of Euler and Maclaurin."""
    terms = 12
    x: Any = tn.where(inside, s, 0.0)
    total = sum(tn.exp(-math.log(k) * x) for k in range(1, terms))
    power = tn.exp(-math.log(terms) * x)
    total = total + power / 2 + terms * power / (x - 1)
    rising = x / terms
    for j, coefficient in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160), 1):
        total = total + coefficient * rising * power
        rising = rising * (x + 2 * j - 1) * (x + 2 * j) / terms**2
    return total  # type: ignore[no-any-return]


def gammainc(a: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The regularized lower incomplete gamma function P(a, x).

    Its second derivative by a is not there.

    >>> tn.scipy.special.gammainc(1.0, [0.0, 1.0])
    Tensor([0.        , 0.63212056])
    """
    return special_function("gammainc", "gammainc", a, x)


def gammaincc(a: ArrayLike, x: ArrayLike) -> AnyTensor:
    """1 - gammainc(a, x), accurate where it is small.

    Its second derivative by a is not there.

    >>> tn.scipy.special.gammaincc(1.0, [0.0, 1.0])
    Tensor([1.        , 0.36787944])
    """
    return special_function("gammaincc", "gammaincc", a, x)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The regularized incomplete beta function; it has a derivative by x alone.

    >>> tn.scipy.special.betainc(1.0, 2.0, [0.5])
    Tensor([0.75])
    """
    return special_function("betainc", "betainc", a, b, x)


def poch(z: ArrayLike, m: ArrayLike) -> AnyTensor:
    """Pochhammer's symbol, gamma(z + m)/gamma(z).

    >>> tn.scipy.special.poch([2.0], 3.0)
    Tensor([24.])
    """
    return special_function("poch", "poch", z, m)


def beta(a: ArrayLike, b: ArrayLike) -> AnyTensor:
    """The beta function, gamma(a)·gamma(b)/gamma(a + b), where poles may cancel.

    It is infinite at the other poles.

    >>> tn.scipy.special.beta([1.0, -2.0], [2.0, 1.0])
    Tensor([ 0.5, -0.5])
    """
    x, y = real("beta", a, b)
    sign = gammasgn(x) * gammasgn(y) * gammasgn(x + y)
    low, high = tn.minimum(x, y), tn.maximum(x, y)
    cancel = (low == tn.floor(low)) & (high > 0) & (low + high < 1)
    odd = (high == tn.floor(high)) & (tn.floor(high * 0.5) * 2 < high)
    parity = tn.where(cancel & odd, -1.0, 1.0)
    known = tn.isnan(sign) & ~tn.isnan(x + y)  # at poles, which cancel between whole numbers only
    return (tn.where(known, parity, sign) * tn.exp(betaln(x, y))).astype(x.dtype)


def gammasgn(x: ArrayLike) -> AnyTensor:
    """The sign of the gamma function, 1 or -1; NaN at its poles but 0.

    >>> tn.scipy.special.gammasgn([1.5, -0.5])
    Tensor([ 1., -1.])
    """
    (value,) = real("gammasgn", x)
    below = tn.floor(value)
    half = tn.floor(below * 0.5) * 2
    sign = tn.where(below == half, 1.0, -1.0) * (value * 0 + 1)  # NaN and infinities
    sign = tn.where(below == value, math.nan, sign)
    at_zero = tn.where(1 / value > 0, 1.0, -1.0)
    return tn.where(value > 0, 1.0, tn.where(value == 0, at_zero, sign)).astype(value.dtype)


def factorial(n: ArrayLike, exact: bool = False) -> AnyTensor:
    """gamma(n + 1); 0 for negative n.

    Raises:
        DTypeError: `exact` is true; there are no integers of any length.

    >>> tn.scipy.special.factorial([3, 4])
    Tensor([ 6., 24.])
    """
    if exact:
        raise DTypeError("factorial: exact=True needs integers of any length; use math.factorial")
    (value,) = real("factorial", n)
    return tn.where(value < 0, 0.0, gamma(tn.where(value < 0, 0.0, value) + 1)).astype(value.dtype)


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> AnyTensor:  # noqa: N803
    """In how many ways k of N things can be taken; with `repetition`, each any number of times.

    >>> tn.scipy.special.comb([5.0], 2)
    Tensor([10.])
    """
    if not repetition:
        return special_function("comb", "comb", N, k)
    total, chosen = real("comb", N, k)
    none = (total == 0) & (chosen == 0)
    return tn.where(none, 1.0, special_function("comb", "comb", total + chosen - 1, chosen))


def multigammaln(a: ArrayLike, d: int) -> AnyTensor:
    """Logarithm of the gamma function of d-dimensional matrices; d is a number.

    >>> tn.scipy.special.multigammaln([3.0], 2)
    Tensor([1.55019499])
    """
    d = read_integer("multigammaln", "d", d, ShapeError, 1)
    (value,) = real("multigammaln", a)
    total = tn.stack([tn.lgamma(value - j / 2) for j in range(d)]).sum(0)
    return total + d * (d - 1) / 4 * math.log(math.pi)


# Exponential, trigonometric and other integrals.


def expi(x: ArrayLike) -> AnyTensor:
    """The exponential integral, of exp(t)/t up to x.

    >>> tn.scipy.special.expi([1.0])
    Tensor([1.89511782])
    """
    return special_function("expi", "expi", x)


def exp1(x: ArrayLike) -> AnyTensor:
    """The exponential integral, of exp(-t)/t from x on; NaN for negative x.

    >>> tn.scipy.special.exp1([1.0])
    Tensor([0.21938393])
    """
    return special_function("exp1", "exp1", x)


def spence(x: ArrayLike) -> AnyTensor:
    """The integral of log(t)/(1 - t) from 1 to x; NaN for negative x.

    >>> tn.scipy.special.spence([2.0])
    Tensor([-0.82246703])
    """
    return special_function("spence", "spence", x)


def dawsn(x: ArrayLike) -> AnyTensor:
    """Dawson's integral, exp(-x²) times that of exp(t²) from 0 to x.

    >>> tn.scipy.special.dawsn([1.0])
    Tensor([0.53807951])
    """
    return special_function("dawsn", "dawsn", x)


def wofz(z: ArrayLike) -> AnyTensor:
    """The Faddeeva function, exp(-z²)·erfc(-iz); complex.

    >>> tn.scipy.special.wofz(0.0)
    Tensor(1.+0.j)
    """
    (value,) = promoted("wofz", z, inexact=True)
    if dtype_kind(value.dtype) != "c":
        value = value.astype("complex64" if value.dtype == "float32" else "complex128")
    return faddeeva(value)  # type: ignore[no-any-return]


def erf(x: ArrayLike) -> AnyTensor:
    """The error function of real or complex numbers.

    >>> tn.scipy.special.erf([0.0, 1.0])
    Tensor([0.        , 0.84270079])
    """
    value = _complex("erf", x)
    return tn.erf(x) if value is None else error_function(value)


def erfc(x: ArrayLike) -> AnyTensor:
    """1 - erf(x), accurate where it is small; of real or complex numbers.

    >>> tn.scipy.special.erfc([0.0, 10.0])
    Tensor([1.00000000e+00, 2.08848758e-45])
    """
    value = _complex("erfc", x)
    return tn.erfc(x) if value is None else complementary_error(value)


def erfcinv(x: ArrayLike) -> AnyTensor:
    """The inverse of `erfc`; infinite at 0 and 2.

    >>> tn.scipy.special.erfcinv([0.5])
    Tensor([0.47693628])
    """
    (value,) = real("erfcinv", x)
    return ndtri(value / 2) * -math.sqrt(0.5)


def erfcx(x: ArrayLike) -> AnyTensor:
    """exp(x²)·erfc(x), without overflow for positive x; of real or complex numbers.

    >>> tn.scipy.special.erfcx([0.0])
    Tensor([1.])
    """
    value = _complex("erfcx", x)
    if value is not None:
        return faddeeva(1j * value)  # type: ignore[no-any-return]
    return special_function("erfcx", "erfcx", x)


def expn(n: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The integral of exp(-xt)/tⁿ from t = 1 on; n is a whole number without derivative.

    >>> tn.scipy.special.expn(2, [1.0])
    Tensor([0.14849551])
    """
    return special_function("expn", "expn", n, x)


def owens_t(h: ArrayLike, a: ArrayLike) -> AnyTensor:
    """Owen's function: P(X > h and 0 < Y < aX) of two standard normals.

    >>> tn.scipy.special.owens_t([0.0], 1.0)
    Tensor([0.125])
    """
    return special_function("owens_t", "owens_t", h, a)


def sici(x: ArrayLike) -> tuple[AnyTensor, AnyTensor]:
    """The integrals of sin(t)/t from 0 to x, and of -cos(t)/t from x on.

    >>> tn.scipy.special.sici([0.0])
    (Tensor([0.]), Tensor([-inf]))
    """
    (value,) = real("sici", x)
    sine = special_function("sici", "sine_integral", value)
    return sine, special_function("sici", "cosine_integral", value)


def fresnel(x: ArrayLike) -> tuple[AnyTensor, AnyTensor]:
    """The integrals of sin(πt²/2) and cos(πt²/2) from 0 to x.

    >>> tn.scipy.special.fresnel([0.0])
    (Tensor([0.]), Tensor([0.]))
    """
    (value,) = real("fresnel", x)
    sine = special_function("fresnel", "fresnel_sine", value)
    return sine, special_function("fresnel", "fresnel_cosine", value)


# Bessel and hypergeometric functions, spherical harmonics and Bernoulli's numbers.


def jn(n: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The Bessel function of the first kind of order n; NaN for orders that are not whole.

    >>> tn.scipy.special.jn([0, 1], 0.0)
    Tensor([1., 0.])
    """
    return special_function("jn", "bessel_j", n, x)


def yn(n: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The Bessel function of the second kind of order n.

    It is NaN for orders that are not whole, and for negative x.

    >>> tn.scipy.special.yn(0, [1.0])
    Tensor([0.08825696])
    """
    return special_function("yn", "bessel_y", n, x)


def j0(x: ArrayLike) -> AnyTensor:
    """The Bessel function of the first kind of order 0.

    >>> tn.scipy.special.j0([1.0])
    Tensor([0.76519769])
    """
    return special_function("j0", "bessel_j", 0, x)


def j1(x: ArrayLike) -> AnyTensor:
    """The Bessel function of the first kind of order 1.

    >>> tn.scipy.special.j1([1.0])
    Tensor([0.44005059])
    """
    return special_function("j1", "bessel_j", 1, x)


def y0(x: ArrayLike) -> AnyTensor:
    """The Bessel function of the second kind of order 0; NaN for negative x.

    >>> tn.scipy.special.y0([1.0])
    Tensor([0.08825696])
    """
    return special_function("y0", "bessel_y", 0, x)


def y1(x: ArrayLike) -> AnyTensor:
    """The Bessel function of the second kind of order 1; NaN for negative x.

    >>> tn.scipy.special.y1([1.0])
    Tensor([-0.78121282])
    """
    return special_function("y1", "bessel_y", 1, x)


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The confluent hypergeometric function ₁F₁(a; b; x); it has a derivative by x alone.

    It is infinite where b is 0 or a negative whole number, unless the series ends before. On XLA
    it is NaN where all series lose more than ten digits.

    >>> tn.scipy.special.hyp1f1(1.0, 2.0, [0.0, 1.0])
    Tensor([1.        , 1.71828183])
    """
    return special_function("hyp1f1", "hyp1f1", a, b, x)


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> AnyTensor:
    """Gauss's hypergeometric function ₂F₁(a, b; c; x); it has a derivative by x alone.

    It is infinite for x > 1, and where c is 0 or a negative whole number, unless the series ends
    before. On XLA it is NaN where all series lose more than ten digits.

    >>> tn.scipy.special.hyp2f1(1.0, 1.0, 2.0, [0.0, 0.5])
    Tensor([1.        , 1.38629436])
    """
    return special_function("hyp2f1", "hyp2f1", a, b, c, x)


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> AnyTensor:
    """The Bessel functions of the first kind of the orders 0 to v, along a new first axis.

    Args:
        z: real numbers.
        v: the largest order.
        n_iter: where the recurrence starts, well above |z| and v.

    >>> tn.scipy.special.bessel_jn(0.0, v=1)
    Tensor([1., 0.])
    """
    name = "bessel_jn"
    (x,) = real(name, z)
    v = read_integer(name, "v", v, ShapeError, 0)
    steps = max(read_integer(name, "n_iter", n_iter, ShapeError, 1), v)
    zero = x == 0
    safe = tn.where(zero, 1.0, x)
    orders = tn.arange(v + 1).reshape(-1, *(1,) * x.ndim)

    def down(step: AnyTensor, state: tuple[AnyTensor, ...]) -> tuple[AnyTensor, ...]:
        k = steps - step  # the order of `lower` is k - 1
        upper, value, total, found = state
        lower = 2 * k * value / safe - upper
        found = tn.where(orders == k - 1, lower, found)
        total = total + tn.where((k - 1) % 2 == 0, 2 * lower, 0.0)
        scale = tn.where(tn.abs(lower) > 1e15, 1e-15, 1.0).astype(x.dtype)
        return value * scale, lower * scale, total * scale, found * scale

    none, small = tn.zeros_like(x), tn.full_like(x, 1e-15)
    found = tn.where(orders == steps, small, tn.zeros((v + 1, *x.shape), dtype=x.dtype))
    total = small * 2 if steps % 2 == 0 else none
    _, value, total, found = fori_loop(0, steps, down, (none, small, total, found))
    at_zero = tn.where(orders == 0, 1.0, 0.0)
    return tn.where(zero, at_zero, found / (total - value)).astype(x.dtype)


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> AnyTensor:
    """The spherical harmonic of degree n and order m, normalized; complex.

    Args:
        n: degrees, integers.
        m: orders, integers from -n to n.
        theta: the angle from the pole.
        phi: the angle around it.
        diff_n: must be None.
        n_max: the largest degree; by default that of n, which must be known then.

    Raises:
        DTypeError: degrees or orders are not integers.

    >>> tn.scipy.special.sph_harm_y(0, 0, 0.0, 0.0)
    Tensor(0.28209479+0.j)
    """
    name = "sph_harm_y"
    if diff_n is not None:
        raise ShapeError(f"{name}: diff_n must be None; take derivatives with tn.grad or tn.jvp")
    degree, order = array(name, n), array(name, m)
    for each in (degree, order):
        if dtype_kind(each.dtype) not in "iu":
            raise DTypeError(f"{name}: degrees and orders must be integers, got {each.meta}")
    pole, around = real(name, theta, phi)
    if n_max is None:
        known = numbers(name, degree, "pass n_max")
        n_max = int(known.max()) if known.size else 0
    largest = read_integer(name, "n_max", n_max, ShapeError, 0)
    return harmonic(degree, order, pole, around, largest)  # type: ignore[no-any-return]


def bernoulli(n: int) -> AnyTensor:
    """The numbers of Bernoulli up to the one with number n.

    >>> tn.scipy.special.bernoulli(2)
    Tensor([ 1.        , -0.5       ,  0.16666667])
    """
    n = read_integer("bernoulli", "n", n, ShapeError, 0)
    exact = [Fraction(1)]
    for k in range(1, n + 1):
        total = sum((math.comb(k + 1, j) * exact[j] for j in range(k)), Fraction(0))
        exact.append(-total / (k + 1))
    return tn.asarray([float(each) for each in exact])


# Functions of probabilities: of the normal distribution, of odds, and of information.


def ndtri(p: ArrayLike) -> AnyTensor:
    """The inverse of `ndtr`; infinite at 0 and 1.

    >>> tn.scipy.special.ndtri([0.5])
    Tensor([0.])
    """
    return special_function("ndtri", "ndtri", p)


def ndtr(x: ArrayLike) -> AnyTensor:
    """The distribution function of the standard normal distribution.

    >>> tn.scipy.special.ndtr([0.0])
    Tensor([0.5])
    """
    (value,) = real("ndtr", x)
    return erfc(value * -math.sqrt(0.5)) * 0.5


def log_ndtr(x: ArrayLike, series_order: int = 3) -> AnyTensor:
    """Logarithm of `ndtr`, accurate far to the left.

    `series_order` is there for programs of JAX; the result is as exact as it can be without.

    >>> tn.scipy.special.log_ndtr([-100.0])
    Tensor([-5005.52420869])
    """
    return special_function("log_ndtr", "log_ndtr", x)


def logit(x: ArrayLike) -> AnyTensor:
    """log(x/(1 - x)), the inverse of `expit`.

    >>> tn.scipy.special.logit([0.5, 1.0])
    Tensor([ 0., inf])
    """
    (value,) = real("logit", x)
    return tn.log(value) - tn.log1p(-value)


def entr(x: ArrayLike) -> AnyTensor:
    """-x·log(x), 0 at 0 and -inf below.

    >>> tn.scipy.special.entr([0.0, 1.0, -1.0])
    Tensor([  0.,   0., -inf])
    """
    (value,) = real("entr", x)
    negative = value < 0
    return tn.where(negative, -math.inf, 0 - xlogy(value, tn.where(negative, 1.0, value)))


def rel_entr(p: ArrayLike, q: ArrayLike) -> AnyTensor:
    """p·log(p/q), 0 for p = 0 and infinite outside of the domain.

    >>> tn.scipy.special.rel_entr([0.0, 1.0], [1.0, 1.0])
    Tensor([0., 0.])
    """
    x, y = real("rel_entr", p, q)
    inside = (x > 0) & (y > 0) & (x < math.inf)
    u, v = tn.where(inside, x, 1.0), tn.where(inside, y, 1.0)
    unknown = tn.isnan(x) | tn.isnan(y) | ((x == math.inf) & (y == math.inf))
    edge = tn.where((x == 0) & (y >= 0), 0.0, tn.where(unknown, math.nan, math.inf))
    near = tn.abs(u - v) < 0.5 * v
    ratio = tn.log1p(tn.where(near, u - v, 0.0) / v)
    value = tn.where(near, u * ratio, xlogy(u, u) - xlogy(u, v))
    return tn.where(inside, value, edge).astype(x.dtype)


def kl_div(p: ArrayLike, q: ArrayLike) -> AnyTensor:
    """p·log(p/q) - p + q, q for p = 0 and infinite outside of the domain.

    >>> tn.scipy.special.kl_div([0.0, 1.0], [1.0, 1.0])
    Tensor([1., 0.])
    """
    x, y = real("kl_div", p, q)
    inside = (x >= 0) & (y >= 0) & ((x == 0) | (y > 0))
    near = (x > 0) & (y > 0) & (tn.abs(y - x) < 0.3 * x)
    u, v = tn.where(near, x, 1.0), tn.where(near, y, 1.0)
    step = v - u
    r = step / (u + v)  # x·log(x/y) by the series of the inverse hyperbolic tangent of r
    series = r * 0
    for k in range(25, 1, -2):
        series = series * r * r + 1 / k
    close = step * r - 2 * u * r * r * r * series
    return tn.where(near, close, rel_entr(x, y) + tn.where(inside, y - x, 0.0)).astype(x.dtype)


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> AnyTensor:
    """(x^lmbda - 1)/lmbda, and log(x) for lmbda = 0.

    >>> tn.scipy.special.boxcox([2.0], 2.0)
    Tensor([1.5])
    """
    value, power = real("boxcox", x, lmbda)
    return _power(tn.log(value), power)


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> AnyTensor:
    """`boxcox` of 1 + x, accurate near x = 0.

    >>> tn.scipy.special.boxcox1p([1.0], 2.0)
    Tensor([1.5])
    """
    value, power = real("boxcox1p", x, lmbda)
    return _power(tn.log1p(value), power)


def _power(log_x: AnyTensor, power: AnyTensor) -> AnyTensor:
    """(exp(power·log_x) - 1)/power, by its series where the exponent is small."""
    none = power == 0
    exponent = tn.where(none, 0.0, power * tn.where(none, 0.0, log_x))
    small = tn.abs(exponent) < 0.25
    near, far = tn.where(small, exponent, 0.0), tn.where(small, 1.0, power)
    series = near * 0
    for k in range(14, 0, -1):  # Horner's rule for 1 + near/2! + near²/3! + …
        series = series * near + 1 / math.factorial(k)
    half = tn.expm1(
        tn.where(small, 1.0, exponent) * 0.5
    )  # whose square may overflow, unlike the quotient
    return tn.where(small, log_x * series, half / far * (half + 2))


def softmax(x: ArrayLike, /, *, axis: Axis = None) -> AnyTensor:
    """exp(x) divided by its sum over `axis` (None: all axes), without overflow.

    >>> tn.scipy.special.softmax([[0.0, 0.0]])
    Tensor([[0.5, 0.5]])
    """
    return tn.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: Axis = None) -> AnyTensor:
    """The logarithm of `softmax`.

    >>> tn.scipy.special.log_softmax([[0.0, 1000.0]])
    Tensor([[-1000.,     0.]])
    """
    return tn.log_softmax(x, axis)


# Special functions under the names of `jax.scipy.special`, of real numbers.

MISSING: dict[str, str] = {
    "lpmn": "it was removed from JAX and SciPy",
    "lpmn_values": "it was removed from JAX and SciPy",
    "sph_harm": "use tn.scipy.special.sph_harm_y",
}
"""Names of `jax.scipy.special`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.special", __all__, MISSING)
