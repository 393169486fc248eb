"""Options of the executor and of `initialize` that are not of their kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tenferro as tn
from tenferro.errors import ConfigError
from tenferro_xla import XlaExecutor

OPTIONS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (XlaExecutor, {"compiler_options": "x"}, "compiler_options must be a mapping from names"),
    (XlaExecutor, {"compiler_options": {3: 4}}, "compiler_options must be a mapping from names"),
    (XlaExecutor, {"max_bytes": "x"}, "max_bytes must be a number of bytes, at least 0, got 'x'"),
    (XlaExecutor, {"max_bytes": -1}, "max_bytes must be a number of bytes, at least 0, got -1"),
    (XlaExecutor, {"capacity": 3}, "capacity: must be a Capacity, got 3"),
    (XlaExecutor, {"bucketing": {3: "powers_of_two"}}, "bucketing: 3 is not a name of a size"),
    (XlaExecutor, {"contraction_costs": "no"}, "contraction_costs must be DeviceCosts, 'device'"),
    (XlaExecutor, {"in_flight": 1.5}, "in_flight must be a number of calls, at least 1, got 1.5"),
    (XlaExecutor, {"deterministic": 2}, "deterministic must be True or False, got 2"),
    (tn.sharding.initialize, {"coordinator": "host"}, "coordinator must be a host and a port"),
    (tn.sharding.initialize, {"coordinator": 3}, "coordinator must be a host and a port"),
    (tn.sharding.initialize, {"processes": "2"}, "processes must be an integer, at least 1"),
    (tn.sharding.initialize, {"processes": 2, "process": 2}, "below the number of processes, 2"),
    (tn.sharding.initialize, {"heartbeat": -3}, "heartbeat must be a number of seconds, at least"),
    (tn.sharding.initialize, {"timeout": "x"}, "timeout must be a number of seconds, at least 1"),
    (tn.sharding.initialize, {"call_timeout": 0}, "call_timeout must be a number of seconds above"),
    (tn.sharding.initialize, {"preemption": "no"}, "preemption must be True or False, got 'no'"),
]


@pytest.mark.parametrize(("function", "options", "text"), OPTIONS)
def test_a_wrong_option_is_refused_at_once(
    function: Callable[..., Any], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        function(**options)
