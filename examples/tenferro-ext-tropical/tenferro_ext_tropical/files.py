"""Reading the families from files."""

from __future__ import annotations

import tenferro as tn
from tenferro_ext_tropical.ops import TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp


def payload_codecs() -> tn.PayloadCodecs:
    """Fresh codecs that know the families, for `tn.load`; `PACKAGE` has them too.

    >>> import tenferro_ext_tropical as tropical
    >>> program = tn.make_program(lambda x: tropical.einsum("ij->i", x), tn.TensorSpec(("n", 2)))
    >>> tn.loads(tn.dumps(program), codecs=payload_codecs()).digest == program.digest
    True
    """
    codecs = tn.PayloadCodecs()
    for family in (TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp):
        codecs.register(family)
    return codecs
