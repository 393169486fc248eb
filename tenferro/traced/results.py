"""Converting graph values into the results of a transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenferro.chainrules import Emitter
from tenferro.compiler import MemoryLimit
from tenferro.computegraph import GlobalValKey, Input, ResolvedView, resolve_keys
from tenferro.errors import TracingError
from tenferro.family import Package
from tenferro.ops import StdTensorOp, replay, shape_context
from tenferro.shape import fresh_input
from tenferro.traced.capture import CapturedArray
from tenferro.traced.compiler import GraphCompiler
from tenferro.traced.function import is_traced, leaf_meta
from tenferro.traced.scopes import innermost
from tenferro.traced.substitute import substitute
from tenferro.traced.tensor import TracedTensor, as_key
from tenferro.traced.wrapping import compiled_within
from tenferro.values import (
    Tensor,
    bring_limit,
    bring_packages,
    executor_named,
    leading,
    place,
    tensor_owner,
    where_to_run,
    with_brought,
)

_COMPILER = GraphCompiler(capacity=0)
"""The compiler of transforms that run immediately. It has no cache: each call makes a new trace."""

_TYPES = shape_context()


class Results:
    """Converts graph values into results.

    They are computed, or, in an outer trace, returned as values of that trace. If an eager runtime
    tracks one of the actual values, it computes and records them.
    """

    def __init__(
        self,
        inputs: Sequence[GlobalValKey],
        actual: Sequence[Any],
        outer: bool,
        function: Any = None,
        packages: Sequence[Package] = (),
        limit: MemoryLimit | None = None,
    ) -> None:
        bring_packages(packages)
        bring_limit(limit)
        self._packages = packages
        self._limit = limit
        self.inputs = inputs
        self.actual = actual
        self.traced = outer or is_traced(actual)
        self._function = function

    def seeds(self, leaves: Sequence[Any], names: str) -> tuple[list[GlobalValKey], Results]:
        """Graph values for further arguments, and the `Results` that bind them.

        In an outer trace they are the graph values of the arguments, so that constants simplify.
        Otherwise they are new inputs.
        """
        if self.traced or is_traced(leaves):
            keys = [as_key(leaf) for leaf in leaves]
            return keys, self.within()
        fresh = [
            fresh_input(leaf_meta(leaf, names), f"{names}{i}") for i, leaf in enumerate(leaves)
        ]
        return list(fresh), self.extended([*self.inputs, *fresh], [*self.actual, *leaves])

    def within(self) -> Results:
        """The same inputs, with results that are values of the enclosing trace."""
        return Results(self.inputs, self.actual, True, self._function, self._packages, self._limit)

    def extended(self, inputs: Sequence[GlobalValKey], actual: Sequence[Any]) -> Results:
        """The same conversion for other inputs."""
        return Results(inputs, actual, self.traced, self._function, self._packages, self._limit)

    def of(self, outputs: Sequence[GlobalValKey]) -> list[Any]:
        """The results for `outputs`."""
        if self.traced:
            replacement: dict[GlobalValKey, GlobalValKey] = {
                key: as_key(leaf)
                for key, leaf in zip(self.inputs, self.actual, strict=True)
                if isinstance(key, Input)  # an `Argument` stands for its leaf already
            }
            replaced = substitute(outputs, replacement, _TYPES) if replacement else outputs
            scopes = [leaf.scope for leaf in self.actual if isinstance(leaf, TracedTensor)]
            scope = innermost(scopes)
            return [TracedTensor(key, None, scope) for key in replaced if key is not None]
        if any(isinstance(leaf, Tensor) and leaf.tracked for leaf in self.actual):
            return self._recorded(outputs)
        return self._run(outputs)

    def _recorded(self, outputs: Sequence[GlobalValKey]) -> list[Any]:
        """The results as tensors of the runtime that tracks an actual value, op by op."""
        view: ResolvedView[StdTensorOp] = resolve_keys()
        _, met = view.topo_order(outputs, leaves=self.inputs)
        captured = {key: key.key.tensor for key in met if isinstance(key.key, CapturedArray)}
        actual = [leaf if isinstance(leaf, Tensor) else Tensor(leaf) for leaf in self.actual]

        def call(at: Emitter[Any], *values: Any) -> tuple[Any, ...]:
            return tuple(replay(at, outputs, dict(zip(keys, values, strict=True))))

        keys = [*self.inputs, *captured]
        values = [*actual, *captured.values()]
        results: Any = leading(values)._apply(call, *values)
        return list(results)

    def _run(self, outputs: Sequence[GlobalValKey]) -> list[Tensor]:
        compiled = compiled_within(self._function)
        tensors = [Tensor(leaf) for leaf in self.actual]
        inputs = [key for key in self.inputs if isinstance(key, Input)]
        compiler = _COMPILER if compiled is None else GraphCompiler(compiled.options, capacity=0)
        program = compiler.limited(self._limit).compile_keys(outputs, inputs)
        captured: list[Tensor] = []
        for declared in program.inputs[len(tensors) :]:
            if declared.default is None:
                raise TracingError(
                    f"call: the result reads {declared.name}: {declared.meta}, which is a value of "
                    "another trace; a derivative rule may use the values of its site only"
                )
            captured.append(declared.default)
        operands = [*tensors, *captured]
        executor = where_to_run("call", operands) if compiled is None else compiled.executor
        runs_on = executor_named("numpy") if executor is None else executor
        runs_on = with_brought(runs_on, self._packages)
        execute = runs_on.compile_exec(program.exec_program, options=program.options)
        results = execute(*[place(runs_on.name, tensor, runs_on) for tensor in operands])
        owner = tensor_owner(runs_on)
        return [Tensor.wrap(buffer, owner) for buffer in results]
