"""Functions with rules that the tests share. Each rule is ten times the derivative, to tell it."""

from typing import Any

import tenferro as tn


@tn.custom_jvp
def tenfold(x: Any, y: Any) -> Any:
    return tn.sin(x) * y


@tenfold.defjvp
def tenfold_rule(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return tenfold(x, y), 10.0 * tn.cos(x) * dx * y + tn.sin(x) * dy


@tn.custom_vjp
def backwards(x: Any, y: Any) -> Any:
    return tn.sin(x) * y


def backwards_fwd(x: Any, y: Any) -> Any:
    return backwards(x, y), (tn.cos(x), tn.sin(x), y)


def backwards_bwd(residuals: Any, ct: Any) -> Any:
    cosine, sine, y = residuals
    return 10.0 * cosine * ct * y, sine * ct


backwards.defvjp(backwards_fwd, backwards_bwd)
