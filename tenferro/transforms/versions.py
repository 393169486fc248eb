"""What is kept of a compiled function: its programs, and their executables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.family import Package
from tenferro.traced import Trace, TreeDef
from tenferro.values import (
    Buffer,
    Executable,
    Executor,
    GraphProgram,
    RefusesTypes,
    Tensor,
    place,
    wrap_all,
)


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """A function traced for arguments of certain types, whose extents may be symbolic.

    Attributes:
        program: the program of the function.
        captured: buffers of arrays in the function's closure, passed after the arguments.
        donated: the inputs of the program that belong to donated arguments.
        out_tree: structure of the result.
    """

    program: GraphProgram
    captured: tuple[Buffer, ...]
    donated: tuple[int, ...]
    out_tree: TreeDef
    packages: Sequence[Package]

    @classmethod
    def of(
        cls, trace: Trace, program: GraphProgram, donated: tuple[int, ...], executor: Executor
    ) -> TracedFunction:
        """The function of a trace with its program; what it has captured goes to the executor."""
        captured = [
            place("jit", declared.default, executor)
            for declared in program.inputs[len(trace.inputs) :]
            if declared.default is not None
        ]
        return cls(program, tuple(captured), donated, trace.out_tree, trace.packages)


@dataclass(frozen=True, slots=True)
class Plain:
    """An executable whose errors need no explanation."""

    direct: Callable[..., Sequence[Buffer]]
    direct_host: Callable[..., Sequence[Buffer]]

    def explain(self, error: Exception, buffers: Sequence[Buffer]) -> None:
        """None: nothing is known of the error."""


@dataclass(frozen=True, slots=True)
class CompiledVersion:
    """A traced function, compiled by its executor for arguments of certain sizes.

    Attributes:
        traced: the function.
        executable: its program for these sizes.
        runs: the same as what runs it. If it does not refuse other types, `Plain`.
        is_leaf: whether the result is a single array and not a tree.
    """

    traced: TracedFunction
    executable: Executable
    runs: RefusesTypes | Plain
    is_leaf: bool

    @classmethod
    def of(cls, traced: TracedFunction, executable: Executable) -> CompiledVersion:
        """The version of a traced function that an executable runs."""
        refuses = isinstance(executable, RefusesTypes)
        own: Any = executable if refuses else Plain(executable.__call__, executable.run_host)
        return cls(traced, executable, own, traced.out_tree.is_leaf())

    def results(self, buffers: Sequence[Buffer], on_host: bool, owner: Executor | None) -> Any:
        """The tree of results for these arrays, of which some may be NumPy arrays if `on_host`."""
        buffers = (*buffers, *self.traced.captured)
        run = self.runs.direct_host if on_host else self.runs.direct
        try:
            results = run(*buffers)
        except Exception as error:
            explained = self.runs.explain(error, buffers)
            if explained is None:
                raise
            results = explained
        if self.is_leaf:
            return Tensor.wrap(results[0], owner)
        return self.traced.out_tree.unflatten(wrap_all(results, owner))
