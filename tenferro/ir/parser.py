"""Reading an execution program back from its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tenferro.errors import ParseError, ShapeError, TenferroError, class_of, counted
from tenferro.ir.builder import with_named_sizes
from tenferro.ir.dims import dim
from tenferro.ir.dtypes import dtype_of_short_name
from tenferro.ir.op import ExecOp, fields_of_bodies
from tenferro.ir.payloads import parse_payload
from tenferro.ir.program import ExecInstruction, ExecProgram
from tenferro.ir.types import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound

__all__ = ["parse_exec"]

_HEADER = re.compile(r"(\w+(?:\[\d+\])?)\((.*)\)\s*\{$")
_TYPED = re.compile(r"%(\d+):\s*(\w+)\[([^\]]*)\]")
_LINE = re.compile(r"(?P<outputs>%\d+: .*?\](?=\s=\s)) = (?P<name>\w+)(?P<rest>.*)$")
_OPERAND = re.compile(r"%(\d+)(!?)$")
_SPARSEST = 1000
"""The most slots for each value: an executor allocates a place for each slot."""

Vocabulary = Mapping[str, Callable[..., ExecOp]]


@dataclass(slots=True)
class _Block:
    """A program whose lines are being read, and its instruction whose blocks are being read.

    Attributes:
        label: the word in front of its inputs.
        inputs: slot and type of each input.
        steps: the instructions so far.
        outputs: the returned slots, once they have been read.
        line: the line of an instruction that holds programs, until its last one has been read.
        bodies: the programs that it holds so far, by their label.
    """

    label: str
    inputs: list[tuple[int, TensorMeta]]
    steps: list[ExecInstruction] = field(default_factory=list)
    outputs: tuple[int, ...] | None = None
    line: str | None = None
    bodies: dict[str, ExecProgram] = field(default_factory=dict)


def parse_exec(text: str, vocabulary: Vocabulary) -> ExecProgram:
    """The program that `str(program)` printed. `vocabulary` maps op names to classes of ops.

    Raises:
        ParseError: a line is not in the notation, or names an op that is not in the vocabulary.
    """
    if not isinstance(text, str):
        raise ParseError(f"parse: takes the text of a program, got {class_of(text)}")
    lines = [line.strip() for line in text.strip().splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    header = _HEADER.match(lines[0]) if lines else None
    if header is None or header[1] != "exec_program":
        raise ParseError("parse: expected 'exec_program(...) {' in the first line")
    if len(lines) < 3 or lines[-1] != "}":
        raise ParseError("parse: expected '  return ...' and '}' at the end")
    stack = [_opened(header)]
    for line in lines[1:-1]:
        _read(line, stack, vocabulary)
    if len(stack) != 1:
        raise ParseError("parse: a block is not closed with '}'")
    return _closed(stack[0])


def _read(line: str, stack: list[_Block], vocabulary: Vocabulary) -> None:
    """Add one line to the innermost block."""
    block = stack[-1]
    header = _HEADER.match(line)
    if block.line is not None:
        if header is not None:
            stack.append(_opened(header))
        elif line == "}":
            block.steps.append(_instruction(block.line, vocabulary, block.bodies))
            block.line, block.bodies = None, {}
        else:
            raise ParseError(f"parse: expected a block such as 'body(...) {{', got {line!r}")
    elif line == "}" and len(stack) > 1:
        body = _closed(stack.pop())
        stack[-1].bodies[block.label] = body
    elif block.outputs is not None:
        raise ParseError(f"parse: {line!r} stands after the return")
    elif line.split()[0] == "return":
        block.outputs = tuple(int(number) for number in re.findall(r"%(\d+)", line))
    else:
        opened, _, site = line.partition("  # ")
        if opened.endswith(" {"):
            comment = f"  # {site}" if site else ""
            block.line = f"{opened.removesuffix(' {')}{comment}"
        else:
            block.steps.append(_instruction(line, vocabulary, {}))


def _opened(header: re.Match[str]) -> _Block:
    return _Block(header[1], [_typed(match) for match in _TYPED.finditer(header[2])])


def _closed(block: _Block) -> ExecProgram:
    """The program of a block that has been read."""
    if block.outputs is None:
        raise ParseError("parse: expected '  return ...' and '}' at the end")
    written = [slot for slot, _ in block.inputs]
    written += [slot for step in block.steps for slot in step.output_slots]
    n_slots = max(written, default=-1) + 1
    if n_slots > _SPARSEST * (len(written) + 1):
        raise ParseError(
            f"parse: slot %{n_slots - 1} in a program of {counted(len(written), 'value')}"
        )
    program = ExecProgram(
        tuple(block.steps),
        tuple(slot for slot, _ in block.inputs),
        tuple(meta for _, meta in block.inputs),
        block.outputs,
        n_slots,
    )
    return with_named_sizes(program)


def _typed(match: re.Match[str]) -> tuple[int, TensorMeta]:
    dtype = dtype_of_short_name(match[2])
    if dtype is None:
        raise ParseError(f"parse: unknown element type {match[2]!r} of %{match[1]}")
    sizes = [part for part in _split(match[3]) if part]
    return int(match[1]), TensorMeta(dtype, [_extent(size) for size in sizes])


def _extent(text: str) -> ShapeExtent:
    try:
        if text == "?":
            return Unknown()
        return UpperBound(dim(text[2:])) if text.startswith("<=") else Exact(dim(text))
    except ShapeError as error:
        raise ParseError(f"parse: {error}") from None


def _instruction(
    line: str, vocabulary: Vocabulary, bodies: Mapping[str, ExecProgram]
) -> ExecInstruction:
    body, _, site = line.partition("  # ")
    match = _LINE.match(body.rstrip())
    if match is None:
        raise ParseError(f"parse: not an instruction: {line!r}")
    outputs = [_typed(output) for output in _TYPED.finditer(match["outputs"])]
    fields, operands = _payload_and_operands(match["rest"], line)
    if match["name"] not in vocabulary:
        raise ParseError(f"parse: unknown op {match['name']!r} in {line!r}")
    try:
        op = vocabulary[match["name"]](**fields, **fields_of_bodies(bodies))
    except Exception as error:
        if isinstance(error, TenferroError) and not isinstance(error, TypeError):
            raise
        raise ParseError(f"parse: {match['name']}: {error}") from None
    matches = [_OPERAND.match(operand) for operand in _split(operands) if operand]
    if None in matches:
        raise ParseError(f"parse: expected operands such as '%1' or '%1!' in {line!r}")
    uses = [(int(item[1]), item[2] == "!") for item in matches if item is not None]
    return ExecInstruction(
        op,
        tuple(slot for slot, _ in uses),
        tuple(slot for slot, _ in outputs),
        tuple(meta for _, meta in outputs),
        tuple(last for _, last in uses),
        site or None,
    )


def _payload_and_operands(rest: str, line: str) -> tuple[dict[str, Any], str]:
    if not rest.startswith("["):
        return {}, rest.strip()
    depth = 0
    for position, character in enumerate(rest):
        depth += _nesting(character)
        if depth == 0:
            return _payload(rest[1:position], line), rest[position + 1 :].strip()
    raise ParseError(f"parse: unbalanced brackets in {line!r}")


def _payload(text: str, line: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"op({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        return {str(keyword.arg): parse_payload(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise ParseError(f"parse: cannot read the payload {text!r} of {line!r}") from None


def _nesting(character: str) -> int:
    """1 for an opening bracket, -1 for a closing one, 0 for any other character."""
    if character in "[(":
        return 1
    return -1 if character in "])" else 0


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += _nesting(character)
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]
