"""The passes, in order, and what runs around them: timing, dumps, the verifier."""

from __future__ import annotations

import difflib
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.compiler.layout import CPU, LayoutCosts
from tenferro.compiler.lower import compile_std_to_exec
from tenferro.compiler.passes import (
    AlgebraicSimplifier,
    CommonSubexpressions,
    ConjugateSinking,
    ContractionLayout,
    DeadCode,
    DotDecomposer,
    DotDimensionSorter,
    Pass,
    TransposeFolding,
)
from tenferro.compiler.renumber import renumber
from tenferro.computegraph import CompiledProgram
from tenferro.config import config
from tenferro.errors import TenferroError, VerifyError
from tenferro.exec_ir import ExecProgram, verify, with_last_use
from tenferro.ops import StdTensorOp
from tenferro.shape import TensorMeta

PASSES: tuple[Pass, ...] = (
    CommonSubexpressions(),
    AlgebraicSimplifier(),
    ConjugateSinking(),
    DeadCode(),  # before passes that ask whether a value is used once
    DotDimensionSorter(),
    TransposeFolding(),
    DotDimensionSorter(),  # axes have other numbers now
    ContractionLayout(),
    DotDecomposer(),
    AlgebraicSimplifier(),  # what the passes above left side by side
    CommonSubexpressions(),
    DeadCode(),
)


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    """Which passes run, by name. Part of the key of every cache of compiled programs.

    `layout_costs` are what `ContractionLayout` takes products and moves to cost.

    >>> OptimizerOptions(dot_decomposer=False) == OptimizerOptions()
    False
    """

    algebraic_simplifier: bool = True
    common_subexpressions: bool = True
    conjugate_sinking: bool = True
    dead_code: bool = True
    dot_dimension_sorter: bool = True
    transpose_folding: bool = True
    contraction_layout: bool = True
    dot_decomposer: bool = True
    layout_costs: LayoutCosts = CPU

    @classmethod
    def none(cls) -> OptimizerOptions:
        """No pass at all."""
        switches: dict[str, Any] = dict.fromkeys([each.name for each in PASSES], False)
        return cls(**switches)


DEFAULT_OPTIONS = OptimizerOptions()


def optimize(
    program: ExecProgram,
    options: OptimizerOptions = DEFAULT_OPTIONS,
    passes: Sequence[Pass] = PASSES,
) -> ExecProgram:
    """The program after the passes that `options` ask for, slots renumbered and last uses marked.

    Raises:
        VerifyError: a pass broke the program; the text names it. Only where `config.verify` is on.
    """
    if config.verify:
        verify(program)
    settled: dict[str, ExecProgram] = {}
    for each in passes:
        if type(each) is ContractionLayout and options.layout_costs != CPU:
            each = ContractionLayout(options.layout_costs)
        if getattr(options, each.name, True) and settled.get(each.name) is not program:
            program = settled[each.name] = _run(each, program)
    program = with_last_use(renumber(program))
    if config.verify:
        verify(program)
    if "exec" in config.dump:
        sys.stderr.write(f"{program}\n")
    return program


def compile_program(
    program: CompiledProgram[StdTensorOp],
    input_metas: Sequence[TensorMeta],
    options: OptimizerOptions = DEFAULT_OPTIONS,
    families: Container[str] | None = None,
) -> ExecProgram:
    """Lower a compiled program and optimize it."""
    return optimize(compile_std_to_exec(program, input_metas, families), options)


def _run(each: Pass, program: ExecProgram) -> ExecProgram:
    start = time.perf_counter()
    try:
        result = each.run(program)
    except TenferroError as error:
        error.add_note(f"raised in pass '{each.name}'")
        raise
    milliseconds = (time.perf_counter() - start) * 1e3
    if "passes" in config.dump:
        sys.stderr.write(_report(each.name, program, result, milliseconds))
    if config.verify and result is not program:
        verify(result, after=each.name)
        _verify_interface(program, result, each.name)
    return result


def _verify_interface(before: ExecProgram, after: ExecProgram, name: str) -> None:
    """A pass keeps what a caller sees: the types of inputs and outputs, guarantees included."""
    for what, old, new in (
        ("input", before.input_metas, after.input_metas),
        ("output", before.output_metas, after.output_metas),
    ):
        if old != new:
            types = [", ".join(str(meta) for meta in metas) for metas in (old, new)]
            raise VerifyError(
                f"after pass '{name}': {what} types are {types[1]}, but were {types[0]}"
            )


def _report(name: str, before: ExecProgram, after: ExecProgram, milliseconds: float) -> str:
    """What a pass did, as a unified diff of the text."""
    title = f"# pass {name}: {milliseconds:.3f} ms, {len(before.instructions)} instructions"
    if after is before:
        return f"{title}, unchanged\n"
    diff = difflib.unified_diff(
        str(before).splitlines(), str(after).splitlines(), "before", "after", lineterm=""
    )
    return "\n".join([f"{title} -> {len(after.instructions)}", *diff, ""])
