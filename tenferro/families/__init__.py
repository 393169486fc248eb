"""tenferro's own extension families, each a `Package` like that of any third party.

Every context has those in `STANDARD` always. A family here is made of the contract alone
(`tenferro.family`), of ops and of passes; it knows no tensor and no executor.
"""

from collections.abc import Iterable

from tenferro.families.einsum import (
    EINSUM,
    EinsumOp,
    Labeled,
    NetworkDerivative,
    Sizes,
    SlicedNetwork,
    contract_step,
    emit_network,
    entered,
    finished,
)
from tenferro.families.reference import evaluate_standard
from tenferro.families.runtime import StandardRuntime
from tenferro.family import Package, distinct

STANDARD: tuple[Package, ...] = (EINSUM,)
"""The packages that every context has."""


def further(packages: Iterable[Package]) -> tuple[Package, ...]:
    """The packages that a user adds to those in `STANDARD`.

    Raises:
        ExtensionRegistryError: a value is not a package, or two packages have one family.
    """
    return distinct((*STANDARD, *packages))[len(STANDARD) :]


__all__ = [
    "EINSUM",
    "STANDARD",
    "EinsumOp",
    "Labeled",
    "NetworkDerivative",
    "Sizes",
    "SlicedNetwork",
    "StandardRuntime",
    "contract_step",
    "emit_network",
    "entered",
    "evaluate_standard",
    "finished",
    "further",
]
