"""Every example runs from start to end, as a user would run it."""

from pathlib import Path

import pytest

from tests.fresh_process import run_fresh
from tests.sampling import some

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", some(EXAMPLES, 2, lambda path: path.stem))
def test_the_example_runs(example: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    status = run_fresh(str(example), [], tmp_path, output)
    assert status == 0, output.read_text("utf-8")


def test_there_are_examples() -> None:
    assert EXAMPLES
