"""Rounds: the body of a loop, prepared to run many times on NumPy arrays."""

from __future__ import annotations

from typing import Any

from tenferro.exec_ir import Array, ExecProgram, Steps


class Rounds(Steps):
    """A body whose first inputs are `consts` values for all rounds, and then `carry` values.

    Its first outputs are the next carry. A round drops the carry that it was given after the
    last step that reads it.
    """

    def __init__(self, body: ExecProgram, consts: int, carry: int) -> None:
        super().__init__(body, range(consts))
        self._from = body.output_slots[:carry]
        self._to = body.input_slots[consts : consts + carry]
        retained = self.retained.union(self._to)
        self._cleared = tuple([slot for slot in set(body.output_slots) if slot not in retained])

    def advance(self, values: list[Any]) -> None:
        """Put the carry that a round has returned in the place of the one that it was given."""
        if len(self._to) == 1:
            values[self._to[0]] = values[self._from[0]]
        else:
            for slot, value in zip(self._to, [values[i] for i in self._from], strict=True):
                values[slot] = value
        for slot in self._cleared:
            values[slot] = None

    def carry(self, values: list[Any]) -> list[Array]:
        """The carry that the next round would be given."""
        return [values[slot] for slot in self._to]
