"""How far a call travels: distinct functions, modules, changes of room, depth.

Counts every Python call in tenferro and tenferro_xla with `sys.setprofile`, after lazy imports are
done. A room is a package directly below one of the two. `nox -s walks` fails where a walk is longer
than its budget; a shorter one is a reason to lower the budget.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import tenferro as tn
import tenferro_xla

ROOT = f"{Path(tn.__file__).parents[1]}/"


class Walk(NamedTuple):
    """What one call passes through."""

    functions: int
    modules: int
    changes: int
    depth: int


BUDGETS = {
    "jit_grad_first": Walk(442, 77, 505, 29),
    "jit_grad_later": Walk(2, 2, 1, 2),
    "sin_trace": Walk(118, 31, 58, 18),
    "sin_lower": Walk(73, 23, 48, 11),
    "sin_host": Walk(12, 6, 3, 5),
    "einsum_trace": Walk(257, 46, 178, 23),
    "einsum_lower": Walk(119, 29, 98, 13),
    "scan_trace": Walk(287, 40, 227, 26),
    "scan_lower": Walk(122, 27, 85, 18),
    "vmap_sin": Walk(249, 52, 152, 20),
    "grad_eigh_trace": Walk(414, 54, 515, 27),
}
"""The longest that each walk may be."""


def walk(call: Callable[[], object]) -> Walk:
    """The walk of one call."""
    events: list[tuple[str, str]] = []
    deepest = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        if event != "call" or not is_ours(frame):
            return
        depth, above = 0, frame
        while above is not None:
            depth += is_ours(above)
            above = above.f_back  # type: ignore[assignment]  # the loop ends at None
        deepest = max(deepest, depth)
        events.append((frame.f_code.co_filename.removeprefix(ROOT), frame.f_code.co_qualname))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    rooms = [room_of(module) for module, _ in events]
    changes = sum(a != b for a, b in pairwise(rooms))
    return Walk(len(set(events)), len({module for module, _ in events}), changes, deepest)


def is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(f"{ROOT}tenferro")


def room_of(module: str) -> str:
    return "/".join(module.split("/")[:2]) if module.count("/") > 1 else module


def f64(*shape: int) -> tn.TensorSpec:
    return tn.TensorSpec(shape, "float64")


def walks() -> dict[str, Walk]:
    """Each walk, after a first call of each kind."""
    x = np.ones(3)
    xla = tenferro_xla.XlaExecutor()
    tn.jit(tn.grad(lambda x: tn.sum(tn.cos(x))))(x)
    tn.jit(lambda a, b: tn.einsum("ij,jk->ik", a, b))(np.ones((2, 2)), np.ones((2, 2)))
    tn.scan(lambda c, _: (c + 1, c), 0.0, length=2)
    tn.linalg.eigh(np.eye(3))
    tn.grad(tn.linalg.det)(np.eye(3))
    tn.sin(tn.Tensor(x))
    gradient = tn.jit(tn.grad(lambda x: tn.sum(tn.sin(x) * x)))
    found = {"jit_grad_first": walk(lambda: gradient(x))}
    gradient(x)
    found["jit_grad_later"] = walk(lambda: gradient(x))
    programs: dict[str, tuple[Any, ...]] = {
        "sin": (tn.sin, f64(3)),
        "einsum": (
            lambda a, b, c: tn.einsum("ij,jk,kl->il", a, b, c),
            *(f64(3, 4), f64(4, 5), f64(5, 2)),
        ),
        "scan": (lambda c: tn.scan(lambda c, _: (tn.sin(c), c), c, length=5), f64()),
    }
    for name, of in programs.items():
        found[f"{name}_trace"] = walk(lambda of=of: tn.make_program(*of))  # type: ignore[misc]
        program = tn.make_program(*of)
        found[f"{name}_lower"] = walk(lambda p=program: xla.lower(p).stablehlo())  # type: ignore[misc]
    found["sin_host"] = walk(lambda: tn.sin(tn.Tensor(x)))
    found["vmap_sin"] = walk(lambda: tn.vmap(tn.sin)(x))
    slope = tn.grad(lambda m: tn.sum(tn.linalg.eigh(m)[0] ** 2))
    found["grad_eigh_trace"] = walk(lambda: tn.make_program(slope, f64(3, 3)))
    return found


def main() -> int:
    print(f"{'walk':16}{'functions':>12}{'modules':>10}{'changes':>10}{'depth':>8}")
    longer = []
    for name, found in walks().items():
        print(f"{name:16}{found.functions:12}{found.modules:10}{found.changes:10}{found.depth:8}")
        longer += [
            f"{name}: {now} {what}, budget {budget}"
            for what, now, budget in zip(Walk._fields, found, BUDGETS[name], strict=True)
            if now > budget
        ]
    print(*longer, sep="\n")
    return bool(longer)


if __name__ == "__main__":
    sys.exit(main())
