"""Special functions under the names of `jax.scipy.special`, of real numbers.

They promote and broadcast as NumPy's functions do, run on NumPy by SciPy, and are differentiable
where JAX's are, to any order. `MISSING` lists what is not there, with reasons.

>>> tn.scipy.special.gammaln([4.0])
Tensor([1.79175947])
"""

from typing import TYPE_CHECKING, Any

from tenferro.namespace import (
    betaln,
    digamma,
    erf,
    erfc,
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
    zeta,
)
from tenferro.namespace import gammaln as loggamma
from tenferro.namespace import sigmoid as expit
from tenferro.naming import missing
from tenferro.scipy.special.gamma import (
    beta,
    betainc,
    comb,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammasgn,
    multigammaln,
    poch,
)
from tenferro.scipy.special.integrals import (
    dawsn,
    erfcx,
    exp1,
    expi,
    expn,
    fresnel,
    owens_t,
    sici,
    spence,
)
from tenferro.scipy.special.probabilities import (
    boxcox,
    boxcox1p,
    entr,
    kl_div,
    log_ndtr,
    log_softmax,
    logit,
    ndtr,
    ndtri,
    rel_entr,
    softmax,
)

__all__ = [
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
    "i0",
    "i0e",
    "i1",
    "i1e",
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
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "xlog1py",
    "xlogy",
    "zeta",
]

_COMPLEX = "it is complex, and the special functions here are of real numbers"
_SERIES = "its series on XLA does not end for all operands"
MISSING: dict[str, str] = {
    "bernoulli": "it is a table of numbers, which scipy.special.bernoulli gives",
    "bessel_jn": "it returns all orders by a recurrence whose length sets how exact it is",
    "erfcinv": "write tn.erfinv(1 - x), or -ndtri(x / 2) / sqrt(2) for small x",
    "hyp1f1": _SERIES,
    "hyp2f1": _SERIES,
    "lpmn": "it was removed from JAX and SciPy",
    "lpmn_values": "it was removed from JAX and SciPy",
    "sph_harm": _COMPLEX,
    "sph_harm_y": _COMPLEX,
    "wofz": _COMPLEX,
}
"""Names of `jax.scipy.special`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        raise missing("tenferro.scipy.special", name, lambda: __all__, MISSING)
