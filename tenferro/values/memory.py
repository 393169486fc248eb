"""What a program needs of memory on an executor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from tenferro.compiler import DEFAULT_OPTIONS, MemoryReport, OptimizerOptions
from tenferro.errors import ExecutorError
from tenferro.exec_ir import ExecProgram
from tenferro.shape import Leaf
from tenferro.values.executors import Executor
from tenferro.values.shardings import INFERRED, Shardings


@runtime_checkable
class PredictsMemory(Protocol):
    """An executor that tells what a program needs before it runs."""

    def memory(
        self,
        program: ExecProgram,
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
    ) -> MemoryReport:
        """The memory that the program needs, for these sizes of its symbols."""


def memory_of(
    executor: Executor,
    program: ExecProgram,
    sizes: Mapping[Leaf, int],
    options: OptimizerOptions,
    shardings: Shardings = INFERRED,
) -> MemoryReport:
    """The memory that a program needs on an executor; on a mesh, where it is divided so.

    Raises:
        ExecutorError: the executor does not tell.
    """
    if not isinstance(executor, PredictsMemory):
        raise ExecutorError(
            f"memory: the executor {executor.name!r} has no method memory(program, sizes, options)"
        )
    on_mesh: dict[str, Any] = {} if shardings == INFERRED else {"shardings": shardings}
    return executor.memory(program, sizes, options, **on_mesh)
