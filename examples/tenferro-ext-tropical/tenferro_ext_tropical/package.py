"""The package: all that tenferro's contexts take of the families, as one value.

Every context takes it, `packages=(PACKAGE,)`. JAX is imported when XLA first meets the families.

>>> import tenferro as tn, tenferro_ext_tropical as tropical
>>> ctx = tn.AdContext(packages=(tropical.PACKAGE,))
>>> longest = lambda a, b: tropical.einsum("i,i->", a, b)
>>> gradient = tn.jit(tn.grad(longest, ad_context=ctx), packages=(tropical.PACKAGE,))
>>> gradient(tn.Tensor([1.0, 5.0]), tn.Tensor([3.0, 0.0]))
Tensor([0., 1.])
"""

from __future__ import annotations

from tenferro.extension import Package
from tenferro_ext_tropical.batching import ContractionBatchRule
from tenferro_ext_tropical.ops import (
    DISTRIBUTION,
    TropicalEinsum,
    TropicalEinsumJvp,
    TropicalEinsumVjp,
)
from tenferro_ext_tropical.rules import EinsumJvpRule, EinsumRule
from tenferro_ext_tropical.runtime import NumpyRuntime

FAMILIES = (TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp)

PACKAGE = Package(
    name=DISTRIBUTION,
    ops=FAMILIES,
    rules=(EinsumRule(), EinsumJvpRule()),
    batch_rules=tuple(ContractionBatchRule(op) for op in FAMILIES),
    runtimes=tuple(NumpyRuntime(op.FAMILY_ID) for op in FAMILIES),
    lowerings={
        TropicalEinsum: "tenferro_ext_tropical.xla:lower_einsum",
        TropicalEinsumJvp: "tenferro_ext_tropical.xla:lower_einsum_jvp",
        TropicalEinsumVjp: "tenferro_ext_tropical.xla:lower_einsum_vjp",
    },
)
