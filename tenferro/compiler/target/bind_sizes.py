"""Symbols replaced by their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import ExecProgram
from tenferro.shape import Dim, Leaf


@dataclass(frozen=True)
class BindSizes(Pass):
    """Gives the symbols of a program their sizes; all types are inferred again.

    Attributes:
        sizes: symbols and their sizes.
    """

    sizes: tuple[tuple[Leaf, Dim], ...] = ()

    name = "bind_sizes"
    refuses = True
    enters_bodies = False  # binding a program binds those inside it
    keeps_types = False

    @classmethod
    def of(cls, sizes: Mapping[Leaf, Dim] | None) -> BindSizes:
        """The pass for the sizes of a mapping."""
        return cls(tuple((sizes or {}).items()))

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program for these sizes."""
        return program.bind(dict(self.sizes))
