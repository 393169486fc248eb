"""XlaExecutor.explain: how often XLA compiled, and why it had to."""

import re

import numpy as np
import pytest

import tenferro as tn
from tenferro.core import Capacity
from tenferro.ops import SIN
from tenferro_xla import Change, CompileReport, XlaExecutor
from tenferro_xla.compiled import Subject
from tenferro_xla.compiled.compile_log import MOST_EVENTS, CompileLog


@pytest.fixture
def xla() -> XlaExecutor:
    return XlaExecutor("cpu")


def causes(report: CompileReport) -> list[str]:
    return [event.cause for event in report.events]


def test_another_size_names_the_symbol_and_both_sizes(xla: XlaExecutor) -> None:
    f = tn.jit(lambda x, y: x @ y, executor=xla, symbolic={"x": ("n", "k"), "y": ("k",)})
    for n, k in ((2, 3), (2, 4), (5, 4), (5, 4), (2, 3)):
        f(np.ones((n, k)), np.ones(k))
    report = xla.explain()
    assert causes(report) == ["first", "sizes", "sizes"]
    assert report.events[1].changes == (Change("k", "3", "4"),)
    assert report.events[2].changes == (Change("n", "2", "5"),)
    assert report.events[2].subject.sizes == (("k", 4), ("n", 5))
    assert (report.compiled, report.recompiled) == (3, 2)
    assert report.seconds == pytest.approx(sum(event.seconds for event in report.events))
    assert all(event.seconds > 0 for event in report.events)


def test_the_same_ops_traced_for_other_shapes_are_recognised(xla: XlaExecutor) -> None:
    f = tn.jit(lambda x: tn.sum(tn.sin(x) * x), executor=xla)
    f(np.ones(2))
    f(np.ones(3))
    f(np.ones(3, np.float32))
    report = xla.explain()
    assert causes(report) == ["first", "types", "types"]
    assert str(report.events[2].changes[0]) == "input 0 from f64[3] to f32[3]"
    assert "hint: programs with the same ops were traced for several sizes" in str(report)


def test_a_program_of_other_ops_is_new(xla: XlaExecutor) -> None:
    tn.jit(tn.sin, executor=xla)(np.ones(2))
    tn.jit(tn.cos, executor=xla)(np.ones(2))
    assert causes(xla.explain()) == ["first", "first"]


def test_what_was_dropped_is_compiled_again_and_said_to_be() -> None:
    xla = XlaExecutor("cpu", capacity=Capacity(entries=1))
    program = tn.make_program(lambda x: x * 2, tn.TensorSpec(("n",)))
    for n in (1, 2, 1):
        xla.run(program, {"x": np.ones(n)})
    report = xla.explain()
    assert causes(report) == ["first", "sizes", "dropped"]
    assert (report.stats.evictions, report.stats.entries, report.capacity.entries) == (2, 1, 1)
    assert "no longer in the cache" in str(report.events[2])
    assert "1 held of at most 1, found 0 times, 2 evicted" in str(report)


def test_a_donation_is_a_reason_of_its_own(xla: XlaExecutor) -> None:
    program = tn.make_program(lambda x: x * 2, tn.TensorSpec((3,))).exec_program
    xla.compile_exec(program)
    xla.compile_exec(program, donate=(0,))
    report = xla.explain()
    assert causes(report) == ["first", "donation"]
    assert "inputs from () to (0,), to be overwritten" in str(report)


def test_single_ops_are_listed_by_their_name(xla: XlaExecutor) -> None:
    for size in (2, 3):
        xla.run_op(SIN, xla.put(np.zeros(size)))
    first, second = xla.explain().events
    assert (first.subject.part, first.subject.label) == ("op", "sine")
    assert re.fullmatch(
        r"#2 \d\.\d{3} s  sine\(f64\[3\]\): input 0 from f64\[2\] to f64\[3\], in the same ops",
        str(second),
    )
    assert "hint" not in str(xla.explain())


def test_the_text_has_a_line_for_each_compilation(xla: XlaExecutor) -> None:
    assert str(xla.explain()).startswith("XlaExecutor('cpu:0'): compiled 0 times in 0.000 s")
    program = tn.make_program(lambda x: x * 2, tn.TensorSpec(("n",)))
    xla.lower(program, {"x": tn.TensorSpec((4,))}).compile()
    xla.run(program, {"x": np.ones(4)})
    (line,) = str(xla.explain()).splitlines()[2:]
    assert re.fullmatch(
        rf"  #1 \d\.\d{{3}} s  program {program.digest[:8]}\(f64\[4\]\), n = 4: first time", line
    )


def test_the_log_is_bounded_and_still_counts() -> None:
    log, xla = CompileLog(), XlaExecutor("cpu")
    for n in range(MOST_EVENTS + 5):
        log.record(Subject("d", "s", "program", "p", (("n", n),), (f"f64[{n}]",), ()), 0.5)
    report = log.report("mine", xla.stats(), xla.capacity)
    assert (report.compiled, report.recompiled) == (MOST_EVENTS + 5, MOST_EVENTS + 4)
    assert len(report.events) == MOST_EVENTS
    assert report.events[-1].changes == (Change("n", str(MOST_EVENTS + 3), str(MOST_EVENTS + 4)),)
    assert "the first 5 are no longer listed" in str(report)
    assert report.seconds == 0.5 * (MOST_EVENTS + 5)


def test_loops_and_branches_stand_below_what_was_compiled(xla: XlaExecutor) -> None:
    def step(c, x):
        return tn.cond(x > 0, tn.sqrt, tn.negative, c) + x, c

    def f(x):
        return tn.scan(step, 2.0, x)[0]

    tn.jit(tn.vmap(f), executor=xla)(np.ones((2, 7)))
    line = step.__code__.co_firstlineno
    title, loop, choice = str(xla.explain()).splitlines()[2:]
    assert title.endswith("first time")
    loop_text = r"    scan: 7 rounds of \d+ instructions at test_report.py:"
    assert re.fullmatch(rf"{loop_text}{line + 4}", loop)
    assert choice == f"      both branches run (vmap) at test_report.py:{line + 1}"
