"""The einsum families on native backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenferro.compiler import expand_extensions, optimize
from tenferro.exec_ir import ExecBuilder, ExecProgram
from tenferro.extension import Extension, ExtensionCache, ExtensionOp, ExtensionRegistry
from tenferro.network.derivative import NetworkDerivative
from tenferro.network.op import EinsumOp
from tenferro.network.sliced import SlicedNetwork, run_slices
from tenferro.runtime import (
    NUMPY_EXECUTOR,
    GraphExecutor,
    TensorBackend,
    run_segmented,
    segment_exec_program,
)
from tenferro.shape import TensorMeta, make_meta


class EinsumRuntime:
    """Runs one einsum family.

    The inner program is planned, lowered and optimized for the operands' shapes, and kept in the
    executor's cache by payload, shapes and dtypes.
    """

    def __init__(self, family_id: str) -> None:
        self.family_id = family_id

    def execute(
        self, backend: TensorBackend, op: ExtensionOp, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the network, or of its derivative."""
        metas = tuple([make_meta(buffer.dtype, tuple(buffer.shape)) for buffer in inputs])
        key = (op.payload_identity(), metas)
        program, segments = cache.get_or_make(key, lambda: _compiled(op, metas))
        return run_segmented(program, segments, backend, inputs)


class SlicedRuntime:
    """Runs sliced networks; the program of a round is kept like that of a network."""

    family_id = SlicedNetwork.FAMILY_ID

    def execute(
        self, backend: TensorBackend, op: ExtensionOp, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the loop."""
        assert isinstance(op, SlicedNetwork)
        return run_slices(op, backend, inputs, cache)


def register_runtime(registry: ExtensionRegistry) -> None:
    """Give an executor the einsum families: `executor.register_extension(register_runtime)`."""
    for family in (EinsumOp, NetworkDerivative):
        registry.register(EinsumRuntime(family.FAMILY_ID))
    registry.register(SlicedRuntime())


# It runs un-jitted functions on NumPy arrays. An executor that a user makes is given the families
# by that user.
assert isinstance(NUMPY_EXECUTOR, GraphExecutor)
NUMPY_EXECUTOR.register_extension(register_runtime)


def _compiled(op: ExtensionOp, metas: Sequence[TensorMeta]) -> tuple[ExecProgram, Any]:
    builder = ExecBuilder()
    slots = [builder.input(meta) for meta in metas]
    outputs = builder.add(Extension(op), slots)
    program = optimize(expand_extensions(builder.build(outputs)))
    return program, segment_exec_program(program)
