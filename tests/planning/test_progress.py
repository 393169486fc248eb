"""Progress of a search is reported."""

import pytest

from tenferro.network import (
    ContractionOptimizerOptions,
)
from tenferro.planning import (
    find_tree,
)
from tests.networks import ring


def test_progress_is_reported_and_is_no_part_of_the_plan() -> None:
    network, sizes = ring(12)
    seen: list[tuple[int, int]] = []

    def report(done: int, total: int, best: float) -> None:
        seen.append((done, total))

    options = ContractionOptimizerOptions(method="search", trials=5, progress=report)
    find_tree(network, sizes, options)
    assert seen == [(i, 5) for i in range(1, 6)]
    assert options == ContractionOptimizerOptions(method="search", trials=5)


def test_a_bar_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    network, sizes = ring(12)
    find_tree(network, sizes, ContractionOptimizerOptions("flops", "search", 3, progress=True))
    assert capsys.readouterr().out == ""
