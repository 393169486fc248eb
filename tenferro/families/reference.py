"""The reference implementation of ops that are replaced by others: these on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.compiler import ExpandFamilies, run_passes
from tenferro.exec_ir import Array, evaluate, program_of_op
from tenferro.family import Extension, ExtensionOp
from tenferro.shape import make_meta


def evaluate_standard(op: ExtensionOp, inputs: Sequence[Array]) -> list[Array]:
    """The results of the ops by which an extension op is replaced, on NumPy arrays."""
    metas = [make_meta(array.dtype, tuple(array.shape)) for array in inputs]
    program = run_passes(program_of_op(Extension(op), metas), [ExpandFamilies(requires_all=False)])
    with np.errstate(all="ignore"):
        return evaluate(program, list(inputs))
