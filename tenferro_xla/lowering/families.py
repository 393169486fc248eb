"""Extension ops on XLA: a registered lowering, else standard ops, else an error.

The families' runtimes and `eager_execute` are never used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from tenferro.errors import BackendFailureError, ExtensionError, ExtensionRegistryError
from tenferro.family import (
    Extension,
    ExtensionOp,
    Lowering,
    Package,
    lowering_of,
    parse_family_id,
    require_class,
)
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
        self._rules: dict[str, tuple[Lowering | str, type[ExtensionOp] | None]] = {
            op.FAMILY_ID: (lowering, op)
            for lowerings in (*_STANDARD, *[package.lowerings for package in packages])
            for op, lowering in lowerings.items()
        }

    def register(self, family_id: str, lowering: Lowering) -> None:
        """Make a lowering known. Registering a family again changes nothing.

        Raises:
            MalformedFamilyIdError: the family id is not one.
            ExtensionRegistryError: the lowering is not a function, nor the name of one.
        """
        parse_family_id(family_id)
        given: object = lowering
        if not callable(given) and not isinstance(given, str):
            raise ExtensionRegistryError(
                family_id,
                f"takes a function of an op and its operands as JAX values, got {given!r}",
                "register",
            )
        self._rules.setdefault(family_id, (lowering, None))

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
            ExtensionRegistryError: it is that of another class of the family.
            InvalidConfigError: its results are not of the types that the op infers.
        """
        named, op_class = self._rules[op.family_id]
        require_class(op.op, op_class, "lowering")
        lowering = lowering_of(named)
        self._rules[op.family_id] = lowering, op_class
        try:
            results = lowering(op.op, *map(_as_jax, operands))
        except Exception as error:
            if isinstance(error, ExtensionError) and op.family_id in str(error):
                raise
            reason = f"{op.family_id}: its XLA lowering failed: {type(error).__name__}: {error}"
            raise BackendFailureError(op.family_id, reason) from error
        return op.checked_results(op.infer_all([_meta(value) for value in operands]), results)


def _as_jax(value: Any) -> Any:
    """A value as one of JAX: constants are arrays of NumPy, which values of JAX cannot index."""
    return jnp.asarray(value) if isinstance(value, np.ndarray) else value


def _meta(value: Any) -> TensorMeta:
    """The type of a value, whose sizes may be symbols of JAX while a program is exported."""
    if all(isinstance(size, int) for size in value.shape):
        return make_meta(value.dtype, tuple(value.shape))
    sizes = [size if isinstance(size, int) else dim(str(size)) for size in value.shape]
    return TensorMeta.of(value.dtype, sizes)
