"""`jax.scipy.integrate`: `trapezoid`. Differential equations are in `tn.experimental.ode`.

>>> tn.scipy.integrate.trapezoid([1.0, 2.0, 3.0])
Tensor(4.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenferro.missing_names import attributes
from tenferro.numpy import trapezoid

__all__ = ["trapezoid"]

MISSING = {
    **dict.fromkeys(("odeint", "solve_ivp"), "use tn.experimental.ode.odeint"),
    "quad": "sum a function at the nodes of a rule, such as np.polynomial.legendre.leggauss",
}
"""Names of `scipy.integrate`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.integrate", __all__, MISSING)
