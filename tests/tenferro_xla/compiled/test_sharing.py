"""Sizes share executables without being asked: where it is safe, and costs little."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import resolve_sizes
from tenferro.errors import ConfigError, PadSafetyError, ShapeError
from tenferro_xla import XlaExecutor
from tenferro_xla.compiled import cache
from tenferro_xla.compiled.derived_executables import EXACT, SizeSharing

SIZES = (2, 3, 5, 6, 9, 10, 12, 17)


def centred(x: Any) -> Any:
    y = tn.tanh(x - tn.mean(x, axis=0)) * x
    y = tn.exp(y - tn.max(y, axis=0))
    return tn.sum(y / tn.sum(y, axis=0) * tn.cos(x), axis=0)


def compiled(executor: XlaExecutor) -> list[tuple[str, int]]:
    subjects = [event.subject for event in executor.explain().events]
    return [(each.part, each.sizes[0][1]) for each in subjects if each.part != "op"]


@pytest.mark.exhaustive
def test_the_fifth_size_is_rounded_up_and_shared() -> None:
    executor = XlaExecutor()
    f = tn.jit(tn.value_and_grad(lambda x: tn.sum(centred(x) ** 2)), executor=executor,
               symbolic={"x": ("n", 3)})  # fmt: skip
    plain = tn.jit(tn.value_and_grad(lambda x: tn.sum(centred(x) ** 2)), executor="numpy")
    for n in SIZES:
        x = np.random.default_rng(n).normal(size=(n, 3))
        for mine, theirs in zip(f(x), plain(x), strict=True):
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=1e-12, atol=1e-13)
    exact = [("program", n) for n in SIZES[:EXACT]]
    assert compiled(executor) == [*exact, ("bucket", 16), ("bucket", 32)]
    assert "n up to 16: n from 6 to 16" in str(executor.explain())


def test_each_size_is_compiled_where_padding_would_be_read_or_nothing_is_asked() -> None:
    for executor, function in (
        (XlaExecutor(), lambda x: centred(tn.flip(x))),
        (XlaExecutor(bucketing=None), centred),
    ):
        f = tn.jit(function, executor=executor, symbolic={"x": ("n", 1)})
        for n in SIZES[: EXACT + 1]:
            f(np.ones((n, 1)))
        assert compiled(executor) == [("program", n) for n in SIZES[: EXACT + 1]]


def test_sizes_that_the_program_does_not_allow_are_not_chosen() -> None:
    executor = XlaExecutor()
    f = tn.jit(lambda x: centred(tn.reshape(x, (-1, 3))), executor=executor,
               symbolic={"x": ("n",)})  # fmt: skip
    for n in (3, 6, 9, 12, 15):
        assert f(np.ones(n)).shape == (3,)
    assert compiled(executor) == [("program", n) for n in (3, 6, 9, 12, 15)]


@pytest.mark.exhaustive
def test_gathers_of_whole_axes_share_sizes_and_no_other_gather_fails() -> None:
    def rows(table: Any, i: Any) -> Any:
        return tn.sum(centred(table[i].T))

    for shape, part in (((5, "n"), "bucket"), (("n", 5), "program")):
        executor = XlaExecutor()
        f = tn.jit(rows, executor=executor, symbolic={"table": shape})
        for n in range(2, 3 + EXACT):
            table = np.random.default_rng(n).normal(size=[n if d == "n" else d for d in shape])
            found, i = f(table, np.array([1, 0])), np.array([1, 0])
            assert found.item() == pytest.approx(tn.jit(rows, executor="numpy")(table, i).item())
        assert [each for each, _ in compiled(executor)] == ["program"] * EXACT + [part]


def test_a_program_that_no_larger_size_suits_is_compiled_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: Any) -> Any:
        raise ShapeError("an op takes constant sizes only")

    monkeypatch.setattr(cache, "mask_program", failing)
    executor = XlaExecutor()
    f = tn.jit(centred, executor=executor, symbolic={"x": ("n", 1)})
    for n in SIZES[: EXACT + 1]:
        f(np.ones((n, 1)))
    assert compiled(executor) == [("program", n) for n in SIZES[: EXACT + 1]]


def test_a_program_that_needs_constant_sizes_is_refused_by_a_typed_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def resolved(program: Any, target: Any, sizes: Any, *rest: Any) -> Any:
        if not sizes:
            raise ShapeError("cube: n is not a number\nraised in a pass")
        return resolve_sizes(program, target, sizes, *rest)

    monkeypatch.setattr(cache, "resolve_sizes", resolved)
    program = tn.make_program(tn.exp, tn.TensorSpec(("n",)))
    message = "program: n cannot be rounded up: it needs constant sizes: cube: n is not a number;"
    with pytest.raises(PadSafetyError, match=message):
        XlaExecutor(bucketing={"n": (4,)}).run(program, {"x": np.ones(3)})
    assert XlaExecutor().run(program, {"x": np.zeros(3)})[0].tolist() == [1.0] * 3


def chosen(function: Any, shapes: tuple[tuple[int | str, ...], ...], n: int) -> list[int] | None:
    """The sizes that are chosen for `n`, after four others."""
    inputs = [tn.TracedTensor.input(shape, "float64") for shape in shapes]
    program = tn.GraphCompiler().compile([function(*inputs)]).exec_program
    symbols, sharing = program.symbols(), SizeSharing(kernel_seconds=4e-3)
    for earlier in range(EXACT):
        assert sharing.sizes(program, "digest", dict.fromkeys(symbols, earlier + 1)) is None
    found = sharing.sizes(program, "digest", dict.fromkeys(symbols, n))
    return None if found is None else list(found.values())


def test_the_more_work_the_finer_the_steps() -> None:
    def light(x: Any) -> Any:
        return tn.sum(centred(x))

    def heavy(x: Any, w: Any) -> Any:
        return tn.sum(centred(tn.tanh(x @ w)))

    assert chosen(light, (("n", 3),), 33) == [64]
    assert chosen(heavy, (("n", 64), (64, 64)), 1100) == [1152]
    assert chosen(heavy, (("n", 1024), (1024, 1024)), 65) is None


def test_short_programs_and_empty_axes_are_exact() -> None:
    assert chosen(lambda x: x * 2.0 + 1.0, (("n",),), 9) is None
    assert chosen(lambda x: tn.sum(centred(x)), (("n", 3),), 0) is None


def test_a_rounding_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="bucketing"):
        XlaExecutor(bucketing="powers_of_two")  # type: ignore[arg-type]


def test_a_size_within_the_budget_runs_though_the_rounded_one_is_over_it() -> None:
    executor = XlaExecutor(max_bytes=500)
    f = tn.jit(centred, executor=executor, symbolic={"x": ("n", 3)})
    for n in (*SIZES[:EXACT], 17):
        f(np.ones((n, 3)))
    assert compiled(executor)[-1] == ("program", 17)
