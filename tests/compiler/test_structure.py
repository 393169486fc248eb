"""The lines that reports have for loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro as tn
from tenferro.compiler import structure
from tenferro.compiler.report import MOST_LINES


def lines_of(function: Any, *args: Any) -> list[str]:
    return [*structure(tn.make_program(function, *args).exec_program)]


def nested(x: Any) -> Any:
    def step(c: Any, _: Any) -> Any:
        return tn.cond(c > 0, tn.sqrt, lambda c: c * c * 2.0, c), c

    total = tn.scan(step, x, length=7, unroll=2, checkpoints=2)[0]
    return tn.while_loop(lambda c: c > 1, lambda c: c / 2, total, max_steps=5)


def test_loops_and_branches_are_listed_with_their_lines() -> None:
    line = nested.__code__.co_firstlineno
    assert lines_of(nested, 2.0) == [
        "scan: 7 rounds of 4 instructions, 2 at once, checkpointed on 2 levels at "
        f"test_structure.py:{line + 4}",
        f"  switch: 3 instructions or 1 instruction at test_structure.py:{line + 2}",
        f"while: at most 5 rounds of 2 instructions at test_structure.py:{line + 5}",
    ]


def test_a_selection_of_vmap_is_said_once_with_the_line_of_the_choice() -> None:
    def both(x: Any) -> Any:
        return tn.cond(x > 0, lambda x: (x, tn.sqrt(x)), lambda x: (-x, x), x)

    def three(x: Any) -> Any:
        return tn.switch(tn.astype(x, "int32"), [tn.sin, tn.cos, lambda x: both(x)[1]], x)

    at = f"at test_structure.py:{both.__code__.co_firstlineno + 1}"
    assert lines_of(tn.vmap(both), np.ones(3)) == [f"both branches run (vmap) {at}"]
    assert lines_of(tn.vmap(tn.grad(lambda x: both(x)[1])), np.ones(3)) == [
        f"both branches run (vmap) {at}"
    ]
    below = f"at test_structure.py:{three.__code__.co_firstlineno + 1}"
    assert lines_of(tn.vmap(three), np.ones(3)) == [
        f"both branches run (vmap) {at}",
        f"all 3 branches run (vmap) {below}",
    ]


def test_branches_that_stay_are_not_said_to_run_both() -> None:
    def f(x: Any) -> Any:
        return tn.cond(x > 0, tn.sqrt, tn.negative, x)

    (loop, choice) = lines_of(lambda x: tn.map(f, x), np.ones(3))
    assert loop.startswith("scan: 3 rounds of")
    assert choice.startswith("  switch: 1 instruction or 1 instruction at")


def test_rounds_may_be_named_and_lines_are_bounded() -> None:
    (line,) = lines_of(
        lambda x: tn.scan(lambda c, y: (c * y + c, None), 0.5, x)[0], tn.TensorSpec(("n",))
    )
    assert line.startswith("scan: n rounds of 2 instructions at test_structure.py:")

    def many(x: Any) -> Any:
        for k in range(2, MOST_LINES + 4):
            x = tn.scan(lambda c, _: (tn.sin(c), None), x, length=k)[0]
        return x

    lines = lines_of(many, 1.0)
    assert (len(lines), lines[-1]) == (MOST_LINES + 1, "...")


def test_a_program_without_loops_has_no_lines() -> None:
    assert lines_of(lambda x: tn.where(x > 0, x, -x), np.ones(3)) == []


def test_the_passes_of_a_jacobian_are_said_once_with_the_line_of_the_waist() -> None:
    narrow = np.ones((1, 60))

    def f(x: Any) -> Any:
        y = narrow @ tn.cumsum(tn.sin(x))
        return tn.cumsum(tn.cos(narrow.T @ y)), y

    line = f.__code__.co_firstlineno + 1
    assert lines_of(tn.jacobian(f, mode="cross"), np.ones(60)) == [
        f"jacobian: reverse 1 | forward 1 (waist 1 at test_structure.py:{line})"
    ]
    assert lines_of(tn.jacobian(lambda x: x[1:] * x[:-1], sparsity="auto"), np.ones(60)) == [
        "jacobian: forward 2 by colours (118 of 3540 entries)"
    ]
