"""Extension ops on XLA: a registered lowering, else standard ops, else an error.

The families' runtimes and `eager_execute` are never used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from tenferro.errors import BackendFailureError, ExtensionError
from tenferro.family import Extension, Lowering, Package, lowering_of, parse_family_id
from tenferro.shape import TensorMeta, dim, make_meta
from tenferro_xla.lowering import (
    callback,
    fft,
    linalg,
    linalg_factors,
    linalg_general,
    linalg_solving,
)

_STANDARD = (
    linalg.LOWERINGS,
    linalg_factors.LOWERINGS,
    linalg_solving.LOWERINGS,
    linalg_general.LOWERINGS,
    fft.LOWERINGS,
    callback.LOWERINGS,
)


class ExtensionLowerings:
    """The lowerings of extension families of one executor; the first one of a family is kept.

    Those of tenferro's own families are among them.
    """

    def __init__(self, packages: Sequence[Package] = ()) -> None:
        self._rules: dict[str, Lowering | str] = {
            op.FAMILY_ID: lowering
            for lowerings in (*_STANDARD, *[package.lowerings for package in packages])
            for op, lowering in lowerings.items()
        }

    def register(self, family_id: str, lowering: Lowering) -> None:
        """Make a lowering known. Registering a family again changes nothing.

        Raises:
            MalformedFamilyIdError: the family id is not one.
        """
        parse_family_id(family_id)
        self._rules.setdefault(family_id, lowering)

    def copy_to(self, other: ExtensionLowerings) -> None:
        """Add the lowerings to another set, which keeps its own where both have one."""
        for family_id, lowering in self._rules.items():
            other._rules.setdefault(family_id, lowering)

    def __contains__(self, family_id: object) -> bool:
        return family_id in self._rules

    def __len__(self) -> int:
        return len(self._rules)

    def __call__(self, op: Extension, operands: Sequence[Any]) -> tuple[jax.Array, ...]:
        """The outputs of an op, emitted into the JAX trace that is under way.

        Raises:
            BackendFailureError: the lowering failed.
            InvalidConfigError: its results are not of the types that the op infers.
        """
        lowering = self._rules[op.family_id] = lowering_of(self._rules[op.family_id])
        try:
            results = lowering(op.op, *operands)
        except Exception as error:
            if isinstance(error, ExtensionError) and op.family_id in str(error):
                raise
            reason = f"{op.family_id}: its XLA lowering failed: {type(error).__name__}: {error}"
            raise BackendFailureError(op.family_id, reason) from error
        return op.checked_results(op.infer_all([_meta(value) for value in operands]), results)


def _meta(value: Any) -> TensorMeta:
    """The type of a value, whose sizes may be symbols of JAX while a program is exported."""
    if all(isinstance(size, int) for size in value.shape):
        return make_meta(value.dtype, tuple(value.shape))
    sizes = [size if isinstance(size, int) else dim(str(size)) for size in value.shape]
    return TensorMeta.of(value.dtype, sizes)
