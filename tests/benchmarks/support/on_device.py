"""Benchmarks on a device that is named: `--device gpu:0`, `--json FILE`."""

from __future__ import annotations

import json
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from support.harness import environment, note, versions

import tenferro_xla as txla


def device_arguments(parser: ArgumentParser) -> None:
    """Add the options that all of these scripts have."""
    parser.add_argument("--device", default="cpu:0", help="such as cpu:0 or gpu:0")
    parser.add_argument("--json", metavar="FILE", help="write what is measured there as well")


def begin(options: Namespace) -> jax.Device:
    """Print what figures depend on; the device."""
    environment()
    device = txla.find_device(options.device)
    note(f"device {txla.device_name(device)}: {device.device_kind}")
    return device


def finish(options: Namespace, device: jax.Device, results: Any) -> None:
    """Write the results with what they depend on, if a file is named."""
    if options.json:
        record = {
            "versions": versions(),
            "device": txla.device_facts(device),
            "options": vars(options),
            "results": results,
        }
        Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
        note(f"written: {options.json}")


def seconds(call: Callable[[], Any], least: float = 0.02, rounds: int = 5) -> float:
    """Median seconds of one call, when many are started before the last one is waited for."""
    jax.block_until_ready(call())
    start = time.perf_counter()
    jax.block_until_ready(call())
    once = max(time.perf_counter() - start, 1e-7)
    calls = max(1, min(1000, int(least / once)))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        results = [call() for _ in range(calls)]
        jax.block_until_ready(results[-1])
        times.append((time.perf_counter() - start) / calls)
        del results
    return statistics.median(times)
