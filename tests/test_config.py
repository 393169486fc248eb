"""Environment variables: all that cannot be read are said at once; an empty one is never read."""

from dataclasses import fields

import pytest

from tenferro.config import Config, parse
from tenferro.errors import ConfigError


@pytest.mark.parametrize("name", [field.name for field in fields(Config)])
@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_variable_is_refused(name: str, text: str) -> None:
    variable = f"TENFERRO_{name.upper()}"
    with pytest.raises(ConfigError, match=f"^{variable}: is empty; give a value, or unset it$"):
        parse({variable: text})


def test_every_variable_that_cannot_be_read_is_named() -> None:
    environ = {"TENFERRO_QUIET": "no", "TENFERRO_DUMP": "all", "TENFERRO_CACHE_BYTES": "-1"}
    with pytest.raises(ConfigError) as caught:
        parse(environ)
    assert str(caught.value) == (
        "TENFERRO_DUMP: unknown stage 'all'; expected some of fragment, materialized, exec, "
        "passes, stablehlo; TENFERRO_CACHE_BYTES: expected an integer >= 0, got -1; "
        "TENFERRO_QUIET: expected 0 or 1, got 'no'"
    )


def test_values_are_read() -> None:
    environ = {"TENFERRO_QUIET": "1", "TENFERRO_DUMP": "exec, passes", "TENFERRO_EXECUTOR": "numpy"}
    found = parse(environ)
    assert (found.quiet, found.dump, found.executor) == (True, ("exec", "passes"), "numpy")
