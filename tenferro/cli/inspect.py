"""`tenferro inspect`: the stages of a traced function, as text and as a page."""

from __future__ import annotations

import argparse
import re
import time
import tokenize
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal, Protocol

from tenferro.cli.function import (
    TracedCommandFunction,
    load_function,
    load_packages,
    one_line,
    sizes_by_name,
    specs_of,
    trace,
)
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
from tenferro.errors import CommandError, TenferroError, counted
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
        packages: families that it may hold, in addition to tenferro's own.
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
    ops, reached = view.topo_order(outputs)
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder()
    for declared in dict.fromkeys([*inputs, *reached]):
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
    """The StableHLO of a program, its symbols bound to `sizes`.

    `observe` gets a report of each pass. `packages` are the families that it may hold, in addition
    to tenferro's own.

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
    return Stage(title, note, text, figures=counted(count, "op"), program=program)


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


# Texts of fragments and programs as HTML, where each value links to the line that makes it.

Address = Callable[[str, str], str | None]
"""The address of a line of a file in the page, if the page has it."""

_VALUE = re.compile(r"%\d+")
_HEADER = re.compile(r"^\s*[\w\[\]]+\(.*\) \{$")


def listing(text: str, anchor: str, address: Address) -> str:
    """The text of a fragment, graph or program.

    A value has an id where it is made, and links there where it is used. Values of a nested program
    have numbers of their own. A comment that names a line of the source links to it.

    Args:
        text: what is printed.
        anchor: the beginning of all ids.
        address: of lines of the source.
    """
    programs = [("", f"{anchor}-1")]  # the indent of each program around a line, and its ids
    count = 0
    shown = []
    for line in text.rstrip().split("\n"):
        code, mark, site = line.partition("  # ")
        indent = code[: len(code) - len(code.lstrip())]
        if _HEADER.match(code):
            count += 1
            programs.append((indent, f"{anchor}-{count}"))  # a comment may stand before the first
            makes = len(code)
        else:
            makes = code.find(" = ") if code.lstrip().startswith("%") else 0
        ids = programs[-1][1]
        shown.append(_linked(code, makes, ids) + (_site(site, address) if mark else ""))
        if code == indent + "}" and indent == programs[-1][0] and len(programs) > 1:
            programs.pop()
    return "\n".join(shown)


def difference(text: str) -> str:
    """The lines that a pass changed: those that it added and removed are marked."""
    kinds = {"+": "added", "-": "removed"}
    lines = [(kinds.get(line[:1]), escape(line)) for line in text.rstrip().split("\n")]
    return "\n".join(
        line if kind is None else f'<span class="{kind}">{line}</span>' for kind, line in lines
    )


def source_listing(text: str, anchor: str) -> str:
    """The lines of a file, with their numbers and an id each."""
    lines = text.rstrip().split("\n")
    width = len(str(len(lines)))
    return "\n".join(
        f'<span id="{anchor}{number}"><span class="site">{number:>{width}}</span>  {escape(line)}'
        "</span>"
        for number, line in enumerate(lines, 1)
    )


def _linked(code: str, makes: int, ids: str) -> str:
    """Code in which values before the position `makes` are made, and others are used."""
    parts = []
    end = 0
    for match in _VALUE.finditer(code):
        parts += [escape(code[end : match.start()]), _value(match, match.start() < makes, ids)]
        end = match.end()
    return "".join(parts) + escape(code[end:])


def _value(match: re.Match[str], is_made: bool, ids: str) -> str:
    name = f"{ids}-{match[0][1:]}"
    if is_made:
        return f'<b id="{name}" data-value="{name}">{match[0]}</b>'
    return f'<a href="#{name}" data-value="{name}">{match[0]}</a>'


def _site(site: str, address: Address) -> str:
    file, _, line = site.rpartition(":")
    where = address(file, line)
    text = escape(site)
    linked = text if where is None else f'<a href="{where}">{text}</a>'
    return f'<span class="site">  # {linked}</span>'


# The graph of a program as an SVG drawing: operands above the ops that read them.

MOST = 150
"""Instructions of the largest program that is drawn."""

_WIDTH, _HEIGHT = 132, 46
_BOX = 112, 26


@dataclass(frozen=True, slots=True)
class _Node:
    """An input, an instruction, or an output."""

    kind: str
    label: str
    hint: str
    slots: tuple[int, ...]
    operands: tuple[int, ...]


def drawing(program: ExecProgram, anchor: str) -> str | None:
    """The drawing; None for a program that is too large to be drawn.

    Args:
        program: what is drawn; programs inside ops are not.
        anchor: the beginning of the ids of its values, which nodes link to.
    """
    if len(program.instructions) > MOST:
        return None
    nodes = _nodes(program)
    rows = _rows(nodes)
    maker = {slot: number for number, node in enumerate(nodes) for slot in node.slots}
    width = max(len(row) for row in rows) * _WIDTH
    middle = {
        number: ((place + 0.5) * width / len(row), (layer + 0.5) * _HEIGHT)
        for layer, row in enumerate(rows)
        for place, number in enumerate(row)
    }
    edges = [
        _edge(middle[maker[slot]], middle[number])
        for number, node in enumerate(nodes)
        for slot in dict.fromkeys(node.operands)
        if slot in maker
    ]
    boxes = [_box(node, middle[number], anchor) for number, node in enumerate(nodes)]
    style = f"min-width: {min(width, 900)}px; max-width: {width}px"
    size = f'viewBox="0 0 {width} {len(rows) * _HEIGHT}" style="{style}"'
    return f'<svg {size} role="img">{"".join(edges)}{"".join(boxes)}</svg>'


def _nodes(program: ExecProgram) -> list[_Node]:
    metas = program.slot_metas()
    nodes = [
        _Node("input", f"%{slot}", str(metas[slot]), (slot,), ()) for slot in program.input_slots
    ]
    for step in program.instructions:
        types = ", ".join(str(metas[slot]) for slot in step.output_slots)
        hint = f"{types} = {step.op}"
        nodes.append(_Node("op", step.op.name, hint, step.output_slots, step.input_slots))
    nodes += [
        _Node("output", f"result {number}", str(metas[slot]), (), (slot,))
        for number, slot in enumerate(program.output_slots)
    ]
    return nodes


def _rows(nodes: list[_Node]) -> list[list[int]]:
    """Numbers of nodes by their longest way from an input; in each row near their operands."""
    depths = _depths(nodes)
    rows: list[list[int]] = [[] for _ in range(1 + max(depths))]
    for number, depth in enumerate(depths):
        rows[depth].append(number)
    place: dict[int, float] = {}
    for row in rows:
        wanted = {
            number: [place[slot] for slot in nodes[number].operands if slot in place]
            for number in row
        }
        row.sort(key=lambda number: sum(wanted[number]) / max(len(wanted[number]), 1))
        for position, number in enumerate(row):
            place.update(dict.fromkeys(nodes[number].slots, (position + 0.5) / len(row)))
    return rows


def _depths(nodes: list[_Node]) -> list[int]:
    """One more than the deepest operand; an op without operands stands above its first reader."""
    depth: dict[int, int] = {}
    depths: list[int] = []
    for node in nodes:
        depths.append(1 + max((depth[slot] for slot in node.operands), default=-1))
        depth.update(dict.fromkeys(node.slots, depths[-1]))
    for number, node in enumerate(nodes):
        if node.kind == "op" and not node.operands:
            readers = [
                depths[reader]
                for reader, other in enumerate(nodes)
                if not set(node.slots).isdisjoint(other.operands)
            ]
            depths[number] = max(min(readers, default=1) - 1, 0)
    return depths


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    y1, y2 = y1 + _BOX[1] / 2, y2 - _BOX[1] / 2
    bend = (y2 - y1) / 2
    curve = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f}"
    return f'<path d="{curve} {x2:.0f} {y2:.0f}"/>'


def _box(node: _Node, middle: tuple[float, float], anchor: str) -> str:
    x, y = middle
    slots = node.slots or node.operands
    name = f"{anchor}-{slots[0]}"
    text = node.label if len(node.label) <= 16 else node.label[:15] + "…"
    rect = f'<rect x="{x - _BOX[0] / 2:.0f}" y="{y - _BOX[1] / 2:.0f}" rx="5"'
    return (
        f'<a href="#{name}" class="{node.kind}" data-value="{name}">'
        f"<title>{escape(node.hint)}</title>"
        f'{rect} width="{_BOX[0]}" height="{_BOX[1]}"/>'
        f'<text x="{x:.0f}" y="{y + 4:.0f}">{escape(text)}</text></a>'
    )


# The stages as one HTML page that needs nothing else.

STYLE = """
:root { color-scheme: light dark; --edge: #8884; --soft: #8882; --mark: #f5a62366; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; display: flex; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; min-width: 14rem;
      border-right: 1px solid var(--edge); box-sizing: border-box; }
nav a { display: block; padding: .2rem 0; text-decoration: none; color: inherit; }
nav a:hover { text-decoration: underline; }
nav small { opacity: .6; display: block; }
main { padding: 1rem 2rem; min-width: 0; flex: 1; }
h1 { font-size: 1.2rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 2rem 0 0; }
h1, pre, svg { font-family: ui-monospace, monospace; }
p { margin: 0 0 .4rem; opacity: .75; }
pre, .graph { margin: 0; padding: .8rem; overflow-x: auto; background: var(--soft);
      border: 1px solid var(--edge); border-radius: 6px; font-size: 13px; }
pre a { color: inherit; text-decoration: none; } pre a:hover { text-decoration: underline; }
pre b { font-weight: 600; } .same, :target { background: var(--mark); border-radius: 3px; }
.site { opacity: .55; } .added { color: #2a8c3c; } .removed { color: #c0392b; }
.graph { margin-top: .8rem; } svg { width: 100%; } svg text { text-anchor: middle; font-size: 12px;
      fill: currentColor; } svg path { fill: none; stroke: #8889; }
rect { fill: var(--soft); stroke: #888; } .input rect, .output rect { stroke: #2a8c3c; }
svg .same rect { fill: var(--mark); }
@media (max-width: 700px) { body { display: block; } main { padding: .6rem; }
  nav { position: static; height: auto; border: 0; border-bottom: 1px solid var(--edge); }
  nav a { display: inline-block; margin-right: .8rem; } nav small { display: none; }
  pre { font-size: 11px; } }
"""

SCRIPT = """
const same = (event, on) => {
  const name = event.target.closest("[data-value]")?.dataset.value;
  if (name) document.querySelectorAll(`[data-value="${name}"]`)
    .forEach((each) => each.classList.toggle("same", on));
};
document.addEventListener("mouseover", (event) => same(event, true));
document.addEventListener("mouseout", (event) => same(event, false));
"""
"""Marks a value wherever it stands while the pointer is on it."""


def page(title: str, stages: Sequence[Stage], file: str = "", source: str = "") -> str:
    """A page with one section for each stage, and one for the source.

    Args:
        title: of the page.
        stages: in order.
        file: the name of the file that the function is from.
        source: its text; empty if there is none.
    """

    def address(site: str, line: str) -> str | None:
        return f"#L{line}" if source and site == file and line.isdigit() else None

    links = "".join(
        f'<a href="#s{number}">{number}. {escape(stage.title)}<small>{escape(stage.figures)}'
        "</small></a>"
        for number, stage in enumerate(stages, 1)
    )
    sections = "".join(_section(f"s{i}", stage, address) for i, stage in enumerate(stages, 1))
    if source:
        links = f'<a href="#source">{escape(file)}</a>' + links
        text = source_listing(source, "L")
        sections = (
            f'<section id="source"><h2>{escape(file)}</h2><pre>{text}</pre></section>{sections}'
        )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><nav>{links}</nav><main><h1>{escape(title)}</h1>"
        f"{sections}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _section(anchor: str, stage: Stage, address: Address) -> str:
    match stage.kind:
        case "listing":
            text = listing(stage.text, anchor, address)
        case "difference":
            text = difference(stage.text)
        case "text":
            text = escape(stage.text.rstrip())
    figures = f" ({escape(stage.figures)})" if stage.figures else ""
    return (
        f'<section id="{anchor}"><h2>{anchor[1:]}. {escape(stage.title)}</h2>'
        f"<p>{escape(stage.note)}{figures}</p><pre>{text}</pre>{_graph(stage, anchor)}</section>"
    )


def _graph(stage: Stage, anchor: str) -> str:
    """The drawing of a program, whose values are those of the first program in the text."""
    drawn = None if stage.program is None else drawing(stage.program, f"{anchor}-1")
    return "" if drawn is None else f'<div class="graph">{drawn}</div>'


# `tenferro inspect`: every stage of a function, as text or as one page.


def inspect(arguments: argparse.Namespace) -> int:
    """Print all stages, or write them to a page."""
    packages = load_packages(arguments.packages)
    function = load_function(arguments.function, packages)
    traced = trace(function, specs_of(function, arguments.shapes, arguments.dtypes))
    stages = pipeline(traced, arguments.grad, packages).stages(sizes_by_name(arguments.sizes))
    if arguments.html is None:
        print("\n\n".join(as_text(stage) for stage in stages))
        return 0
    types = ", ".join(
        f"{name}: {tensor.meta}"
        for name, tensor in zip(function.parameters(len(traced.inputs)), traced.inputs, strict=True)
    )
    source = ""
    if function.specs is None:
        with tokenize.open(function.path) as opened:  # in the encoding that the file declares
            source = opened.read()
    shown = page(f"{function.name}({types})", stages, function.path.name, source)
    write(arguments.html, shown)
    print(f"wrote {arguments.html}")
    return 0


def as_text(stage: Stage) -> str:
    """A stage below its title."""
    return f"# {stage.title} -- {stage.note}\n{stage.text.rstrip()}"


def write(path: str, text: str) -> None:
    """Write a file.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
