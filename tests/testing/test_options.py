"""What check_extension is called with, and what it says of wrong options."""

from __future__ import annotations

from typing import Any

import pytest

from tenferro.errors import ConfigError
from tenferro.testing import check_extension
from tests.testing.families import Pair, X, Y


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"skip": ["derivativ types"]},
            "'derivativ types' is not a clause; did you mean 'derivative",
        ),
        ({"skip": "jvp"}, r"skip takes names of clauses, skip=\[\"jvp\"\], got 'jvp'"),
        ({"inputs": X}, r"inputs takes a list of arrays, got a ndarray; write inputs=\[x\]"),
        ({"different": [3]}, "different takes ops of the family, got 3"),
    ],
)
def test_options_of_a_wrong_kind_are_refused(options: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        check_extension(Pair(), **{"inputs": [X, Y], **options})
