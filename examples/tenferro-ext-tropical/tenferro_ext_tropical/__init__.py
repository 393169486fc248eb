"""Einsum over the tropical semirings, as an extension of tenferro.

Most users call only `einsum`. `PACKAGE` gives every context what it needs of the families:
derivative rules to an `AdContext`, kernels to a NumPy executor or an eager runtime, a fast form to
XLA, codecs to files. Without it XLA runs standard ops. The parts can also be registered one by one:
`tropical_ad_rules`, `register_runtime`, `xla.register_lowerings`, `payload_codecs`.

Read the files in this order: `semiring` defines + and ×, `subscripts` reads notation, `plan` turns
a contraction of two operands into a matrix product, and `forms` has value and derivatives for any
array library. `kernels`, `standard` and `xla` have the products for NumPy, tenferro and JAX. `ops`,
`rules`, `runtime`, `files` and `package` are what tenferro needs from an extension; `einsum` has
the function.
"""

from tenferro_ext_tropical.einsum import einsum
from tenferro_ext_tropical.files import payload_codecs
from tenferro_ext_tropical.ops import TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp
from tenferro_ext_tropical.package import PACKAGE
from tenferro_ext_tropical.rules import tropical_ad_rules
from tenferro_ext_tropical.runtime import register_runtime
from tenferro_ext_tropical.semiring import Kind, KindError, MaxPlus, MinPlus
from tenferro_ext_tropical.subscripts import SubscriptsError

__all__ = [
    "PACKAGE",
    "Kind",
    "KindError",
    "MaxPlus",
    "MinPlus",
    "SubscriptsError",
    "TropicalEinsum",
    "TropicalEinsumJvp",
    "TropicalEinsumVjp",
    "einsum",
    "payload_codecs",
    "register_runtime",
    "tropical_ad_rules",
]
