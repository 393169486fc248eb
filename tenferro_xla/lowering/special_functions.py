"""Special functions: XLA's own, those of `jax.scipy.special`, and those of this package.

They are computed in double precision, as on NumPy, where single precision would lose digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy import special

from tenferro.ops import SLOPES, Special
from tenferro_xla.lowering import bessel, exponential_integrals, gamma_functions, normal_functions
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Special, *operands: Array) -> Array:
    function = _FUNCTIONS.get(op.function) or getattr(special, op.function)
    dtype = operands[0].dtype
    single = dtype == np.float32 and op.function in _IN_SINGLE_PRECISION
    if not single and op.function != "nextafter":  # whose steps are those of the dtype
        operands = tuple(x.astype(np.float64) for x in operands)
    library = gamma_functions.DOUBLE if dtype == np.float64 else gamma_functions.SINGLE
    by_integral = op.function in _BY_INTEGRALS
    result: Array = function(*operands, library) if by_integral else function(*operands)
    return result.astype(dtype)


_IN_SINGLE_PRECISION = frozenset(
    ("lgamma", "digamma", "i0e", "i1e", "xlogy", "xlog1py", "ndtri", "dawsn", "spence",
     "sine_integral")
)  # fmt: skip
"""Functions that are as exact in it as it allows."""
_BY_INTEGRALS = frozenset({"gammainc", "gammaincc", "gammainc_grad_a", "betainc"})
"""Functions that take how exact these are to be."""


class _WithOwn:
    """The special functions of JAX, with tenferro's in the place of what is wrong."""

    dawsn, erfc = map(staticmethod, (special.dawsn, special.erfc))
    erfcx = staticmethod(normal_functions.erfcx)


def _slope(name: str) -> Callable[..., Array]:
    return lambda *operands: SLOPES[name](*operands, jnp, _WithOwn)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _slope(name) for name in SLOPES},
    **{
        f.__name__: f
        for module, names in (
            (
                gamma_functions,
                "lgamma digamma digamma_step polygamma polygamma_step zeta gammainc gammaincc "
                "gammainc_grad_a gamma_density betainc beta_density betaln poch comb",
            ),
            (
                bessel,
                "i0 i1 i1_slope i0e_slope i1e_slope i0_derivative i0e_derivative i1e_derivative",
            ),
            (exponential_integrals, "expi exp1 expn"),
            (normal_functions, "erfcx log_ndtr owens_t"),
        )
        for f in (getattr(module, name) for name in names.split())
    },
    "i0e": lax.bessel_i0e,
    "i1e": lax.bessel_i1e,
    "nextafter": lax.nextafter,
    "sine_integral": lambda x: special.sici(x)[0],
    "cosine_integral": lambda x: special.sici(x)[1],
    "fresnel_sine": lambda x: special.fresnel(x)[0],
    "fresnel_cosine": lambda x: special.fresnel(x)[1],
}
