"""The runtime, the standard ops and the lowerings of an extension op agree with `eager_execute`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tenferro.compiler import CANONICAL, optimize
from tenferro.compiler.device import ExpandFamilies
from tenferro.errors import (
    ExecutorError,
    TenferroError,
    UnregisteredExtensionError,
    UnsupportedDynamicShapeError,
    UnsupportedExtensionError,
)
from tenferro.ir import NumpyArray
from tenferro.ops.extension import ExtensionOp
from tenferro.runtime import GraphExecutor, NumpyBackend, builtin_package, executor_module
from tenferro.testing.report import Clause, Findings, NotCheckedError, Note
from tenferro.testing.subject import FamilySubject, TracedGraph, difference, rounding, strict
from tenferro.transforms import apply


def _unregistered(subject: FamilySubject) -> Findings:
    """Without a runtime the op is refused on a native executor, and nothing stands in for it.

    A family of tenferro's own is known to every executor.
    """
    if builtin_package(subject.op.family_id) is not None:
        return
    function = subject.applied(subject.metas)
    try:
        function.run(GraphExecutor(NumpyBackend()), subject.arrays)
    except UnregisteredExtensionError as error:
        if subject.op.family_id not in str(error):
            yield f"the error does not name the family: {error}"
    else:
        yield "a native executor without its runtime runs the op"


def _runtime(subject: FamilySubject) -> Findings:
    """In a program, again, with an empty cache, over symbolic sizes, and in an eager runtime."""
    register = subject.register_runtime
    if register is None:
        raise NotCheckedError("no register_runtime is given")
    executor = subject.executor()
    executor.register_extension(register)  # registering again changes nothing
    function = subject.applied(subject.metas)
    try:
        for run in ("", " in a second run", " with an empty cache"):
            yield from _compared(subject, function.run(executor, subject.arrays), run)
            if run:
                executor.extension_caches.clear()
    except UnregisteredExtensionError as error:
        yield f"register_runtime registers too little: {error}"
        return
    yield from _compared(subject, _eagerly(subject), " in an eager runtime")
    if subject.is_total:
        symbolic = subject.applied(subject.symbolic)
        yield from _compared(subject, symbolic.run(executor, subject.arrays), " of symbolic sizes")


def _eagerly(subject: FamilySubject) -> list[NumpyArray]:
    runtime = subject.eager_runtime()
    result = apply(subject.op, *[runtime.constant(array) for array in subject.arrays])
    return [np.asarray(each) for each in (result if isinstance(result, tuple) else (result,))]


def _standard(subject: FamilySubject) -> Findings:
    """`lower_to_standard_ops`, run on NumPy with no runtime."""
    function = subject.applied(subject.metas, strict(subject.op))
    program = function.program()
    try:
        expanded = optimize(program.exec_program, passes=(ExpandFamilies(), *CANONICAL))
    except UnsupportedExtensionError as error:
        raise NotCheckedError(f"the family has no standard-op form: {error}") from None
    run = GraphExecutor(NumpyBackend()).compile_exec(expanded)
    yield from _compared(subject, run(*subject.arrays), "")
    by_default = type(subject.op).expanded is ExtensionOp.expanded
    if not subject.is_total or (by_default and not subject.op.lowers_named_sizes):
        return
    symbolic = subject.applied(subject.symbolic, strict(subject.op)).program()
    try:
        with_names = optimize(symbolic.exec_program, passes=(ExpandFamilies(), *CANONICAL))
    except (UnsupportedDynamicShapeError, UnsupportedExtensionError) as error:
        yield Note(f"not for symbolic sizes: {error}")
        return
    run = GraphExecutor(NumpyBackend()).compile_exec(with_names, sizes=subject.sizes)
    yield from _compared(subject, run(*subject.arrays), " from symbolic sizes")


def _on_xla(subject: FamilySubject) -> Findings:
    """By standard ops alone, then with the registered lowering."""
    function = subject.applied(subject.metas, strict(subject.op))
    ways = 0
    for register in (None, subject.register_xla):
        if ways and register is None:
            continue
        executor = xla_executor(register)
        try:
            results = function.run(executor, subject.arrays)
        except UnsupportedExtensionError as error:
            if register is not None:
                yield f"register_xla registers no lowering for {subject.op.family_id}"
            elif subject.op.family_id not in str(error):
                yield f"the error does not name the family: {error}"
            elif subject.register_xla is None:
                raise NotCheckedError(f"refused, as it must be: {error}") from None
            continue
        ways += 1
        way = " by standard ops" if register is None else " by its lowering"
        yield from _compared(subject, results, way)


def xla_executor(register: Callable[[Any], object] | None) -> Any:
    """A new XLA executor with a package's lowerings.

    Raises:
        NotCheckedError: XLA is not installed.
    """
    try:
        executor = executor_module("xla").XlaExecutor()
    except ExecutorError as error:
        raise NotCheckedError(str(error)) from None
    if register is not None:
        executor.register_extension(register)
    return executor


def compared(
    function: TracedGraph,
    executor: Any,
    arrays: Sequence[NumpyArray],
    expected: Sequence[NumpyArray | None],
) -> Iterator[str]:
    """How the outputs of a function on an executor are different from what is expected."""
    try:
        results = function.run(executor, arrays)
    except TenferroError as error:
        yield f"{type(error).__name__}: {error}"
        return
    for i, (one, other) in enumerate(zip(results, expected, strict=True)):
        if text := difference(one, other, rounding(*arrays, other)):
            yield f"output {i} {text}"


def _compared(subject: FamilySubject, results: Sequence[Any], when: str) -> Iterator[str]:
    """How results are different from those of `eager_execute`."""
    for i, (value, expected) in enumerate(zip(results, subject.expected, strict=True)):
        array = np.asarray(value)
        if array.dtype != expected.dtype:
            yield f"output {i}{when} is of dtype {array.dtype}, expected {expected.dtype}"
            continue
        if text := difference(array, expected, rounding(*subject.arrays, expected)):
            yield f"output {i}{when} {text}"


_NEEDS = ("reference",)
EXECUTION = (
    Clause(12, "unregistered", "without a runtime the op is refused", _unregistered, _NEEDS),
    Clause(8, "runtime", "the registered runtime is eager_execute", _runtime, _NEEDS),
    Clause(8, "standard ops", "lower_to_standard_ops is eager_execute", _standard, _NEEDS),
    Clause(8, "xla", "XLA computes the same, without eager_execute", _on_xla, _NEEDS),
)
