"""What `XlaExecutor.lower` returns: a program stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenferro.compiler import Observer
from tenferro.compiler.device import refuse_dynamic
from tenferro.errors import BindingError, ExecutorError, UnsupportedDynamicShapeError
from tenferro.ir import ExecProgram, Leaf, TensorSpec
from tenferro.runtime import INFERRED, BoundInputs, GraphProgram, Shardings, Tensor, bind_inputs
from tenferro.transforms import Stage
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


class Lowered(Stage):
    """A program as StableHLO, for given sizes."""

    def __init__(
        self,
        program: GraphProgram,
        sizes: dict[Leaf, int],
        executables: Executables,
        run: Runner,
        observe: Observer | None = None,
        shardings: Shardings = INFERRED,
        again: Callable[[Mapping[str, Any]], Lowered] | None = None,
    ) -> None:
        """`again` lowers the program for an executor with further options of the compiler."""
        self._again = again
        self._program = program
        self._sizes = sizes
        self.form = program.form
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

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The text, in a dialect that XLA knows: "stablehlo" or "hlo"."""
        return self._module.lowered.as_text(dialect, debug_info=debug_info)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as an object of the compiler."""
        return self._module.lowered.compiler_ir(dialect)

    def cost_analysis(self) -> Any:
        """XLA's estimate of the work of one run, as JAX gives it; see `cost`."""
        return self._module.lowered.cost_analysis()

    @property
    def out_info(self) -> Any:
        """The types of the results."""
        specs = [TensorSpec.of(meta) for meta in self._bound.output_metas]
        return specs if self.form is None else self.form.result(specs)

    def cost(self) -> Cost:
        """XLA's estimate of the work of one run, before it optimizes the program."""
        return cost_of(self._module.lowered.cost_analysis() or {})

    def memory(self) -> Memory:
        """The memory that the executable needs; compiles the program."""
        return self.compile().memory()

    def compile(self, compiler_options: Mapping[str, Any] | None = None) -> Compiled:
        """The executable; `compiler_options` are further options of the compiler.

        >>> import tenferro as tn
        >>> lowered = tn.jit(tn.sqrt).lower(4.0)
        >>> lowered.compile({"xla_cpu_enable_fast_math": False})(4.0)
        Tensor(2.)

        Raises:
            ConfigError: the options are no mapping from names to values.
            ExecutorError: XLA reports an error, such as an unknown option.
        """
        if compiler_options:
            assert self._again is not None, "an executor has lowered it"
            lowered = self._again(compiler_options)
            lowered.form = self.form
            return lowered.compile()
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
        compiled = Compiled(self._program, self._sizes, executable, self._run)
        compiled.form, compiled.out_info = self.form, self.out_info
        return compiled


class Compiled(Stage):
    """A program compiled by XLA, for given sizes.

    Attributes:
        out_info: the types of the results.
    """

    out_info: Any = None

    def __init__(
        self,
        program: GraphProgram,
        sizes: dict[Leaf, int],
        executable: LoadedExecutable,
        run: Runner,
    ) -> None:
        self._program = program
        self._sizes = sizes
        self.form = program.form
        self._executable = executable
        self._run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function that was lowered, without its static arguments.

        Raises:
            BindingError: as `run`; or it was a program that was lowered, and no function.
            PytreeError: the arguments have another structure than those it is compiled for.
        """
        form = self.form
        if form is None:
            raise BindingError("call: a program was compiled, and no function; use run(bindings)")
        leaves = form.leaves(args, kwargs)
        if leaves is None:
            raise form.mismatch(args, kwargs)
        names = [declared.name for declared in self._program.inputs]
        return form.result(self.run(dict(zip(names, leaves, strict=False))))

    def cost_analysis(self) -> Any:
        """XLA's estimate of the work of one run, as JAX gives it; see `cost`."""
        return self._executable.compiled.cost_analysis()

    def memory_analysis(self) -> Any:
        """The memory that the executable needs, as JAX gives it; see `memory`."""
        return self._executable.compiled.memory_analysis()

    @property
    def input_shardings(self) -> Any:
        """How the arguments, and those by name, are divided; None for one that nothing reads."""
        return self.of_arguments(self._executable.compiled.input_shardings[0])

    @property
    def output_shardings(self) -> Any:
        """How the results are divided."""
        return self._of_results(self._executable.compiled.output_shardings)

    @property
    def input_formats(self) -> Any:
        """How the arguments are divided and laid out, as JAX's `Format`s."""
        return self.of_arguments(self._executable.compiled.input_formats[0])

    @property
    def output_formats(self) -> Any:
        """How the results are divided and laid out, as JAX's `Format`s."""
        return self._of_results(self._executable.compiled.output_formats)

    def _of_results(self, outputs: Sequence[Any]) -> Any:
        """Those of the program's outputs as the tree of the results."""
        return tuple(outputs) if self.form is None else self.form.result(outputs)

    def runtime_executable(self) -> Any:
        """The executable as an object of XLA."""
        return self._executable.compiled.runtime_executable()

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
