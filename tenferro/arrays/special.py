"""Special functions of real numbers; integers and bools become float64, complex is refused."""

from __future__ import annotations

from tenferro.arrays.analytic import analytic
from tenferro.arrays.operands import Operand
from tenferro.chainrules import Emitter, V
from tenferro.ops import Special


def special(at: Emitter[V], name: str, function: str, *operands: Operand[V]) -> V:
    """A special function of operands, promoted and broadcast; errors name the function `name`."""
    return analytic(at, name, Special(function), *operands)


def xlogy(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x·log(y), and 0 where x is 0.

    >>> tn.xlogy([0.0, 2.0], [0.0, 1.0])
    Tensor([0., 0.])
    """
    return special(at, "xlogy", "xlogy", x, y)


def xlog1py(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x·log(1 + y), and 0 where x is 0.

    >>> tn.xlog1py([0.0, 2.0], [-1.0, 0.0])
    Tensor([0., 0.])
    """
    return special(at, "xlog1py", "xlog1py", x, y)


def lgamma(at: Emitter[V], x: Operand[V]) -> V:
    """Logarithm of the magnitude of the gamma function.

    >>> tn.lgamma([1.0, 4.0])
    Tensor([0.        , 1.79175947])
    """
    return special(at, "lgamma", "lgamma", x)


def digamma(at: Emitter[V], x: Operand[V]) -> V:
    """The derivative of `lgamma`.

    >>> tn.digamma([1.0])
    Tensor([-0.57721566])
    """
    return special(at, "digamma", "digamma", x)


def polygamma(at: Emitter[V], n: Operand[V], x: Operand[V]) -> V:
    """The derivative of order n of `digamma`; n is a whole number and has no derivative.

    >>> tn.polygamma(1, [1.0])
    Tensor([1.64493407])
    """
    return special(at, "polygamma", "polygamma", n, x)


def zeta(at: Emitter[V], x: Operand[V], q: Operand[V] = 1) -> V:
    """The Hurwitz zeta function, the sum of (k + q)^-x from k = 0; Riemann's without q.

    There is no derivative by x.

    >>> tn.zeta([2.0])
    Tensor([1.64493407])
    """
    return special(at, "zeta", "zeta", x, q)


def betaln(at: Emitter[V], a: Operand[V], b: Operand[V]) -> V:
    """Logarithm of the beta function, without cancellation where an operand is large.

    >>> tn.betaln([1.0], [2.0])
    Tensor([-0.69314718])
    """
    return special(at, "betaln", "betaln", a, b)


def i0e(at: Emitter[V], x: Operand[V]) -> V:
    """exp(-|x|) times the modified Bessel function of order 0.

    >>> tn.i0e([0.0])
    Tensor([1.])
    """
    return special(at, "i0e", "i0e", x)


def i1e(at: Emitter[V], x: Operand[V]) -> V:
    """exp(-|x|) times the modified Bessel function of order 1.

    >>> tn.i1e([0.0])
    Tensor([0.])
    """
    return special(at, "i1e", "i1e", x)


def i0(at: Emitter[V], x: Operand[V]) -> V:
    """The modified Bessel function of the first kind, of order 0.

    >>> tn.i0([0.0])
    Tensor([1.])
    """
    return special(at, "i0", "i0", x)


def i1(at: Emitter[V], x: Operand[V]) -> V:
    """The modified Bessel function of the first kind, of order 1.

    >>> tn.i1([0.0])
    Tensor([0.])
    """
    return special(at, "i1", "i1", x)


def nextafter(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """The number next to x1 on the way to x2. It has no derivative.

    >>> (tn.nextafter(1.0, 2.0) - 1).item()
    2.220446049250313e-16
    """
    return special(at, "nextafter", "nextafter", x1, x2)
