"""What a farm computes, and what it refuses."""

from __future__ import annotations

import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, ExtensionRegistryError, FarmError
from tenferro.network.sliced_op import SlicedNetwork
from tenferro.ops.extension import Extension, Package
from tests.farm.engines import Faulty, closed, farm, operands, run, value


@pytest.mark.exhaustive
def test_workers_of_a_fork_server_are_not_taken_for_orphans(tmp_path: Path) -> None:
    """The coordinator did not start them itself."""
    context: Any = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(1, mp_context=context) as pool, farm(pool, tmp_path) as executor:
        assert_close(np.frombuffer(value(executor))[0], reference())


@pytest.fixture
def threads() -> Any:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def reference(*transforms: Any) -> Any:
    function = closed
    for transform in transforms:
        function = transform(function)
    return tn.jit(function, executor="numpy")(*operands())


def assert_close(found: Any, expected: Any) -> None:
    leaves = [tn.tree_util.tree_leaves(each) for each in (found, expected)]
    for one, other in zip(*leaves, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    "transforms",
    [
        (),
        (lambda f: tn.value_and_grad(f, argnums=(0, 1, 2)),),
        (lambda f: lambda x, y, z: tn.jvp(f, (x, y, z), (y.sum() * x, y, z))[1],),
        (lambda f: lambda x, y, z: tn.hvp(lambda t: f(t, y, z), (x,), (x,)),),
        (lambda f: lambda x, y, z: tn.vmap(lambda s: f(s * x, y, z))(np.arange(3.0)),),
        (lambda f: lambda x, y, z: tn.scan(lambda c, s: (c, f(s * x, c, z)), y, np.arange(3.0)),),
        (lambda f: lambda x, y, z: tn.cond(y.sum() > 100, lambda: 0.0, lambda: f(x, y, z)),),
    ],
    ids=["value", "gradient", "jvp", "hvp", "vmap", "scan", "cond"],
)
def test_transforms_of_a_sliced_network_run_on_the_farm(
    transforms: Any, threads: Any, tmp_path: Path
) -> None:
    executor = farm(threads, tmp_path, parts=4)
    function = closed
    for transform in transforms:
        function = transform(function)
    assert_close(tn.jit(function, executor=executor)(*operands()), reference(*transforms))
    assert executor.report().jobs


def test_value_and_gradient_that_share_work_are_one_job(threads: Any, tmp_path: Path) -> None:
    expression = "abx,bcy,cax->"
    plan = tn.einsum_plan(expression, *operands(), optimize=False, slices="bx")

    def loss(x: Any, y: Any, z: Any) -> Any:
        return tn.sin(tn.einsum(expression, x, y, z, optimize=plan))

    executor = farm(threads, tmp_path, parts=3)
    both = tn.value_and_grad(loss, argnums=(0, 1, 2))
    assert_close(
        tn.jit(both, executor=executor)(*operands()), tn.jit(both, executor="numpy")(*operands())
    )
    assert len(executor.report().jobs) == 1
    apart = tn.OptimizerOptions(lane_sum_fusion=False)
    tn.jit(both, executor=executor, options=apart)(*operands())
    assert len(executor.report().jobs) == 3


def test_a_network_of_known_numbers_runs_on_the_farm_too(threads: Any, tmp_path: Path) -> None:
    executor = farm(threads, tmp_path, parts=3)
    plan = tn.einsum_plan("j,j->", np.ones(8), np.ones(8), slices="j")

    def known() -> Any:
        return tn.einsum("j,j->", tn.arange(8.0), tn.arange(8.0), optimize=plan)

    assert tn.jit(known, executor=executor)().item() == 140.0
    assert len(executor.report().jobs) == 1


def test_sizes_that_data_decide_are_known_when_the_job_begins(threads: Any, tmp_path: Path) -> None:
    executor = farm(threads, tmp_path, parts=3)
    op = Extension(SlicedNetwork(((0, 1), (1, 2)), (0, 2), ((0, 1),), sliced=(1,)))
    a, b = np.ones((2, 4)), np.ones((4, 3))
    (found,) = executor.run_op(op, a, b)
    assert found.tolist() == [[4.0] * 3] * 2
    assert len(executor.report().jobs) == 1


@pytest.mark.parametrize("output", ["", "y", "xy", "bx"])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_labels_of_the_output_may_be_sliced(
    output: str, dtype: str, threads: Any, tmp_path: Path
) -> None:
    arrays = [(10 * array).astype(dtype) for array in operands()]
    expression = f"abx,bcy,cax->{output}"
    plan = tn.einsum_plan(expression, *arrays, slices="bx")
    f = tn.jit(
        lambda *arrays: tn.einsum(expression, *arrays, optimize=plan),
        executor=farm(threads, tmp_path, parts=5),
    )
    found, expected = f(*arrays), np.einsum(expression, *arrays)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == "float32" else 1e-12)


def test_xla_and_numpy_workers_give_the_same(threads: Any, tmp_path: Path) -> None:
    executor = farm(threads, tmp_path, parts=3, worker="xla")
    gradient = tn.jit(tn.grad(closed), executor=executor)(*operands())
    assert_close(gradient, reference(tn.grad))
    assert "jaxlib" in next(iter(executor.report().jobs[0].makers))


def test_the_bits_depend_on_the_number_of_parts_alone(threads: Any, tmp_path: Path) -> None:
    found = [
        run(farm(engine, tmp_path / str(number), parts=7))
        for number, engine in enumerate([threads, Faulty(seed=1), lambda: ThreadPoolExecutor(1)])
    ]
    assert found[0] == found[1] == found[2]


def test_a_job_that_is_done_is_found(threads: Any, tmp_path: Path) -> None:
    first = value(farm(threads, tmp_path))
    again = farm(threads, tmp_path)
    assert value(again) == first
    (report,) = again.report().jobs
    assert report.whole
    assert re.fullmatch(r"job [0-9a-f]{8}…: the result was found", str(again.report()))


def test_other_operands_are_another_job(threads: Any, tmp_path: Path) -> None:
    executor = farm(threads, tmp_path, parts=2)
    run(executor, operands(0))
    run(executor, operands(1))
    assert not any(report.whole for report in executor.report().jobs)


def test_programs_without_slices_and_without_rounds_run_too(threads: Any, tmp_path: Path) -> None:
    executor = farm(threads, tmp_path)
    assert tn.jit(tn.sin, executor=executor)(0.0).item() == 0.0
    plan = tn.einsum_plan("ij,jk->ik", np.ones((2, 0)), np.ones((0, 3)), slices="j")
    f = tn.jit(lambda a, b: tn.einsum("ij,jk->ik", a, b, optimize=plan), executor=executor)
    assert f(np.ones((2, 0)), np.ones((0, 3))).tolist() == [[0.0] * 3] * 2
    assert str(executor.report()) == "no jobs"


def test_a_farm_runs_one_op_and_takes_packages(threads: Any, tmp_path: Path) -> None:
    executor = farm(threads, tmp_path, parts=2)
    assert executor.name == "farm"
    assert repr(executor) == f"FarmExecutor({str(tmp_path)!r}, worker='numpy')"
    with_more = executor.with_packages([Package("empty")])
    assert (type(with_more), with_more.name) == (tn.FarmExecutor, "farm")
    found = tn.jit(closed, executor=with_more)(*operands())
    assert_close(found, reference())
    assert len(executor.report().jobs) == 1


@pytest.mark.parametrize("progress", [True, None])
def test_progress_is_shown_or_told(
    progress: Any, threads: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int, seconds: float) -> None:
        assert seconds >= 0
        told.append((done, total))

    value(farm(threads, tmp_path, parts=3, progress=progress or tell))
    assert bool(capsys.readouterr().err) is bool(progress)  # on a terminal, the bar
    assert told == ([] if progress else [(done, 3) for done in range(4)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": 3}, "engine must be a concurrent.futures.Executor or a function that makes"),
        ({"store": None}, "store must be the path of a folder, got None"),
        ({"store": ""}, "store must be the path of a folder, got ''"),
        ({"store": "a\0b"}, "store must be the path of a folder, got 'a"),
        ({"parts": 0}, "parts must be an integer, at least 1, got 0"),
        ({"parts": 2.5}, "parts must be an integer, at least 1, got 2.5"),
        ({"attempts": 0}, "attempts must be an integer, at least 1, got 0"),
        ({"restarts": -1}, "restarts must be an integer, at least 0, got -1"),
        ({"keep": "x"}, "keep must be True or False, got 'x'"),
        ({"same_maker": 2}, "same_maker must be True or False, got 2"),
        ({"worker": "cray"}, "worker must be the name of an executor, got 'cray'; installed: "),
        ({"progress": 3}, "progress must be a function, True or None, got 3"),
    ],
)
def test_wrong_arguments_are_refused(options: Any, message: str, tmp_path: Path) -> None:
    given = {"engine": ThreadPoolExecutor, "store": tmp_path, **options}
    with pytest.raises(ConfigError, match=re.escape(f"FarmExecutor: {message}")):
        farm(**given)


def test_a_function_that_makes_no_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FarmError, match=r"^farm: engine must make a .*Executor, but it made 3$"):
        value(farm(lambda: 3, tmp_path))


def test_a_package_cannot_have_the_family_of_slices(tmp_path: Path) -> None:
    with pytest.raises(ExtensionRegistryError):
        farm(ThreadPoolExecutor, tmp_path, packages=[Package("mine", ops=(SlicedNetwork,))])
