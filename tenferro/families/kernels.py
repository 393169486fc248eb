"""Ops whose reference implementation is a function in another module, imported when it is needed.

Ops and rules are imported with every context; SciPy and the kernels are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

from tenferro.exec_ir import Array
from tenferro.family import ExtensionOp


class KernelOp(ExtensionOp):
    """An op that a kernel computes.

    Attributes:
        kernel: the kernel, as `"module:function"`. It takes the op and NumPy arrays, and returns a
            sequence of arrays, one for each output.
    """

    kernel: ClassVar[str]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs of the kernel."""
        return kernel_of(self.kernel)(self, *inputs)


@cache
def kernel_of(name: str) -> Callable[..., Sequence[Any]]:
    """The function that is named as `"module:function"`."""
    kernel: Callable[..., Sequence[Any]] = EntryPoint("kernel", name, "tenferro.kernels").load()
    return kernel
