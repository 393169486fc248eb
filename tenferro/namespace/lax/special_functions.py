"""`jax.lax`'s special functions of real numbers."""

from __future__ import annotations

from tenferro.arrays import Operand
from tenferro.chainrules import Emitter, V
from tenferro.namespace.lax.operands import emit, lax_function
from tenferro.ops import GammaGrad, Special


@lax_function
def lgamma(at: Emitter[V], x: Operand[V]) -> V:
    """The logarithm of |Γ(x)|."""
    return emit(at, "lgamma", Special("lgamma"), x)


@lax_function
def digamma(at: Emitter[V], x: Operand[V]) -> V:
    """The derivative of log Γ."""
    return emit(at, "digamma", Special("digamma"), x)


@lax_function
def polygamma(at: Emitter[V], m: Operand[V], x: Operand[V]) -> V:
    """The derivative of order m of `digamma`."""
    return emit(at, "polygamma", Special("polygamma"), m, x)


@lax_function
def zeta(at: Emitter[V], x: Operand[V], q: Operand[V]) -> V:
    """The zeta function of Hurwitz."""
    return emit(at, "zeta", Special("zeta"), x, q)


@lax_function
def igamma(at: Emitter[V], a: Operand[V], x: Operand[V]) -> V:
    """The lower incomplete gamma function, over Γ(a)."""
    return emit(at, "igamma", Special("gammainc"), a, x)


@lax_function
def igammac(at: Emitter[V], a: Operand[V], x: Operand[V]) -> V:
    """The upper incomplete gamma function, over Γ(a)."""
    return emit(at, "igammac", Special("gammaincc"), a, x)


@lax_function
def igamma_grad_a(at: Emitter[V], a: Operand[V], x: Operand[V]) -> V:
    """The derivative of `igamma` by a."""
    return emit(at, "igamma_grad_a", Special("gammainc_grad_a"), a, x)


@lax_function
def random_gamma_grad(at: Emitter[V], a: Operand[V], x: Operand[V]) -> V:
    """The derivative by a of x, a number drawn from the gamma distribution of shape a."""
    return emit(at, "random_gamma_grad", GammaGrad(), a, x)


@lax_function
def betainc(at: Emitter[V], a: Operand[V], b: Operand[V], x: Operand[V]) -> V:
    """The regularized incomplete beta function."""
    return emit(at, "betainc", Special("betainc"), a, b, x)


@lax_function
def bessel_i0e(at: Emitter[V], x: Operand[V]) -> V:
    """exp(−|x|) I₀(x)."""
    return emit(at, "bessel_i0e", Special("i0e"), x)


@lax_function
def bessel_i1e(at: Emitter[V], x: Operand[V]) -> V:
    """exp(−|x|) I₁(x)."""
    return emit(at, "bessel_i1e", Special("i1e"), x)


@lax_function
def nextafter(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """The next number of the dtype after x1 in the direction of x2."""
    return emit(at, "nextafter", Special("nextafter"), x1, x2)
