"""Calls that NumPy answers while the executor compiles."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import tenferro as tn
from tenferro.errors import ExecutorError, TenferroError
from tenferro.transforms.tiered_jit import WAITING, BackgroundJob, BackgroundWorker

SECONDS = 20.0


class SlowToCompile(tn.GraphExecutor):
    """A real executor on NumPy that compiles only when the test lets it."""

    compile_seconds = 1.0
    on_host = True
    name = "slow"  # type: ignore[assignment]

    def __init__(self, error: Exception | None = None, **options: Any) -> None:
        super().__init__(tn.NumpyBackend(), **options)
        self.error = error
        self.may_compile = threading.Event()
        self.threads: list[str] = []
        self.blas_threads: set[int] = set()
        self.runs = 0

    def put(self, value: Any) -> Any:
        self.blas_threads |= {each["num_threads"] for each in threadpool_info()}
        return super().put(value)

    def compile_exec(self, *args: Any, **options: Any) -> Any:
        self.threads.append(threading.current_thread().name)
        assert self.may_compile.wait(SECONDS)
        if self.error is not None:
            raise self.error
        compiled = super().compile_exec(*args, **options)
        return Counted(self, compiled)


class Counted:
    def __init__(self, executor: SlowToCompile, compiled: Any) -> None:
        self.executor, self.compiled = executor, compiled

    def __call__(self, *buffers: Any) -> Any:
        self.executor.runs += 1
        return self.compiled(*buffers)

    def run_host(self, *values: Any) -> Any:
        self.executor.runs += 1
        return self.compiled.run_host(*values)


@pytest.fixture
def slow() -> Iterator[SlowToCompile]:
    executor = SlowToCompile()
    yield executor
    executor.may_compile.set()  # leave no job behind


def until(claim: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + SECONDS
    while not claim():
        assert time.monotonic() < end, "it never holds"
        time.sleep(1e-3)


def test_numpy_answers_until_the_executable_is_there_and_has_run_once(slow: SlowToCompile) -> None:
    f = tn.jit(lambda x: tn.exp(x) * 2, executor=slow, tiers=True)
    x = np.arange(3.0)
    assert f.tier(x) is None
    first = f(x)
    assert (f.tier(x), slow.runs) == ("numpy", 0)
    slow.may_compile.set()
    until(lambda: f.tier(x) == "slow" or f(x) is None)
    assert slow.runs == 1  # in the background, on the arguments of a call that NumPy answered
    np.testing.assert_allclose(f(x).numpy(), first.numpy(), rtol=1e-14)
    assert slow.runs == 2
    assert slow.threads == ["tenferro-compile"]


def test_products_of_numpy_take_one_thread_beside_the_compiler(slow: SlowToCompile) -> None:
    f = tn.jit(lambda x: x @ x, executor=slow, tiers=True)
    with threadpool_limits(2, user_api="blas"):
        f(np.eye(3))
    assert slow.blas_threads <= {1}


def test_ready_waits_for_the_executor(slow: SlowToCompile) -> None:
    f = tn.jit(lambda x: x + 1, executor=slow, tiers=True)
    f(1.0)
    threading.Timer(0.05, slow.may_compile.set).start()
    f.ready(1.0)
    assert f.tier(1.0) == "slow"
    f.ready(2.0)  # already
    assert f(2.0).item() == 3.0
    assert len(slow.threads) == 1


def test_ready_before_the_first_call_compiles(slow: SlowToCompile) -> None:
    slow.may_compile.set()
    f = tn.jit(lambda x: x + 1, executor=slow, tiers=True)
    f.ready(1.0)
    assert (f.tier(1.0), slow.runs) == ("slow", 1)


@pytest.mark.parametrize("error", [ExecutorError("compile: no"), ValueError("no")])
def test_an_error_of_the_background_is_raised_typed_by_the_next_calls(error: Exception) -> None:
    slow = SlowToCompile(error)
    f = tn.jit(lambda x: x + 1, executor=slow, tiers=True)
    assert f(1.0).item() == 2.0
    slow.may_compile.set()

    def fails() -> bool:
        try:
            f(1.0)
        except TenferroError as raised:
            return raised is error or raised.__cause__ is error
        return False

    until(fails)
    for call in (f, f.ready):
        with pytest.raises(ExecutorError, match=r"^compile: (ValueError: )?no$"):
            call(1.0)
    slow.error = None
    f.clear()
    assert f(1.0).item() == 2.0


class WithoutTime(SlowToCompile):
    compile_seconds = 1e-9


@pytest.mark.parametrize(
    ("function", "options", "executor"),
    [
        (lambda x: x + 1, {"donate_argnums": 0}, SlowToCompile),
        (lambda x: x + 1, {}, WithoutTime),
        (lambda x: tn.pure_callback(np.sin, tn.ShapeDtypeStruct((2,), "float64"), x), {}, None),
        (lambda x: tn.while_loop(lambda y: tn.sum(y) < 9, lambda y: y * 2, x), {}, None),
    ],
    ids=["donated", "quick to compile", "calls back", "open loop"],
)
def test_the_executor_compiles_at_once_where_numpy_is_not_to_answer(
    function: Callable[..., Any], options: dict[str, Any], executor: Any
) -> None:
    slow = (executor or SlowToCompile)()
    slow.may_compile.set()
    f = tn.jit(function, executor=slow, tiers=True, **options)
    x = np.ones(2)
    f(x)
    assert f.tier(x) == "slow"
    assert slow.threads == ["MainThread"]


def test_tiers_do_nothing_where_the_executor_is_numpy_or_in_another_trace() -> None:
    inner = tn.jit(lambda x: x * x, executor="numpy", tiers=True)
    outer = tn.jit(tn.grad(lambda x: inner(x) + x), executor="numpy")
    assert (inner(2.0).item(), outer(2.0).item(), inner.tier(2.0)) == (4.0, 5.0, "numpy")
    inner.ready(2.0)


@pytest.mark.exhaustive
def test_eight_threads_call_forty_signatures(slow: SlowToCompile) -> None:
    slow.may_compile.set()
    f = tn.jit(lambda x: tn.sum(x * x), executor=slow, tiers=True)
    wrong: list[object] = []

    def work(seed: int) -> None:
        for size in np.random.default_rng(seed).permutation(40):
            try:
                got = f(np.ones(int(size))).item()
            except Exception as error:  # the thread would hide it
                wrong.append(error)
            else:
                wrong.extend([] if got == size else [(got, size)])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert wrong == []
    for size in range(40):
        f.ready(np.ones(size))
    assert {f.tier(np.ones(size)) for size in range(40)} == {"slow"}
    assert f.stats().entries == 40
    assert set(slow.threads) <= {"tenferro-compile", "MainThread"}


def test_the_worker_does_the_latest_job_first_and_is_bounded() -> None:
    worker, order, begun, go = BackgroundWorker(), [], threading.Event(), threading.Event()
    dropped: list[int] = []

    def first() -> None:
        begun.set()
        assert go.wait(SECONDS)

    worker.submit(BackgroundJob(first, lambda: None))
    assert begun.wait(SECONDS)
    for number in range(WAITING + 2):
        worker.submit(
            BackgroundJob(lambda n=number: order.append(n), lambda n=number: dropped.append(n))
        )
    go.set()
    until(lambda: len(order) == WAITING)
    worker.close()
    worker.submit(BackgroundJob(lambda: order.append(-1), lambda: dropped.append(-1)))
    assert order == list(reversed(range(2, WAITING + 2)))
    assert dropped == [0, 1, -1]


def run_alone(program: str) -> tuple[str, str]:
    """What a process of its own says."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout, done.stderr


FORKS = """
import os, warnings
import tenferro as tn
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from Python 3.12 on
from tests.transforms.test_tiers import SlowToCompile, until
slow = SlowToCompile()
f = tn.jit(lambda x: x * 3, executor=slow, tiers=True)
f(1.0)
until(lambda: bool(slow.threads))
child = os.fork()
if not child:
    ok = all(f(float(n)).item() == 3.0 * n for n in range(3)) and f.tier(1.0) == "numpy"
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
slow.may_compile.set()
f.ready(1.0)
print(f.tier(1.0))
"""


ENDS = """
import threading, time
from tenferro.transforms.tiered_jit import WORKER, BackgroundJob
begun = threading.Event()
WORKER.submit(BackgroundJob(lambda: (begun.set(), time.sleep(0.3), print("ended")), int))
begun.wait()
WORKER.submit(BackgroundJob(lambda: print("another"), lambda: print("dropped")))
"""


@pytest.mark.exhaustive
def test_a_process_that_ends_waits_for_the_job_that_runs_and_drops_the_others() -> None:
    assert run_alone(ENDS) == ("dropped\nended\n", "")


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_in_a_forked_process_numpy_goes_on_answering() -> None:
    # of its own: JAX, if another test has imported it, warns of forks
    assert run_alone(FORKS) == ("slow\n", "")
