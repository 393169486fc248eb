"""The stages of a traced function, from what was written to what XLA is given."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tenferro.cli.function import TracedCommandFunction, one_line
from tenferro.compiler import Observer, PassReport, compile_std_to_exec, optimize, structure
from tenferro.core import (
    Fragment,
    FragmentBuilder,
    GlobalValKey,
    Input,
    LinearFragment,
    MaterializedGraph,
    ResolvedView,
    compile_graph,
    differentiate,
    materialize_merge,
    resolve,
    resolve_keys,
    transpose,
)
from tenferro.errors import CommandError, TenferroError
from tenferro.ir import ExecProgram, TensorMeta, TensorSpec, is_inexact
from tenferro.ops import StdTensorOp, shape_context
from tenferro.ops.extension import Package
from tenferro.runtime import GraphProgram, executor_named, with_packages
from tenferro.transforms import AdContext, GraphCompiler


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage for a reader.

    Attributes:
        title: its name.
        note: one line on what it is.
        text: what is printed.
        kind: what the text is: `"listing"` of values, a `"difference"`, or other `"text"`.
        figures: counts and times, where there are some.
        program: the program that the text prints, if it prints one.
    """

    title: str
    note: str
    text: str
    kind: Literal["listing", "difference", "text"] = "listing"
    figures: str = ""
    program: ExecProgram | None = None


@dataclass(frozen=True, slots=True)
class DerivativeStages:
    """The linear fragment of a function, and its transpose."""

    linear: LinearFragment[StdTensorOp]
    reverse: LinearFragment[StdTensorOp]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """All stages of one function, as objects.

    Attributes:
        primal: what was recorded.
        derivative: linearized and transposed, if a gradient was asked for.
        graph: everything in one graph; outputs are the function's, then the cotangents.
        unoptimized: the graph lowered, before any pass.
        passes: what each canonical pass did that changed the program.
        program: the canonical program, which executors take.
        packages: families that it may hold, beside those that come with tenferro.
    """

    primal: Fragment[StdTensorOp]
    derivative: DerivativeStages | None
    graph: MaterializedGraph
    unoptimized: ExecProgram
    passes: tuple[PassReport, ...]
    program: GraphProgram
    packages: tuple[Package, ...] = ()

    def stages(self, sizes: Mapping[str, int]) -> list[Stage]:
        """The stages as text, StableHLO last; `sizes` are those of symbols."""
        stages = [_listed("fragment", "what was recorded, op by op", self.primal)]
        if self.derivative is not None:
            stages += [
                _listed(
                    "linear fragment",
                    "differentiate: tangents d(x) flow forward; @ refers to values of the fragment",
                    self.derivative.linear,
                ),
                _listed(
                    "transposed fragment",
                    "transpose: the same reversed; ct is the cotangent of the result, 1 in tn.grad",
                    self.derivative.reverse,
                ),
            ]
        program = self.program.exec_program
        stages += [
            _listed("graph", "materialize_merge: one graph, equal values once", self.graph),
            _listed(
                "program before passes",
                "compile_std_to_exec: every slot has its type",
                self.unoptimized,
            ),
            *(_stage_of(report) for report in self.passes),
            _listed("program", "what executors take; ! marks a last use", self.program, program),
        ]
        lines = structure(program)
        if lines:
            note, text = "what the program holds", "\n".join(lines)
            stages.append(Stage("loops and branches", note, text, "text"))
        return [*stages, *self._lowered(sizes)]

    def _lowered(self, sizes: Mapping[str, int]) -> list[Stage]:
        """What the passes for the device changed, and what XLA is given."""
        reports: list[PassReport] = []
        start = time.perf_counter()
        try:
            text = stablehlo(self.program, sizes, reports.append, self.packages)
        except TenferroError as error:
            text = f"not made: {one_line(error)}"
        figures = f"{1000 * (time.perf_counter() - start):.0f} ms, with the import of XLA"
        stages = [_stage_of(report) for report in reports if report.changed]
        return [*stages, Stage("StableHLO", "what XLA is given", text, "text", figures)]


def pipeline(
    traced: TracedCommandFunction, grad: bool, packages: Sequence[Package] = ()
) -> Pipeline:
    """Take a traced function through every stage.

    Raises:
        CommandError: there is nothing to differentiate, or to differentiate by.
    """
    outputs = [tensor.key for tensor in traced.outputs]
    inputs = [tensor.key for tensor in traced.inputs if isinstance(tensor.key, Input)]
    primal = fragment_of(outputs, inputs)
    derivative = _derivative(traced, primal, packages) if grad else None
    roots = [primal]
    if derivative is not None:
        roots.append(derivative.reverse.fragment)
        outputs += [key for key in derivative.reverse.output_keys if key is not None]
    graph = materialize_merge(resolve(roots), outputs, inputs)
    shapes = shape_context()
    metas = [shapes.meta(key) for key in graph.inputs]
    unoptimized = compile_std_to_exec(compile_graph(graph), metas)
    reports: list[PassReport] = []
    optimize(unoptimized, observe=reports.append)
    return Pipeline(
        primal,
        derivative,
        graph,
        unoptimized,
        tuple(report for report in reports if report.changed),
        GraphCompiler(capacity=1).compile_keys(graph.outputs, graph.inputs),
        tuple(packages),
    )


def fragment_of(outputs: Sequence[GlobalValKey], inputs: Sequence[Input]) -> Fragment[StdTensorOp]:
    """One fragment of everything that `outputs` need; `inputs` first, reached or not."""
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, met = view.topo_order(outputs)
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    for declared in dict.fromkeys([*inputs, *met]):
        builder.input(declared.key)
    for op in ops:
        primitive: Any = op.primitive
        builder.add(primitive, op.inputs, op.mode)
    return builder.build(outputs)


class LowersToStableHlo(Protocol):
    """An executor that shows what it gives to XLA."""

    def lower(
        self,
        program: GraphProgram,
        specs: Mapping[Any, Any] | None = None,
        observe: Observer | None = None,
    ) -> Any:
        """The program for the given types; it has a method `stablehlo()`."""


def stablehlo(
    program: GraphProgram,
    sizes: Mapping[str, int],
    observe: Observer | None = None,
    packages: Sequence[Package] = (),
) -> str:
    """The StableHLO of a program, its symbols bound to `sizes`; `observe` is told of each pass.

    `packages` are the families that it may hold, beside those that come with tenferro.

    Raises:
        CommandError: a symbol has no size, or there is no such symbol.
        ExecutorError: there is no XLA executor.
    """
    symbols = sorted(str(leaf) for leaf in program.exec_program.symbols())
    for name in sizes:
        if name not in symbols:
            raise CommandError(f"no shape mentions the size {name}")
    for name in symbols:
        if name not in sizes:
            raise CommandError(f"StableHLO needs the size {name}; give it with --size {name}=4")
    executor: Any = with_packages(executor_named("xla"), packages)
    lowering: LowersToStableHlo = executor
    specs = {
        declared.name: spec
        for declared in program.inputs
        if (spec := _sized(declared.meta, sizes)) is not None
    }
    text: str = lowering.lower(program, specs, observe).stablehlo()
    return text


def _derivative(
    traced: TracedCommandFunction, primal: Fragment[StdTensorOp], packages: Sequence[Package]
) -> DerivativeStages:
    wrt = [tensor.key for tensor in traced.inputs if is_inexact(tensor.meta.dtype)]
    if not wrt:
        raise CommandError(
            f"{traced.name} has no floating-point or complex argument to differentiate by"
        )
    ctx = AdContext(packages=packages).shapes
    outputs = [tensor.key for tensor in traced.outputs]
    linear = differentiate(resolve([primal]), outputs, wrt, ctx=ctx)
    if all(key is None for key in linear.output_keys):
        raise CommandError(f"no result of {traced.name} depends smoothly on its arguments")
    return DerivativeStages(linear, transpose(linear, ctx=ctx))


def _listed(title: str, note: str, value: object, program: ExecProgram | None = None) -> Stage:
    """A stage of values, one on each line."""
    text = str(value)
    count = sum(line.lstrip().startswith("%") for line in text.splitlines())
    return Stage(title, note, text, figures=f"{count} ops", program=program)


def _stage_of(report: PassReport) -> Stage:
    """The lines that a pass changed."""
    lines = str(report).splitlines()[1:]
    shown = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    counts = " → ".join(str(len(each.instructions)) for each in (report.before, report.after))
    figures = f"{counts} instructions, {report.milliseconds:.2f} ms"
    text = "\n".join(shown)
    return Stage(f"pass {report.name}", "what it changed", text, "difference", figures)


def _sized(meta: TensorMeta, sizes: Mapping[str, int]) -> TensorSpec | None:
    """The type with the sizes that are known; None where it is constant or stays symbolic."""
    if meta.static_shape is not None:
        return None
    bound = meta.bind({leaf: sizes[str(leaf)] for leaf in meta.symbols() if str(leaf) in sizes})
    return None if bound.static_shape is None else TensorSpec(bound.static_shape, bound.dtype)
