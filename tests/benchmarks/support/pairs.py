"""One function compiled by tenferro and by JAX: equal results, and their times side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import Samples, interleaved, repeated, table, verdict

import tenferro as tn
from tenferro_xla import XlaExecutor

Function = Callable[..., Any]
Make = Callable[[Any, Any], Function]
"""Makes a function from a library and its module of arrays."""


class Pair:
    """One function compiled by both, on arrays of each; their results agree."""

    def __init__(self, make: Make, operands: tuple[Any, ...]) -> None:
        self.make, self.host = make, operands
        self.peers = jax.tree.map(jnp.asarray, operands)
        executor = XlaExecutor()
        self.operands = tn.jit(lambda *given: given, executor=executor)(*operands)
        self.compiled = tn.jit(make(tn, tn), executor=executor)
        self.peer = jax.jit(make(jax, jnp))
        pairs = zip(
            jax.tree.leaves(self.compiled(*self.operands)),
            jax.tree.leaves(self.peer(*self.peers)),
            strict=True,
        )
        for mine, other in pairs:
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)

    def run(self, rounds: int, calls: int) -> dict[str, Samples]:
        """Seconds for a call."""
        contenders = {
            "tenferro": repeated(lambda: wait(self.compiled(*self.operands)), calls),
            "jax": repeated(lambda: jax.block_until_ready(self.peer(*self.peers)), calls),
        }
        return interleaved(contenders, rounds)

    def first(self, rounds: int) -> dict[str, Samples]:
        """Seconds from the function to its first result."""

        def mine() -> object:
            jax.clear_caches()
            fresh = tn.jit(self.make(tn, tn), executor=XlaExecutor())
            return wait(fresh(*self.host))

        def other() -> object:
            jax.clear_caches()
            return jax.block_until_ready(jax.jit(self.make(jax, jnp))(*self.peers))

        contenders = {"tenferro": repeated(mine, 1), "jax": repeated(other, 1)}
        return interleaved(contenders, rounds)

    def instructions(self) -> int:
        program = self.compiled.program(*self.operands)  # type: ignore[attr-defined]
        return len(program.exec_program.instructions)


def wait(values: Any) -> object:
    """The arrays of a result, computed."""
    if isinstance(values, tuple):
        return jax.block_until_ready([value.data for value in values])
    return values.data.block_until_ready()


def compared(title: str, rows: dict[str, Pair], bound: float, first: float, how: Any) -> None:
    """Print a table of runs and first results, and whether the bounds are kept."""
    lines: list[list[object]] = []
    ratios: dict[str, tuple[float, float]] = {}
    for name, pair in rows.items():
        again, once = pair.run(how.rounds, how.calls), pair.first(how.first)
        ratios[name] = again["tenferro"].over(again["jax"]), once["tenferro"].over(once["jax"])
        lines.append(
            [name, again["tenferro"].text(), again["jax"].text(), f"{ratios[name][0]:.2f}",
             once["tenferro"].text(1e3, 0), once["jax"].text(1e3, 0), f"{ratios[name][1]:.2f}",
             pair.instructions()]
        )  # fmt: skip
    columns = [
        "", "tn µs [quartiles]", "jax µs [quartiles]", "ratio",
        "first: tn ms", "jax ms", "ratio", "instr.",
    ]  # fmt: skip
    table(title, columns, lines)
    for name, (again_ratio, first_ratio) in ratios.items():
        verdict(f"{name}, run", again_ratio, bound, 1.0)
        verdict(f"{name}, first result", first_ratio, first, 1.0)
