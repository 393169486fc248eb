"""The options of `tn.jit` that are JAX's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ConfigError,
    DeviceError,
    ExecutorError,
    ExtensionRegistryError,
    PytreeError,
    ShardingError,
    TenferroError,
    TracingError,
)

X = np.arange(4.0)


def head(n: int, x: Any) -> Any:
    return x[:n] * 2


@pytest.mark.parametrize("numbers", [0, (0,), [-2]])
def test_static_arguments_are_given_by_position(numbers: Any) -> None:
    f = tn.jit(head, executor="numpy", static_argnums=numbers)
    assert f(2, X).tolist() == [0, 2]
    assert f(n=3, x=X).tolist() == [0, 2, 4]
    assert f.stats().misses == 2


def test_jit_is_a_decorator_with_options_as_in_jax() -> None:
    @functools.partial(tn.jit, executor="numpy", static_argnums=0)
    def f(n: int, x: Any) -> Any:
        return x[:n]

    @tn.jit(static_argnums=(0,), executor="numpy")
    def g(n: int, x: Any) -> Any:
        return x[:n]

    assert f(1, X).tolist() == g(1, X).tolist() == [0]


def test_donated_arguments_are_given_by_name() -> None:
    f = tn.jit(lambda n, x: x * n, static_argnums=0, donate_argnames="x")
    assert f(2, tn.ones(2)).tolist() == [2, 2]


MESH = tn.sharding.make_mesh((1,), ("data",))
REFUSED: list[tuple[dict[str, Any], type[TenferroError], str]] = [
    ({"executor": "no"}, ExecutorError, "no executor is named 'no'; installed: numpy, xla"),
    ({"executor": 3}, ExecutorError, "must be an executor or its name, got 3"),
    ({"static_argnames": "y"}, TracingError, "static_argnames has 'y', which is not a param"),
    ({"static_argnames": 2.5}, TracingError, "takes the name of a parameter, or several, got 2.5"),
    ({"static_argnames": {"n": 1}}, TracingError, "takes the name of a parameter, or several"),
    ({"static_argnums": 2}, TracingError, "static_argnums 2 is not the position of a param"),
    ({"static_argnums": "n"}, TracingError, "static_argnums 'n' is not the position .* n, x"),
    ({"static_argnums": True}, TracingError, "static_argnums True is not the position"),
    ({"static_argnums": 1.5}, TracingError, "takes the position of a parameter, or several"),
    ({"donate_argnums": 7}, TracingError, "donate_argnums 7 is not the position of a param"),
    ({"donate_argnums": [1, -3]}, TracingError, "donate_argnums -3 is not the position"),
    ({"donate_argnums": 1.5}, TracingError, "takes the position of a parameter, or several"),
    ({"donate_argnames": "y"}, TracingError, "donate_argnames has 'y', which is not a param"),
    ({"donate_argnames": [3]}, TracingError, "donate_argnames has 3, which is not a param"),
    ({"static_argnums": 0, "donate_argnums": 0}, TracingError, "argument n is both static and to"),
    ({"options": "fast"}, TracingError, "options must be OptimizerOptions, got str"),
    ({"symbolic": ["n"]}, TracingError, "symbolic maps names of arguments to shapes"),
    ({"packages": 3}, ExtensionRegistryError, "takes a sequence of Package values, got an int"),
    ({"keep_unused": "no"}, ConfigError, "keep_unused must be True or False, got 'no'"),
    ({"inline": "no"}, ConfigError, "inline must be True or False, got 'no'"),
    ({"device": "moon"}, DeviceError, "there is no device 'moon'"),
    ({"backend": "moon"}, DeviceError, "there is no device 'moon'"),
    ({"device": "cpu", "backend": "cpu"}, ConfigError, "device and backend both say where to run"),
    ({"memory_limit": [3]}, ConfigError, "memory_limit must be a number of bytes"),
    ({"memory_limit": True}, ConfigError, "memory_limit must be a number of bytes"),
    ({"mesh": "data"}, ShardingError, "takes a mesh of devices, got a str"),
    ({"in_shardings": True}, ShardingError, "need a mesh; pass mesh=, or NamedShardings"),
    ({"in_shardings": True, "mesh": MESH}, ShardingError, "must be a PartitionSpec, .* got True"),
    ({"out_shardings": 3, "mesh": MESH}, ShardingError, "must be a PartitionSpec, .* got 3"),
    ({"slices": 3, "mesh": MESH}, ShardingError, "slices go over an axis of the mesh"),
    ({"tiers": "yes"}, ConfigError, "jit: tiers must be True or False, got 'yes'"),
    ({"tiers": 2}, ConfigError, "jit: tiers must be True or False, got 2"),
]


@pytest.mark.parametrize(("options", "kind", "text"), REFUSED, ids=lambda case: str(case)[:40])
def test_a_wrong_option_is_refused_at_once(
    options: dict[str, Any], kind: type[TenferroError], text: str
) -> None:
    with pytest.raises(kind, match=text):
        tn.jit(head, **options)
    with pytest.raises(kind, match=text):
        tn.jit(**options)(head)


def test_arguments_that_python_does_not_list_are_not_static() -> None:
    with pytest.raises(TracingError, match="static_argnames needs the parameters of the function"):
        tn.jit(max, static_argnames="key")


def test_arguments_of_a_list_and_of_names_may_be_static() -> None:
    second = tn.jit(lambda x, *more: x if more[0] else 2 * x, static_argnums=1)
    found = [second(1.0, True), second(1.0, False), second(3.0, True, 5.0)]
    assert [each.item() for each in found] == [1, 2, 3]
    with pytest.raises(PytreeError, match="more"):
        second(1.0, [])
    named = tn.jit(lambda x, **options: x if options["n"] else 2 * x, static_argnames="n")
    assert [named(1.0, n=True).item(), named(1.0, n=False).item()] == [1, 2]


def test_what_changes_no_result_is_accepted() -> None:
    options: dict[str, Any] = {"inline": True, "keep_unused": True, "static_argnums": None}
    assert tn.jit(lambda x, y: x, **options)(1.0, 2.0).item() == 1
    assert tn.jit(tn.sin, device="cpu:0")(0.0).device == "cpu:0"
    assert tn.jit(tn.sin, backend="host").executor.name == "numpy"
    fast = {"xla_cpu_enable_fast_math": False}
    assert tn.jit(tn.exp, compiler_options=fast)(0.0).item() == 1
    with pytest.raises(ExecutorError, match="'numpy' has no compiler that takes options"):
        tn.jit(tn.exp, executor="numpy", compiler_options=fast)(0.0)


def test_donated_arguments_count_from_the_end_and_beyond_the_list() -> None:
    last = tn.jit(lambda n, x: x * n, static_argnums=0, donate_argnums=np.int64(-1))
    rest = tn.jit(lambda x, *more: x + more[0], donate_argnums=1)
    for f in (lambda x: last(2, x), lambda x: rest(tn.ones(2), x)):
        x = tn.device_put(np.ones(2), "cpu")
        assert f(x).tolist() == [2, 2]
        with pytest.raises(DeviceError, match="donated to an earlier call"):
            x.numpy()


@pytest.mark.parametrize(
    ("name", "hint"), [("nope", ""), ("executer", "did you mean 'executor'\\? ")]
)
def test_an_unknown_option_is_refused_with_the_options_that_there_are(name: str, hint: str) -> None:
    unknown: dict[str, Any] = {name: 1}
    text = f"^jit: there is no option '{name}'; {hint}the options are executor, .*, compiler_opt"
    with pytest.raises(ConfigError, match=text):
        tn.jit(tn.sin, **unknown)
    with pytest.raises(ConfigError, match=text):
        tn.jit(**unknown)
