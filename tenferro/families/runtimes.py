"""The reference implementations of tenferro's families, and their runtimes on native backends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import numpy as np

from tenferro.compiler import NATIVE, optimize_for, run_passes
from tenferro.compiler.device import ExpandFamilies
from tenferro.ir import (
    Category,
    ExecInstruction,
    ExecProgram,
    NumpyArray,
    evaluate,
    make_meta,
    program_of_op,
    run,
)
from tenferro.ops.extension import (
    Extension,
    ExtensionCache,
    ExtensionOp,
    ExtensionRuntime,
    family_of,
)

__all__ = ["KernelOp", "KernelRuntime", "StandardRuntime", "evaluate_standard", "kernel_of"]


def evaluate_standard(op: ExtensionOp, inputs: Sequence[NumpyArray]) -> list[NumpyArray]:
    """The results of the ops by which an extension op is replaced, on NumPy arrays."""
    metas = [make_meta(array.dtype, tuple(array.shape)) for array in inputs]
    program = run_passes(program_of_op(Extension(op), metas), [ExpandFamilies(requires_all=False)])
    with np.errstate(all="ignore"):
        return evaluate(program, list(inputs))


# Ops whose reference implementation is a function in another module, imported when it is needed.


class KernelOp(ExtensionOp):
    """An op that a kernel computes.

    Attributes:
        kernel: the kernel, as `"module:function"`. It takes the op and NumPy arrays, and returns a
            sequence of arrays, one for each output.
    """

    kernel: ClassVar[str]

    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        """The outputs of the kernel."""
        return kernel_of(self.kernel)(self, *inputs)


@cache
def kernel_of(name: str) -> Callable[..., Sequence[Any]]:
    """The function that is named as `"module:function"`."""
    kernel: Callable[..., Sequence[Any]] = EntryPoint("kernel", name, "tenferro.kernels").load()
    return kernel


# The runtimes of tenferro's families on native backends.


class KernelRuntime:
    """Runs a family by the reference implementation of its ops.

    Args:
        family: the op class, or the family id.
    """

    def __init__(self, family: str | type[ExtensionOp]) -> None:
        self.family_id = family_of("KernelRuntime", family)

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the op."""
        return op.eager_execute(inputs)


class StandardRuntime:
    """Runs the ops by which those of one family are replaced.

    The program of these ops is optimized for the inputs' shapes, and cached in the executor by
    payload, shapes and dtypes.

    Args:
        family_id: the family.
        kernels: runtimes of the other families that may be among these ops.
    """

    def __init__(self, family_id: str, kernels: Sequence[ExtensionRuntime] = ()) -> None:
        self.family_id = family_id
        self._kernels = {kernel.family_id: kernel for kernel in kernels}
        self._target = replace(NATIVE, families=self._kernels)

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the op."""
        metas = tuple([make_meta(buffer.dtype, tuple(buffer.shape)) for buffer in inputs])
        key = (op.payload_identity(), metas)
        program: ExecProgram = cache.get_or_make(
            key, lambda: optimize_for(program_of_op(Extension(op), metas), self._target)
        )

        def handler(step: ExecInstruction, operands: list[Any]) -> Sequence[Any]:
            if isinstance(step.op, Extension):
                kernel = self._kernels[step.op.family_id]
                return kernel.execute(backend, step.op.op, operands, cache)
            if step.op.category is Category.BOUNDARY:
                return backend.execute_boundary(step.op, operands)  # type: ignore[no-any-return]
            with backend.with_backend_session() as session:
                return session.execute(step.op, operands)  # type: ignore[no-any-return]

        return run(program, list(inputs), handler)
