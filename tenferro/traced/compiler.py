"""GraphCompiler: from traced tensors to a GraphProgram."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Container, Mapping, Sequence

from tenferro.compiler import (
    MemoryLimit,
    OptimizerOptions,
    all_guards,
    check_keys,
    compile_std_to_exec,
    optimize,
    without_rules,
)
from tenferro.computegraph import (
    BoundedCache,
    CacheOwner,
    Capacity,
    GlobalValKey,
    Input,
    compile_graph,
    materialize_merge,
    resolve_keys,
)
from tenferro.config import config
from tenferro.errors import BindingError, TracingError
from tenferro.exec_ir import ExecProgram
from tenferro.family import ExtensionCaches
from tenferro.shape import Guard, TensorSpec, type_of
from tenferro.traced.capture import CapturedArray
from tenferro.traced.tensor import TracedTensor
from tenferro.values import GraphProgram, ProgramInput, bind_specs

_CacheKey = tuple[tuple[GlobalValKey, ...], tuple[GlobalValKey, ...], tuple[Guard, ...]]


class GraphCompiler(CacheOwner):
    """Compiles traced tensors into programs, which it caches by structure.

    Args:
        options: select the passes; part of every cache key.
        capacity: bound of the cache, in programs.
        families: the extension families that programs may use; ops of others raise when a program
            is compiled. None means that the executor checks it.

    >>> x = TracedTensor.input((2,), "float64", name="x")
    >>> print(GraphCompiler().compile([-(-x) * 1 + x]))
    # inputs: %0 = x
    exec_program(%0: f64[2]) {
      %1: f64[2] = add %0, %0!
      return %1
    }
    """

    def __init__(
        self,
        options: OptimizerOptions | None = None,
        capacity: int = config.cache_entries,
        families: Container[str] | None = None,
    ) -> None:
        if not isinstance(options, OptimizerOptions | None):
            raise TracingError(
                f"compile: options must be OptimizerOptions, got {type(options).__name__}"
            )
        self.options = OptimizerOptions() if options is None else options
        self.extension_caches = ExtensionCaches()
        self._families = families
        self._cache: BoundedCache[_CacheKey, GraphProgram] = BoundedCache(Capacity(capacity))

    def compile(
        self,
        outputs: Sequence[TracedTensor],
        *,
        inputs: Sequence[TracedTensor] = (),
        input_specs: Mapping[TracedTensor, TensorSpec] | None = None,
    ) -> GraphProgram:
        """The optimized program of `outputs`.

        Args:
            outputs: the outputs of the program.
            inputs: inputs to declare first, in this order, even if the outputs do not depend on
                them.
            input_specs: concrete types for inputs with symbolic extents; the program is specialised
                to them.

        Raises:
            TracingError: `outputs` or `inputs` is not a list of traced tensors.
            BindingError: an extent mentions a symbol that no input of the program defines.
        """
        for listed in (outputs, inputs):
            if isinstance(listed, TracedTensor):
                raise TracingError(
                    "compile: takes a list of traced tensors, got a single one; write [x]"
                )
        for tensor in (*outputs, *inputs):
            if not isinstance(tensor, TracedTensor):
                raise TracingError(f"compile: takes traced tensors, got a {type(tensor).__name__}")
            tensor.in_use("compile")
        declared = [_as_input(tensor) for tensor in inputs]
        program = self.compile_keys([output.key for output in outputs], declared)
        return program if input_specs is None else specialise(program, input_specs)

    def compile_keys(
        self,
        outputs: Sequence[GlobalValKey],
        inputs: Sequence[Input] = (),
        guards: tuple[Guard, ...] = (),
    ) -> GraphProgram:
        """Like `compile`, for graph keys; used by front ends.

        `guards` are assumptions that were made while tracing, for the program to check.
        """
        key = (tuple(outputs), tuple(inputs), guards)
        return self._cache.get_or_make(key, lambda: self._compile(outputs, inputs, guards))

    def _compile(
        self, outputs: Sequence[GlobalValKey], inputs: Sequence[Input], guards: tuple[Guard, ...]
    ) -> GraphProgram:
        graph = materialize_merge(resolve_keys(), outputs, inputs)
        if "materialized" in config.dump:
            sys.stderr.write(f"{graph}\n")
        metas = [type_of(key) for key in graph.inputs]
        typed = compile_std_to_exec(compile_graph(graph), metas, self._families, keep_rules=True)
        lowered = without_rules(typed)
        if config.check_keys:
            check_keys(lowered)
        assumed = all_guards(lowered, guards)
        exec_program = optimize(lowered, self.options)
        _check_symbols(exec_program)
        names = _names(graph.inputs)
        declared = [
            ProgramInput(
                name, meta, key, key.key.tensor if isinstance(key.key, CapturedArray) else None
            )
            for name, meta, key in zip(names, metas, graph.inputs, strict=True)
        ]
        with_rules = None if lowered is typed else typed
        return GraphProgram(
            exec_program, tuple(declared), assumed, self.options, with_rules=with_rules
        )

    def limited(self, limit: MemoryLimit | None) -> GraphCompiler:
        """The compiler of programs that keep a memory limit; itself if there is none."""
        if limit is None:
            return self
        return GraphCompiler(self.options.limited(limit), capacity=0, families=self._families)


def specialise(program: GraphProgram, specs: Mapping[TracedTensor, TensorSpec]) -> GraphProgram:
    """The program, specialised to concrete input types."""
    sizes = bind_specs(program, specs)
    inputs = tuple(
        ProgramInput(declared.name, declared.meta.bind(sizes), declared.key, declared.default)
        for declared in program.inputs
    )
    bound = program.exec_program.bind(sizes)
    with_rules = program.with_rules and program.with_rules.bind(sizes)
    return GraphProgram(bound, inputs, (), program.options, with_rules=with_rules)


def _as_input(tensor: TracedTensor) -> Input:
    if not isinstance(tensor.key, Input):
        raise BindingError(
            f"compile: {tensor.name}: {tensor.meta} is computed, and cannot be an input"
        )
    return tensor.key


def _check_symbols(program: ExecProgram) -> None:
    """Raise BindingError if the inputs do not define the size of every symbol."""
    symbols = program.symbols()
    for op in {id(op): op for op in program.ops()}.values():
        unknown = sorted(str(leaf) for leaf in op.symbols() - symbols)
        if unknown:
            raise BindingError(
                f"compile: {op} needs the size {unknown[0]}, which no input has; "
                "declare the input that defines it with compile(..., inputs=[...])"
            )


def _names(inputs: Sequence[Input]) -> list[str]:
    """The names of inputs; captured arrays are numbered as they come in this program."""
    numbers = itertools.count()
    return _distinct(
        [
            f"{key.key}{next(numbers)}" if isinstance(key.key, CapturedArray) else str(key.key)
            for key in inputs
        ]
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with numbers appended to names that occur twice."""
    used: set[str] = set()
    result: list[str] = []
    for name in names:
        unique, number = name, 0
        while unique in used:
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        result.append(unique)
    return result
