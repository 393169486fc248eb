"""How the inputs and outputs of a program are divided among the devices of a mesh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tenferro.compiler import DEFAULT_OPTIONS, OptimizerOptions
from tenferro.errors import ShardingError
from tenferro.exec_ir import ExecProgram
from tenferro.shape import Leaf
from tenferro.values.executors import Buffer, Executable, Executor, executor_named


@dataclass(frozen=True, slots=True)
class Shardings:
    """The shardings of a program's inputs and outputs; None, or no entry, is inferred.

    Attributes:
        names: of the inputs, for errors.
    """

    inputs: tuple[Any, ...] = ()
    outputs: tuple[Any, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)

    def given_by(self, leaves: Sequence[Any]) -> Shardings:
        """These, where inputs that are inferred are divided as arrays are."""
        declared = (*self.inputs, *(None,) * (len(leaves) - len(self.inputs)))
        inputs = [
            getattr(leaf, "sharding", None) if sharding is None else sharding
            for leaf, sharding in zip(leaves, declared, strict=True)
        ]
        return Shardings(tuple(inputs), self.outputs, self.names)


INFERRED = Shardings()


@runtime_checkable
class RunsOnMesh(Protocol):
    """An executor that can run on the devices of a mesh."""

    def with_mesh(self, mesh: object, slices: Any = None) -> Executor:
        """An executor like this one on the mesh; the same one for equal arguments.

        `slices` are the axes of the mesh whose devices share the slices of networks.
        """

    def sharding(self, given: object, where: str) -> Any:
        """The sharding that a user writes, on the executor's mesh; `where` is for errors."""

    def holding(self, buffer: Buffer) -> Executor:
        """The executor for a buffer: this one, or the one on the mesh that the buffer is on."""

    def compile_exec(
        self,
        program: ExecProgram,
        donate: tuple[int, ...] = (),
        sizes: Mapping[Leaf, int] | None = None,
        options: OptimizerOptions = DEFAULT_OPTIONS,
        shardings: Shardings = INFERRED,
    ) -> Executable:
        """Compile the program for inputs and outputs that are divided so."""


def on_mesh(caller: str, executor: str | Executor, mesh: object, slices: object = None) -> Executor:
    """The executor on a mesh. `caller` is the function that is called.

    `slices` are the axes whose devices share the slices of networks; None for the executor's own.

    Raises:
        ShardingError: the executor does not run on meshes, or `mesh` is not one, or lacks an axis.
    """
    found = executor_named(executor) if isinstance(executor, str) else executor
    if not isinstance(found, RunsOnMesh):
        raise ShardingError(
            f"{caller}: the executor {found.name!r} does not run on a mesh; use executor='xla'"
        )
    return found.with_mesh(mesh, slices)
