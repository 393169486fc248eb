"""`tenferro doctor`: what is installed, what it runs on, and whether it computes in 64 bits."""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from rich.console import Console
from rich.table import Table

import tenferro
from tenferro.config import Config, config
from tenferro.errors import TenferroError
from tenferro.runtime import Executor, executor_module, executor_named, installed_executors
from tenferro.shape import TensorSpec
from tenferro.transforms import make_program

DISTRIBUTIONS = ("numpy", "jax", "jaxlib", "optree", "opt_einsum", "rich", "scipy")


def doctor(_: argparse.Namespace) -> int:
    """Print the tables; 1 if an executor is missing or does not compute in 64 bits."""
    console = Console(highlight=False)
    console.print(_versions())
    executors, well = _executors()
    console.print(executors)
    console.print(_settings())
    console.print("all well" if well else "something is wrong: see the table of executors")
    return 0 if well else 1


def _versions() -> Table:
    table = Table("package", "version", title="versions")
    table.add_row("tenferro", tenferro.__version__)
    table.add_row("python", platform.python_version())
    for name in DISTRIBUTIONS:
        table.add_row(name, installed_version(name))
    return table


def installed_version(name: str) -> str:
    """The version of a distribution, or that there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _executors() -> tuple[Table, bool]:
    """The executors, their devices, and the result of the check; and whether all of it is well."""
    table = Table("executor", "devices", "64 bits", title="executors")
    well = True
    for name in installed_executors():
        try:
            devices = _devices(name)
            problem = check_64_bits(executor_named(name))
        except TenferroError as error:
            devices, problem = "-", str(error)
        table.add_row(name, devices, problem or "yes")
        well = well and problem is None
    return table, well


def _devices(name: str) -> str:
    if name == "numpy":
        return "host"
    module = executor_module(name)
    return ", ".join(module.device_name(device) for device in module.devices())


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
    for given, result in zip(inputs, results, strict=True):
        if result.dtype != given.dtype or not np.array_equal(result, given + 1):
            return f"{given.dtype} is computed as {result.dtype}: {result[0]!r}"
    return None


def _settings() -> Table:
    table = Table("variable", "value", "set by", title="configuration")
    for field in fields(Config):
        name = f"TENFERRO_{field.name.upper()}"
        value = getattr(config, field.name)
        shown = ",".join(value) or "nothing" if isinstance(value, tuple) else str(value)
        table.add_row(name, shown, "environment" if name in os.environ else "default")
    return table
