"""`doctor`: what is installed and what it runs on."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from rich.table import Table

import tenferro
from tenferro.cli.cuda import installed_cuda
from tenferro.cli.screen import Screen
from tenferro.compiler import in_words
from tenferro.config import Config, config
from tenferro.errors import CacheWarning, CommandError, ExecutorError, TenferroError
from tenferro.ir import TensorSpec
from tenferro.runtime import (
    Executor,
    check_executor,
    executor_module,
    executor_named,
    installed_executors,
)
from tenferro.serialization import problem_of_folder
from tenferro.transforms import make_program

# `tenferro doctor`: what is installed, what it runs on, and whether it computes in 64 bits.

DISTRIBUTIONS = ("numpy", "jax", "jaxlib", "optree", "opt_einsum", "rich", "scipy")
_REMARKS = (("problem", "problem"), ("to do", "advice"))
Facts = dict[str, Any]
"""What can be written as JSON."""


def doctor(options: argparse.Namespace) -> int:
    """Print the tables, or all of it as JSON; or check a device. 1 if something is wrong."""
    if options.gpu is not None and options.json:
        raise CommandError(
            "--json does not go with --gpu, which writes a report of JSON: --out OUT"
        )
    if options.gpu is not None:
        return check_device(options.gpu)
    facts = examined()
    if options.json:
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
    else:
        _show(facts)
    return 0 if facts["well"] else 1


def check_device(arguments: Sequence[str]) -> int:
    """Run the checks of the executor of XLA; its package says what they are.

    They run in processes of their own, of which only one has the device at a time. This one leaves
    the device alone.
    """
    module = executor_module("xla")
    command = [sys.executable, "-m", f"{module.__name__}.checks", *arguments]
    status = subprocess.run(command, check=False).returncode
    return status if status in (0, 1) else 2


def examined() -> Facts:
    """All that the doctor finds."""
    executors = [_executor(name) for name in installed_executors()]
    names, said = _gpus_of_jax("xla") if "xla" in installed_executors() else (None, None)
    cuda = installed_cuda(names, said)
    configuration = _configuration()
    broken = [each["problem"] for each in (*executors, *configuration.values()) if each["problem"]]
    own = {"tenferro": tenferro.__version__, "python": platform.python_version()}
    return {
        "versions": own | {name: installed_version(name) for name in DISTRIBUTIONS},
        "executors": executors,
        "devices": [facts for name in installed_executors() for facts in _devices(name)],
        "cuda": {
            "driver": None if cuda.driver is None else cuda.version,
            "extras": list(cuda.extras),
            "gpus": cuda.gpus,
            "problem": cuda.problem,
            "advice": cuda.advice,
        },
        "configuration": configuration,
        "well": cuda.problem is None and not broken,
    }


def installed_version(name: str) -> str:
    """The version of a distribution, or that there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _executor(name: str) -> Facts:
    """An executor, its devices, and what the check of 64 bits finds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CacheWarning)  # what is wrong with the folder is listed
            devices, problem = _device_names(name), check_64_bits(executor_named(name))
    except TenferroError as error:
        devices, problem = [], str(error)
    return {"name": name, "devices": devices, "problem": problem}


def _device_names(name: str) -> list[str]:
    if name == "numpy":
        return ["host"]
    module = executor_module(name)
    return [module.device_name(device) for device in module.devices()]


def _devices(name: str) -> list[Facts]:
    """What an executor tells of its devices."""
    try:
        module = executor_module(name)
        devices = module.devices() if hasattr(module, "device_facts") else []
    except TenferroError:
        return []
    return [module.device_facts(device) for device in devices]


def _gpus_of_jax(name: str) -> tuple[list[str] | None, str | None]:
    """The devices that JAX has, and what it says when it is asked for CUDA; None without JAX."""
    try:
        module = executor_module(name)
    except TenferroError:
        return None, None
    try:
        return _device_names(name), module.why_unavailable("cuda")
    except TenferroError as error:
        return [], str(error).partition("\n")[0]


def check_64_bits(executor: Executor) -> str | None:
    """What a small program gets wrong when numbers are narrowed to 32 bits; None if nothing.

    >>> check_64_bits(executor_named("numpy"))
    """
    program = make_program(
        lambda x, z, n: (x + 1, z + 1, n + 1),
        *(TensorSpec((1,), dtype) for dtype in ("float64", "complex128", "int64")),
    )
    inputs = [np.array([2.0**-40]), np.array([2.0**-40 * 1j]), np.array([2**40])]
    run = executor.compile_exec(program.exec_program)
    results = [executor.get(value) for value in run(*map(executor.put, inputs))]
    for value, result in zip(inputs, results, strict=True):
        if result.dtype != value.dtype or not np.array_equal(result, value + 1):
            return f"{value.dtype} is computed as {result.dtype}: {result[0]!r}"
    return None


def _configuration() -> dict[str, Facts]:
    """Every variable with its value and what is wrong with it; a process with others has ended."""
    problems = {
        "TENFERRO_EXECUTOR": _problem_of_default(),
        "TENFERRO_CACHE_DIR": problem_of_folder(),
    }
    settings: dict[str, Facts] = {}
    for field in fields(Config):
        name = f"TENFERRO_{field.name.upper()}"
        value = getattr(config, field.name)
        shown = ",".join(value) or "nothing" if isinstance(value, tuple) else str(value)
        by = "environment" if name in os.environ else "default"
        settings[name] = {"value": shown, "by": by, "problem": problems.get(name)}
    for name in sorted(os.environ):
        if name.startswith("TENFERRO_") and name not in settings:
            close = get_close_matches(name, settings, 1)
            advice = f"; do you mean {close[0]}?" if close else ""
            settings[name] = {
                "value": "…",  # it may be secret
                "by": "environment; nothing reads it",
                "problem": f"{name}: nothing reads it{advice}",
            }
    return settings


def _problem_of_default() -> str | None:
    try:
        check_executor("doctor", None)
    except ExecutorError as error:
        return str(error)
    return None


def _show(facts: Facts) -> None:
    console = Screen()
    console.print(_table("versions", ("package", "version"), facts["versions"].items()))
    rows = [
        (each["name"], ", ".join(each["devices"]) or "-", each["problem"] or "yes")
        for each in facts["executors"]
    ]
    console.print(_table("executors", ("executor", "devices", "64 bits"), rows))
    for device in facts["devices"]:
        console.print(_table(f"device {device['name']}", ("", ""), _of_device(device)))
    cuda = facts["cuda"]
    of_cuda = [
        ("driver takes CUDA", cuda["driver"] or "there is no driver"),
        *([("GPUs", str(cuda["gpus"]))] if cuda["gpus"] is not None else []),
        ("extra", ", ".join(cuda["extras"]) or "none"),
        *((label, cuda[key]) for label, key in _REMARKS if cuda[key]),
    ]
    console.print(_table("CUDA", ("", ""), of_cuda))
    settings = facts["configuration"].items()
    rows = [(name, each["value"], each["by"]) for name, each in settings]
    console.print(_table("configuration", ("variable", "value", "set by"), rows))
    parts = (*facts["executors"], cuda, *facts["configuration"].values())
    problems = dict.fromkeys([each["problem"] for each in parts if each["problem"]])
    verdict = f"something is wrong: {'; '.join(problems)}" if problems else "all well"
    console.print(verdict, markup=False, soft_wrap=True)


def _of_device(device: Facts) -> list[tuple[str, str]]:
    memory: Mapping[str, int | None] = device["memory"]
    known = [f"{name} {in_words(count)}" for name, count in memory.items() if count is not None]
    accepted, dropped = device["options"]["taken"], device["options"]["dropped"]
    return [
        ("platform", f"{device['platform']}, {device['kind']}"),
        ("costs", "known" if device["rewrites"] else "not known: contractions stay as they are"),
        ("memory", ", ".join(known) or "it does not tell"),
        *((f"precision {name!r}", meaning) for name, meaning in device["precision"].items()),
        ("compiler options", "\n".join(f"{each}={accepted[each]}" for each in accepted) or "none"),
        ("options dropped", "\n".join(f"{each}: {dropped[each]}" for each in dropped) or "none"),
    ]


def _table(title: str, columns: tuple[str, ...], rows: Any) -> Table:
    table = Table(*columns, title=title, show_header=any(columns))
    for row in rows:
        table.add_row(*row)
    return table
