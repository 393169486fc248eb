"""Environment variables: all that cannot be read are said at once; an empty one is never read."""

import os
import sys
from dataclasses import fields

import jax
import pytest

from tenferro.config import Config, parse, update
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


def test_the_cpu_is_divided_before_arrays_are_computed_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES", raising=False)
    for count in (0, 10**9):
        text = f"jax_num_cpu_devices must be an integer from 1 to 4096, got {count}"
        with pytest.raises(ConfigError, match=text):
            update("jax_num_cpu_devices", count)
    jax.devices()
    with pytest.raises(ConfigError, match="is read when the first array is computed"):
        update("jax_num_cpu_devices", 3)
    assert "JAX_NUM_CPU_DEVICES" not in os.environ
    with monkeypatch.context() as patched:
        patched.delitem(sys.modules, "jax")
        update("jax_num_cpu_devices", 3)
    assert os.environ.pop("JAX_NUM_CPU_DEVICES") == "3"  # what an import of JAX reads
