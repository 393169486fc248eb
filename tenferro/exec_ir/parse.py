"""Reading an execution program back from its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from tenferro.errors import ParseError, ShapeError
from tenferro.exec_ir.op import ExecOp
from tenferro.exec_ir.program import ExecInstruction, ExecProgram, with_named_sizes
from tenferro.shape import (
    Exact,
    ShapeExtent,
    TensorMeta,
    Unknown,
    UpperBound,
    dim,
    dim_of_ast,
    dtype_of_short_name,
)

_HEADER = re.compile(r"exec_program\((.*)\)\s*\{$")
_TYPED = re.compile(r"%(\d+):\s*(\w+)\[([^\]]*)\]")
_LINE = re.compile(r"(?P<outputs>%\d+: .*?\](?=\s=\s)) = (?P<name>\w+)(?P<rest>.*)$")
_OPERAND = re.compile(r"%(\d+)(!?)$")
_SPARSEST = 1000
"""Slots to a value, at most: an executor keeps a place for each slot."""

_SPECIAL = {
    "nan": float("nan"),
    "inf": float("inf"),
    "nanj": complex(0, float("nan")),
    "infj": complex(0, float("inf")),
}


def parse_exec(text: str, vocabulary: Mapping[str, Callable[..., ExecOp]]) -> ExecProgram:
    """The program that `str(program)` printed. `vocabulary` maps op names to classes of ops.

    Raises:
        ParseError: a line is not in the notation, or names an op that is not in the vocabulary.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    header = _HEADER.match(lines[0]) if lines else None
    if header is None:
        raise ParseError("parse: expected 'exec_program(...) {' in the first line")
    if len(lines) < 3 or lines[-1] != "}" or not lines[-2].startswith("return"):
        raise ParseError("parse: expected '  return ...' and '}' at the end")
    inputs = [_typed(match) for match in _TYPED.finditer(header[1])]
    instructions = tuple(_instruction(line, vocabulary) for line in lines[1:-2])
    outputs = tuple(int(number) for number in re.findall(r"%(\d+)", lines[-2]))
    written = [slot for slot, _ in inputs] + [
        slot for step in instructions for slot in step.output_slots
    ]
    n_slots = max(written, default=-1) + 1
    if n_slots > _SPARSEST * (len(written) + 1):
        raise ParseError(f"parse: slot %{n_slots - 1} in a program of {len(written)} values")
    program = ExecProgram(
        instructions,
        tuple(slot for slot, _ in inputs),
        tuple(meta for _, meta in inputs),
        outputs,
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


def _instruction(line: str, vocabulary: Mapping[str, Callable[..., ExecOp]]) -> ExecInstruction:
    body, _, site = line.partition("  # ")
    match = _LINE.match(body.rstrip())
    if match is None:
        raise ParseError(f"parse: not an instruction: {line!r}")
    outputs = [_typed(found) for found in _TYPED.finditer(match["outputs"])]
    fields, operands = _payload_and_operands(match["rest"], line)
    if match["name"] not in vocabulary:
        raise ParseError(f"parse: unknown op {match['name']!r} in {line!r}")
    try:
        op = vocabulary[match["name"]](**fields)
    except TypeError as error:
        raise ParseError(f"parse: {match['name']}: {error}") from None
    found = [_OPERAND.match(operand) for operand in _split(operands) if operand]
    if None in found:
        raise ParseError(f"parse: expected operands such as '%1' or '%1!' in {line!r}")
    uses = [(int(item[1]), item[2] == "!") for item in found if item is not None]
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
        depth += (character in "[(") - (character in "])")
        if depth == 0:
            return _payload(rest[1:position], line), rest[position + 1 :].strip()
    raise ParseError(f"parse: unbalanced brackets in {line!r}")


def _payload(text: str, line: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"op({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        return {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise ParseError(f"parse: cannot read the payload {text!r} of {line!r}") from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Name(id=name) if name in _SPECIAL:
            return _SPECIAL[name]
        case ast.Name(id=name) if dtype_of_short_name(name) is not None:
            return dtype_of_short_name(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if _is_complex(operand):
            return complex(0.0, -_value(operand).imag)  # repr prints no real part where it is +0
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=(ast.Add() | ast.Sub()) as sign, right=right) if _is_complex(
            right
        ):
            imaginary = _value(right).imag
            return complex(_real(left), imaginary if isinstance(sign, ast.Add) else -imaginary)
        case ast.Constant(value=value):
            return value
        case _:
            return dim_of_ast(node)


def _real(node: ast.expr) -> float:
    """The real part of a complex number as `repr` prints it: -0 is a float there."""
    if isinstance(node, ast.UnaryOp):
        return -float(_value(node.operand))
    return float(_value(node))


def _is_complex(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=complex()):
            return True
        case ast.Name(id="nanj" | "infj"):
            return True
        case _:
            return False


def _split(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]
