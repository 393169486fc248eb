"""tenferro's own extension families, each a `Package` like that of any third party.

Every context has those in `STANDARD` always. These families use only the contract
(`tenferro.ops.extension`), ops and passes; they do not depend on tensors or executors.
"""

from collections.abc import Iterable

from tenferro.errors import ExtensionRegistryError
from tenferro.families.callback import *
from tenferro.families.composite import *
from tenferro.families.einsum import *
from tenferro.families.fft import FFT as FFT
from tenferro.families.linalg import LINALG as LINALG
from tenferro.families.runtimes import *
from tenferro.ops.extension import Package, distinct

STANDARD: tuple[Package, ...] = (EINSUM, LINALG, FFT, CALLBACK)
"""The packages that every context has."""


def further(packages: Iterable[Package]) -> tuple[Package, ...]:
    """The packages that a user adds to those in `STANDARD`.

    Raises:
        ExtensionRegistryError: a value is not a package, or two packages have one family.
    """
    if not isinstance(packages, Iterable):
        raise ExtensionRegistryError(
            "",
            f"packages: takes a sequence of Package values, got a {type(packages).__name__}; "
            "write packages=(package,)",
        )
    return distinct((*STANDARD, *packages))[len(STANDARD) :]
