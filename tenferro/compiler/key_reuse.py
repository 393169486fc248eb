"""Whether a program draws twice from one random key.

Each word of a key is given a number, where it is made; ops that only move words move the numbers. A
draw reads pairs of numbers. Derivatives repeat the loops and branches that they go through, so the
same draw of the same line counts once: it gives the same numbers. This is a query: it changes no
program and keeps no state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from tenferro.errors import KeyReuseError
from tenferro.ir import UINT32, ExecInstruction, ExecProgram, TensorMeta, run
from tenferro.ops import Threefry2x32
from tenferro.ops.control_flow import ControlOp

__all__ = ["check_keys"]

_Words = np.ndarray[Any, Any] | None
"""The numbers of the words of a value; None if they are not followed."""
_Pair = tuple[int, int]

_MOST = 1 << 16
"""The largest number of words of one value that are followed."""


class _Draw(NamedTuple):
    """What tells draws apart: where one stands in the user's program, and what it is."""

    site: str | None
    op: Threefry2x32
    metas: tuple[TensorMeta, ...]

    @property
    def line(self) -> str:
        """The line, for errors."""
        return _line(self.site)


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
        """The words of the outputs, for those of the inputs."""
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
        """A body may not draw from a key that is the same in each round."""
        for label, consts in op.const_places.items():
            body = _body(op, label)
            fixed = [operands[place] for place in consts]
            walk = _Walk(self._numbers)
            own = [walk.new(meta) for meta in body.input_metas[len(fixed) :]]
            outputs = walk.over(body, [*fixed, *own])
            known = {int(number) for words in fixed if words is not None for number in words.flat}
            known |= _kept(own, outputs)
            origins = operands[len(operands) - len(own) :]
            for pair, draw in walk.reads.items():
                if pair[0] in known and getattr(op, "length", 2) != 1:
                    raise KeyReuseError(
                        f"random: the key drawn from at {draw.line} is the same in each round of "
                        f"the {op.name} at {_line(step.site)}; carry a key and split it, or scan "
                        "over tn.random.split(key, n)"
                    )
                self._add(_of_origins(pair, own, origins), draw)


def _body(op: ControlOp, label: str) -> ExecProgram:
    return cast(ExecProgram, op.bodies[label])


def _kept(own: Sequence[_Words], outputs: Sequence[_Words]) -> set[int]:
    """The numbers of carried words that a round returns as they are."""
    kept: set[int] = set()
    for before, after in zip(own, outputs, strict=False):
        if before is not None and after is not None and before.shape == after.shape:
            kept |= {int(number) for number in before[before == after]}
    return kept


def _of_origins(pair: _Pair, own: Sequence[_Words], origins: Sequence[_Words]) -> list[_Pair]:
    """The keys outside of a loop that a pair of words of its body stands for."""
    for words, origin in zip(own, origins, strict=True):
        if words is None or origin is None or pair[0] not in words:
            continue
        places = [np.flatnonzero(words.reshape(-1) == number) for number in pair]
        if any(place.size == 0 for place in places):
            return [pair]
        rounds = origin.reshape(-1, words.size)
        first, second = (rounds[:, place[0]] for place in places)
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
    """The numbers, moved as the words are."""
    if step.output_metas[0].static_shape is None:
        return operands[:1] if step.op.repeats else (None,) * len(step.output_metas)
    return step.op.evaluate([words for words in operands if words is not None])


def _line(site: str | None) -> str:
    return site or "a line that is not known"
