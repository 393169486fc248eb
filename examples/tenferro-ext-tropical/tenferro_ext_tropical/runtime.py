"""Running the families on NumPy buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.extension import ExtensionCache, ExtensionRegistry
from tenferro_ext_tropical.kernels import NUMPY
from tenferro_ext_tropical.ops import TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp


@dataclass(frozen=True)
class NumpyRuntime:
    """Runs one family in tiles; keeps the plans of contractions in the executor's cache."""

    family_id: str

    def execute(
        self, backend: Any, op: Any, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs."""
        arrays = [np.asarray(value) for value in inputs]
        shapes = tuple([array.shape for array in arrays])
        plan = cache.get_or_make((op.payload(), shapes), lambda: op.plan(shapes))
        results: Sequence[Any] = op.computed(NUMPY, plan, arrays)
        return results


def register_runtime(registry: ExtensionRegistry) -> None:
    """Register the runtimes of all families with an executor; `PACKAGE` has them too.

    >>> import tenferro as tn
    >>> executor = tn.GraphExecutor(tn.NumpyBackend())
    >>> executor.register_extension(register_runtime)
    """
    for family in (TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp):
        registry.register(NumpyRuntime(family.FAMILY_ID))
