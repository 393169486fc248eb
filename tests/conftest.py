"""What the whole suite shares: its options and the hypothesis profiles."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Read once, when `tenferro.config` is first imported: the verifier runs after every pass.
os.environ.setdefault("TENFERRO_VERIFY", "1")

from tenferro.errors import TenferroError
from tenferro.runtime import executor_module, register_executor

# Runs repeat exactly and leave no files; look further with --hypothesis-profile=explore.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("repeatable")


SETS = ("large", "exhaustive")
"""Markers of tests that run only with the option of this name."""
GOLDEN = (5**0.5 - 1) / 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the usual tests, or the exhaustive ones, or the large ones.

    The longest start first, so that no process is left with one at the end.
    """
    asked = next((name for name in SETS if config.getoption(f"--{name}")), None)
    sets = sets_of(items)
    chosen = [item for item in items if sets[item] == asked]
    if config.getoption("--cases"):
        chosen = first_cases(chosen, config.getoption("--cases"))
    chosen = chosen[:: config.getoption("--one-of")]
    kept = set(chosen)
    left = [item for item in items if item not in kept]
    config.hook.pytest_deselected(items=left)
    items[:] = chosen
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def first_cases(items: list[pytest.Item], count: int) -> list[pytest.Item]:
    """The first so many cases of each test with parameters."""
    return [each for cases in by_test(items).values() for each in cases[:count]]


def sets_of(items: list[pytest.Item]) -> dict[pytest.Item, str | None]:
    """The set of tests that each test belongs to; None for the usual ones.

    Of a test with `exhaustive(but=N)`, N cases are usual. Steps of the golden ratio spread them
    over products of parameters.
    """
    sets = dict.fromkeys(items)
    for cases in by_test(items).values():
        for item in cases:
            marked = (name for name in SETS for mark in item.iter_markers(name) if not mark.kwargs)
            sets[item] = next(marked, None)
        rest = [item for item in cases if sets[item] is None]
        for mark in cases[0].iter_markers("exhaustive"):
            if mark.kwargs:
                spread = sorted(range(len(rest)), key=lambda k: k * GOLDEN % 1)
                sets |= {rest[k]: "exhaustive" for k in spread[mark.kwargs["but"] :]}
    return sets


def by_test(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """The cases of each test, in their order."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return tests


def pytest_collection() -> None:
    """Collecting makes no garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What has been imported and collected stays: the garbage collector need not look at it."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def what_is_kept() -> Iterator[None]:
    """So does what a module leaves behind, such as the caches of JAX."""
    yield
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Run what asks for no device by name on the device that `--device` names."""
    device: str | None = config.getoption("--device")
    if device is None:
        return
    if device.startswith("cpu"):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")  # so that it is the first device
    try:
        executor = executor_module("xla").XlaExecutor(device)
    except TenferroError as error:
        raise pytest.UsageError(f"--device: {error}") from None
    if register_executor(executor) is not executor:
        raise pytest.UsageError(f"--device {device}: the default executor exists already")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", metavar="NAME", help="the device of XLA to test: gpu:0, cpu:0")
    parser.addoption(
        "--programs", type=int, default=60, metavar="N", help="random programs per test"
    )
    parser.addoption("--one-of", type=int, default=1, metavar="N", help="run one of N tests")
    parser.addoption("--cases", type=int, metavar="N", help="run N cases of each test at most")
    parser.addoption(
        "--exhaustive", action="store_true", help="run the tests of further types and cases instead"
    )
    parser.addoption(
        "--large",
        action="store_true",
        help="run the generators of tests at their large sizes instead",
    )
    parser.addoption(
        "--mutations", type=int, default=300, metavar="N", help="mutated files to load"
    )


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> int:
    """How many random programs a test checks."""
    count: int = request.config.getoption("--programs")
    return count


@pytest.fixture(scope="session")
def mutations(request: pytest.FixtureRequest) -> int:
    """How many mutated files are loaded."""
    count: int = request.config.getoption("--mutations")
    return count
