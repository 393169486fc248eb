"""Tracing the functions of loops and branches, and what they close over.

A function closes over the graph values that it reads and that are older than its trace: what it
computes itself, also of such values alone, stays in its program, so that a branch that is not
taken does not compute it. Constants stay inside. Captured arrays above the limit of literals are
inputs of the graph, and become operands; so do tensors that an eager runtime tracks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from tenferro.arrays import Number, convert
from tenferro.compiler import MemoryLimit, tighter
from tenferro.computegraph import Derived, GlobalValKey, Input
from tenferro.control import program_of
from tenferro.errors import ControlFlowError, PytreeError, UnsupportedDynamicShapeError
from tenferro.exec_ir import ExecOp, ExecProgram
from tenferro.family import Package
from tenferro.loops.leaves import require_exact, shown, weak_leaf
from tenferro.shape import BOOL, DType, Exact, TensorMeta, describe, fresh_input, type_of
from tenferro.traced import (
    Scope,
    TracedTensor,
    TraceEmitter,
    TreeDef,
    capture,
    capturing_tracked,
    flatten,
    innermost,
    is_tracing,
    leaf_names,
    raising_site,
    registering,
    tracing,
)
from tenferro.values import (
    Tensor,
    bring_limit,
    bring_packages,
    collecting_limits,
    collecting_packages,
    meta_of_value,
)


@dataclass(slots=True)
class Body:
    """A function, traced at given types.

    Attributes:
        inputs: a new value of a graph for each leaf that the function takes.
        outputs: the value of each leaf that it returns.
        tree: the structure of what it returns.
        weak: for each output whose dtype yields to that of arrays a number of its kind, else None.
    """

    inputs: list[GlobalValKey]
    outputs: list[GlobalValKey]
    tree: TreeDef
    weak: list[Number | None]

    @property
    def metas(self) -> list[TensorMeta]:
        """The types of the outputs."""
        return [TensorMeta(type_of(key).dtype, type_of(key).extents) for key in self.outputs]

    def convert(self, position: int, dtype: DType) -> None:
        """Convert an output."""
        self.outputs[position] = convert(TraceEmitter(), self.outputs[position], dtype)

    def __str__(self) -> str:
        """The types of what it returns."""
        return shown(self.tree, self.metas)


@dataclass(slots=True)
class Bodies:
    """Traces the functions of one loop or branch; made by `tracing_bodies`.

    Attributes:
        caller: the function that users call.
        start: the age of a graph value that is older than all bodies.
        functions: the functions that have been traced.
        scopes: the scopes of their traces.
        packages: extension families that the functions brought.
        limits: memory limits that they brought.
    """

    caller: str
    start: int
    functions: list[Callable[..., Any]] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    packages: list[Package] = field(default_factory=list)
    limits: list[MemoryLimit] = field(default_factory=list)

    def trace(
        self,
        name: str,
        function: Callable[..., Any],
        metas: Sequence[TensorMeta],
        weak: Sequence[Number | None],
        call: Callable[[list[TracedTensor]], Any],
        passed: Sequence[Any] = (),
    ) -> Body:
        """Trace `call`, which calls the user's `function`, at given types; errors call it `name`.

        `passed` are the values from which those of the first round are made, for errors.

        Raises:
            PytreeError: a leaf of the result is not an array.
        """
        inputs = [fresh_input(meta, f"{name}{i}") for i, meta in enumerate(metas)]
        scope = Scope.of(function)
        self.scopes.append(scope)
        scope.passed = list(zip(inputs, passed, strict=False))
        values = [
            TracedTensor(key, number, scope) for key, number in zip(inputs, weak, strict=True)
        ]
        with collecting_packages() as packages, collecting_limits() as limits, tracing(scope):
            try:
                result = call(values)
            except Exception as error:
                site = raising_site(error)
                place = "" if site is None else f", at {site}"
                error.add_note(f"raised in {name} of {self.caller}{place}")
                raise
            leaves, tree = flatten(result)
            outputs = [self._output(leaf, name, result, i) for i, leaf in enumerate(leaves)]
        self.functions.append(function)
        self.packages += packages
        self.limits += limits
        bring_packages(packages)
        bring_limit(tighter(limits))
        return Body([*inputs], outputs, tree, [weak_leaf(leaf) for leaf in leaves])

    def calling(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of the function that is traced now."""
        return self.scopes[-1].calling(function, *args, **kwargs)

    def _output(self, leaf: Any, name: str, result: Any, position: int) -> GlobalValKey:
        """The graph value of a leaf of a result."""
        if isinstance(leaf, TracedTensor):
            if leaf.scope is not None:
                self.scopes[-1].beside(leaf.scope)
            return leaf.in_use(self.caller)
        if meta_of_value(leaf) is None:
            path = leaf_names(result, "")[position]
            if self.caller in ("map", "fori_loop"):  # what the user's function returns is paired
                path = path.removeprefix("[1]")
            raise PytreeError(
                f"{self.caller}: {name} returns a {type(leaf).__name__}{path and f' at {path}'}, "
                f"not an array or number{registering(leaf)}"
            )
        return capture(leaf if isinstance(leaf, Tensor | np.ndarray) else Tensor(leaf))

    def closed_over(self, *bodies: Body) -> list[GlobalValKey]:
        """The values that the bodies read and did not make, in the order in which they are met.

        These are inputs, and all that is older than the bodies. Constants are not among them.
        """
        seen: set[GlobalValKey] = {key for body in bodies for key in body.inputs}
        stack = [key for body in reversed(bodies) for key in reversed(body.outputs)]
        found: list[GlobalValKey] = []
        while stack:
            key = stack.pop()
            if key in seen:
                continue
            seen.add(key)
            if isinstance(key, Input) or self._is_around(key):
                found.append(key)
            else:
                stack += reversed(cast(Derived, key).op.inputs)
        names = ["a value that the function closes over" for _ in found]
        require_exact([type_of(key) for key in found], names, self.caller)
        return found

    def _is_around(self, key: GlobalValKey) -> bool:
        """Whether a value belongs to what is around the bodies.

        Outside any trace, what depends on constants alone is theirs, also if an older trace has
        written it too: equal values are one.
        """
        if key.serial >= self.start or _is_constant(key):
            return False
        return is_tracing() or _reads_an_input(key)

    def scope_of(self, operands: Sequence[Any]) -> Scope | None:
        """The scope of results that depend on the operands and on what the bodies close over."""
        around = {scope for body in self.scopes for scope in body.read}.difference(self.scopes)
        own = (operand.scope for operand in operands if isinstance(operand, TracedTensor))
        return innermost((*own, *around))

    def program(self, name: str, consts: Sequence[GlobalValKey], body: Body) -> ExecProgram:
        """The program of a body, which takes `consts` first.

        Raises:
            UnsupportedDynamicShapeError: data decide the size of a value in it.
        """
        program = program_of([*consts, *body.inputs], body.outputs)
        for step, meta in program.results():
            for extent in meta.extents:
                if not isinstance(extent, Exact):
                    place = step.op.name if step.site is None else f"{step.op.name}, {step.site}"
                    what = "the body" if name in ("f", "body_fun") else name
                    raise UnsupportedDynamicShapeError(
                        self.caller,
                        what,
                        describe(extent),
                        f"{self.caller}: {what} makes a value whose size data decide ({place}); "
                        "keep the size and mask, or take the loop out of the program",
                    )
        return program


@contextmanager
def tracing_bodies(caller: str) -> Iterator[Bodies]:
    """A context for tracing the functions of one loop or branch."""
    with capturing_tracked():
        yield Bodies(caller, fresh_input(_SCALAR, "start").serial)


_SCALAR = TensorMeta(BOOL, ())


def require_function(caller: str, name: str, function: object) -> None:
    """Raise ControlFlowError unless an argument is a function."""
    if not callable(function):
        raise ControlFlowError(
            f"{caller}: {name} must be a function, got a {type(function).__name__}"
        )


def _is_constant(key: GlobalValKey) -> bool:
    """Whether a value is a constant, or a constant repeated along new axes."""
    while isinstance(key, Derived):
        op = key.op
        primitive = cast(ExecOp, op.primitive)
        if not op.inputs:
            return True
        if not primitive.repeats or len(op.inputs) != 1:
            return False
        (key,) = op.inputs
    return False


def _reads_an_input(key: GlobalValKey) -> bool:
    """Whether a value depends on more than constants."""
    stack, seen = [key], {key}
    while stack:
        current = stack.pop()
        if isinstance(current, Input):
            return True
        fresh = set(cast(Derived, current).op.inputs) - seen
        stack += fresh
        seen |= fresh
    return False
