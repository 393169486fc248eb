"""Special functions under the names of `jax.scipy.special`, of real numbers.

They promote and broadcast as NumPy's functions do, run on NumPy by SciPy, and are differentiable
where JAX's are, to any order. These are not there:

* `bernoulli`: a table of numbers, which `scipy.special.bernoulli` gives;
* `bessel_jn`, which returns all orders by a recurrence whose length sets how exact it is;
* `erfcinv`: write `erfinv(1 - x)`, or `-ndtri(x / 2) / sqrt(2)` for small x;
* `hyp1f1` and `hyp2f1`, whose series on XLA does not end for all operands;
* `sph_harm_y` and `wofz`, which are complex.

>>> tn.scipy.special.gammaln([4.0])
Tensor([1.79175947])
"""

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
