"""What users ask of a program: its loops and branches, and whether a random key is used twice.

These are queries: they change no program and keep no state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from tenferro.compiler.reroll.reroll import ROLLED
from tenferro.errors import KeyReuseError
from tenferro.ir import UINT32, ExecInstruction, ExecProgram, TensorMeta, run
from tenferro.ops import Select, Threefry2x32
from tenferro.ops.control_flow import BRANCHES_RUN, ControlOp

__all__ = ["JACOBIAN", "check_keys", "structure"]


# What a program has of loops and branches, line by line, for reports.

JACOBIAN = "jacobian: "
"""What the site of a product of Jacobians begins with; how they are computed follows."""

MOST_LINES = 16
"""The largest number of lines."""


def structure(program: ExecProgram) -> tuple[str, ...]:
    """A line for each loop and branch, those in a body indented below it; the first ones only.

    It says which loops were rolled, where `vmap` made a choice a selection among the results of
    all branches, and by which passes a Jacobian is computed.

    >>> from tenferro.compiler import parse
    >>> body = "body(%0: f64[], %1: f64[]) { \\n %2: f64[] = add %0, %1 \\n return %2 \\n }"
    >>> loop = "%1: f64[] = scan[consts=0, carry=1, length=5] %0, %2"
    >>> start = "exec_program(%0: f64[], %2: f64[5])"
    >>> structure(parse(f"{start} {{ \\n {loop} {{ \\n {body} \\n }} \\n return %1 \\n }}"))
    ('scan: 5 rounds of 1 instruction',)
    """
    lines: list[str] = []
    listed: set[str] = set()
    for step, depth in _steps(program):
        line = _line(step)
        if line is None or (line in listed and not isinstance(step.op, ControlOp)):
            continue  # one choice selects each of its results; a Jacobian may have several blocks
        listed.add(line)
        if len(lines) == MOST_LINES:
            return (*lines, "...")
        lines.append("  " * depth + line)
    return tuple(lines)


def _steps(program: ExecProgram) -> Iterator[tuple[ExecInstruction, int]]:
    """All instructions, each before those of its bodies, and how deep they stand.

    Bodies that several ops hold come once.
    """
    visited: set[int] = set()
    stack = [(iter(program.instructions), 0)]
    while stack:
        steps, depth = stack[-1]
        step = next(steps, None)
        if step is None:
            stack.pop()
            continue
        yield step, depth
        bodies = [cast(ExecProgram, body) for body in step.op.bodies.values()]
        for body in reversed(bodies if isinstance(step.op, ControlOp) else []):
            if id(body) not in visited:
                visited.add(id(body))
                stack.append((iter(body.instructions), depth + 1))


def _line(step: ExecInstruction) -> str | None:
    """What a report says of an instruction; None for nothing."""
    op, site = step.op, step.site or ""
    if site.startswith(JACOBIAN):
        return site
    if BRANCHES_RUN in site:
        return site if type(op) is Select else None
    if not isinstance(op, ControlOp):
        return None
    if site.startswith(ROLLED):
        return site
    return f"{op.in_words()} at {site}" if site else op.in_words()


# Whether a program draws twice from one random key.
#
# Each word of a key is given a number, where it is made; ops that only move words move the numbers.
# A draw reads pairs of numbers. Derivatives repeat the loops and branches that they go through, so
# the same draw of the same line counts once: it gives the same numbers.

_Words = np.ndarray[Any, Any] | None
"""The numbers of the words of a value; None if they are not followed."""
_Pair = tuple[int, int]

UNKNOWN = "a line that is not known"
_MOST = 1 << 16
"""The largest number of words of one value that are followed."""


class _Draw(NamedTuple):
    """What tells draws apart: where one stands in the user's program, and what it is."""

    site: str | None
    op: Threefry2x32
    metas: tuple[TensorMeta, ...]

    @property
    def line(self) -> str:
        return self.site or UNKNOWN


def check_keys(program: ExecProgram) -> None:
    """Check that no key is drawn from twice, in the bodies of loops and branches neither.

    Raises:
        KeyReuseError: one is; the text names both lines.
    """
    walk = _Walk(itertools.count())
    walk.over(program, [walk.new(meta) for meta in program.input_metas])


class _Walk:
    """A walk over one program; `reads` has the draw for each key that was drawn from."""

    def __init__(self, numbers: itertools.count[int]) -> None:
        self._numbers = numbers
        self.reads: dict[_Pair, _Draw] = {}

    def new(self, meta: TensorMeta) -> _Words:
        """New numbers for the words of a value, if it may hold keys."""
        shape = meta.static_shape
        if meta.dtype != UINT32 or shape is None or int(np.prod(shape)) > _MOST:
            return None
        count = int(np.prod(shape))
        return np.array([next(self._numbers) for _ in range(count)], np.int64).reshape(shape)

    def over(self, program: ExecProgram, inputs: Sequence[_Words]) -> list[_Words]:
        return run(program, inputs, self._step)

    def _step(self, step: ExecInstruction, operands: list[_Words]) -> Sequence[_Words]:
        match step.op:
            case Threefry2x32(purpose=purpose) as op:
                if purpose != "fold_in":
                    draw = _Draw(step.site, op, step.output_metas)
                    self._add(_pairs(operands[0], operands[1]), draw)
            case ControlOp(is_loop=True) as op:
                self._loop(step, op, operands)
            case ControlOp() as op:
                self._branches(op, operands)
            case op if op.moves and not any(words is None for words in operands):
                if op.repeats or int(np.prod(step.output_metas[0].static_shape or ())) <= _MOST:
                    return _moved(step, operands)
        return [self.new(meta) for meta in step.output_metas]

    def _add(self, pairs: Iterable[_Pair], draw: _Draw) -> None:
        for pair in pairs:
            before = self.reads.setdefault(pair, draw)
            if before != draw:
                raise KeyReuseError(
                    f"random: the key drawn from at {before.line} is drawn from again at "
                    f"{draw.line}; make several keys of it with tn.random.split"
                )

    def _branches(self, op: ControlOp, operands: list[_Words]) -> None:
        """One of the branches runs, so that all may draw from one key."""
        reads: dict[_Pair, _Draw] = {}
        for label, places in op.const_places.items():
            walk = _Walk(self._numbers)
            walk.over(_body(op, label), [operands[place] for place in places])
            reads.update(walk.reads)
        for pair, draw in reads.items():
            self._add([pair], draw)

    def _loop(self, step: ExecInstruction, op: ControlOp, operands: list[_Words]) -> None:
        """A body may not draw from a key that is the same in each iteration."""
        for label, consts in op.const_places.items():
            body = _body(op, label)
            fixed = [operands[place] for place in consts]
            walk = _Walk(self._numbers)
            own = [walk.new(meta) for meta in body.input_metas[len(fixed) :]]
            outputs = walk.over(body, [*fixed, *own])
            known = {int(number) for words in fixed if words is not None for number in words.flat}
            known |= _unchanged(own, outputs)
            origins = operands[len(operands) - len(own) :]
            for pair, draw in walk.reads.items():
                if pair[0] in known and getattr(op, "length", 2) != 1:
                    raise KeyReuseError(
                        f"random: the key drawn from at {draw.line} is the same in each round of "
                        f"the {op.name} at {step.site or UNKNOWN}; carry a key and split it, or "
                        "scan over tn.random.split(key, n)"
                    )
                self._add(_of_origins(pair, own, origins), draw)


def _body(op: ControlOp, label: str) -> ExecProgram:
    return cast(ExecProgram, op.bodies[label])


def _unchanged(own: Sequence[_Words], outputs: Sequence[_Words]) -> set[int]:
    """The numbers of carried words that an iteration returns as they are."""
    unchanged: set[int] = set()
    for before, after in zip(own, outputs, strict=False):
        if before is not None and after is not None and before.shape == after.shape:
            unchanged |= {int(number) for number in before[before == after]}
    return unchanged


def _of_origins(pair: _Pair, own: Sequence[_Words], origins: Sequence[_Words]) -> list[_Pair]:
    """The keys outside of a loop that a pair of words of its body stands for."""
    for words, origin in zip(own, origins, strict=True):
        if words is None or origin is None or pair[0] not in words:
            continue
        places = [np.flatnonzero(words.reshape(-1) == number) for number in pair]
        if any(place.size == 0 for place in places):
            return [pair]
        entries = origin.reshape(-1, words.size)
        first, second = (entries[:, place[0]] for place in places)
        return [(int(one), int(two)) for one, two in zip(first, second, strict=True)]
    return [pair]


def _pairs(first: _Words, second: _Words) -> set[_Pair]:
    """The keys that two words are read of, where they are repeated once."""
    if first is None or second is None or not first.size:
        return set()
    once = tuple(
        0 if one == two == 0 else slice(None)
        for one, two in zip(first.strides, second.strides, strict=True)
    )
    left, right = first[once].reshape(-1), second[once].reshape(-1)
    if left.size > _MOST:
        return set()
    return {(int(one), int(two)) for one, two in zip(left, right, strict=True)}


def _moved(step: ExecInstruction, operands: Sequence[_Words]) -> Sequence[_Words]:
    if step.output_metas[0].static_shape is None:
        return operands[:1] if step.op.repeats else (None,) * len(step.output_metas)
    return step.op.evaluate([words for words in operands if words is not None])
