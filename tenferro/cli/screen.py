"""The console on which commands draw tables."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console

_WIDTH = 80


class Screen(Console):
    """Standard output without colours for numbers; of the usual width where none is known."""

    def __init__(self) -> None:
        super().__init__(highlight=False)
        if not self.width:  # as where COLUMNS is 0
            self.width = _WIDTH

    def on_broken_pipe(self) -> NoReturn:
        """Leave it to `main`, as of all that commands print; rich would exit with code 1."""
        raise BrokenPipeError
