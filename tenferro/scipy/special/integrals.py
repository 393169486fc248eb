"""Exponential, trigonometric and other integrals."""

from __future__ import annotations

from tenferro.scipy.real import real, special_function
from tenferro.typing import AnyTensor, ArrayLike


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


def erfcx(x: ArrayLike) -> AnyTensor:
    """exp(x²)·erfc(x), without overflow for positive x.

    >>> tn.scipy.special.erfcx([0.0])
    Tensor([1.])
    """
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
