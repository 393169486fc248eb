"""What `XlaExecutor.lower` returns: a program stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tenferro.compiler import Observer
from tenferro.compiler.device import refuse_dynamic
from tenferro.errors import BindingError, ExecutorError, UnsupportedDynamicShapeError
from tenferro.ir import ExecProgram, Leaf
from tenferro.runtime import INFERRED, BoundInputs, GraphProgram, Shardings, Tensor, bind_inputs
from tenferro_xla.compiled.cache import CompileRequest, Executables
from tenferro_xla.compiled.derived_executables import sizes_text
from tenferro_xla.compiled.executable import LoadedExecutable
from tenferro_xla.compiled.stablehlo import (
    Cost,
    Memory,
    cost_of,
    lower_to_stablehlo,
    memory_of,
    pinned_by,
    prepare,
)

__all__ = ["Compiled", "Lowered"]

Runner = Callable[[LoadedExecutable, BoundInputs], list[Tensor]]
"""Runs an executable on bound inputs."""


class Lowered:
    """A program as StableHLO, for given sizes."""

    def __init__(
        self,
        program: GraphProgram,
        sizes: dict[Leaf, int],
        executables: Executables,
        run: Runner,
        observe: Observer | None = None,
        shardings: Shardings = INFERRED,
    ) -> None:
        self._program = program
        self._sizes = sizes
        self._executables = executables
        self._run = run
        self._shardings = shardings
        options = program.options
        self._bound = executables.resolved(program.exec_program, sizes, options, observe)
        pinned = pinned_by(self._bound, executables.target.placement, shardings)
        try:
            self._prepared = prepare(self._bound, executables.target, options, observe, pinned)
        except UnsupportedDynamicShapeError:
            refuse_dynamic(self._bound, "lower")
            raise
        self._module = lower_to_stablehlo(self._prepared, executables.target, shardings=shardings)

    @property
    def exec_program(self) -> ExecProgram:
        """The program after all passes, as it was lowered."""
        return self._prepared

    def stablehlo(self) -> str:
        """The text of the StableHLO module."""
        return self._module.lowered.as_text()

    def as_text(self) -> str:
        """The same, under the name that JAX gives it."""
        return self.stablehlo()

    def cost(self) -> Cost:
        """XLA's estimate of the work of one run, before it optimizes the program."""
        return cost_of(self._module.lowered.cost_analysis() or {})

    def memory(self) -> Memory:
        """The memory that the executable needs; compiles the program."""
        return self.compile().memory()

    def compile(self) -> Compiled:
        """The executable."""
        request = CompileRequest(
            self._program.identity,
            self._sizes,
            options=self._program.options,
            shardings=self._shardings,
        )

        def make() -> LoadedExecutable:
            return self._executables.compile(self._bound, request, self._module)

        cache = self._executables.cache
        executable = cache.get_or_make(request.key, make)
        if not isinstance(executable, LoadedExecutable):  # it is for larger sizes, or for any mesh
            executable = cache.get_or_make((*request.key, request.part), make)
        assert isinstance(executable, LoadedExecutable), "a lowered program is static"
        return Compiled(self._program, self._sizes, executable, self._run)


class Compiled:
    """A program compiled by XLA, for given sizes."""

    def __init__(
        self,
        program: GraphProgram,
        sizes: dict[Leaf, int],
        executable: LoadedExecutable,
        run: Runner,
    ) -> None:
        self._program = program
        self._sizes = sizes
        self._executable = executable
        self._run = run

    def run(self, bindings: Mapping[Any, Any]) -> list[Tensor]:
        """The program's outputs; see `XlaExecutor.run`.

        Raises:
            BindingError: as `XlaExecutor.run`, or the sizes are not those that it is compiled for.
        """
        bound = bind_inputs(self._program, bindings)
        if bound.sizes != self._sizes:
            raise BindingError(
                f"run: compiled for {sizes_text(self._sizes)}, "
                f"but the inputs have {sizes_text(bound.sizes)}"
            )
        return self._run(self._executable, bound)

    def cost(self) -> Cost:
        """XLA's estimate of the work of one run of the optimized program."""
        return cost_of(self._executable.compiled.cost_analysis() or {})

    def memory(self) -> Memory:
        """The memory that the executable needs."""
        return memory_of(self._executable.compiled)

    def as_text(self) -> str:
        """The optimized HLO.

        Raises:
            ExecutorError: XLA does not keep it on this platform.
        """
        text = self._executable.compiled.as_text()
        if text is None:
            raise ExecutorError(
                "as_text: XLA does not keep the text of the executable on this platform"
            )
        return text
