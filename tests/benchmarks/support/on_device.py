"""Benchmarks on a device that is named: `--device gpu:0`, `--json FILE`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import jax
from support.harness import environment, note, versions

import tenferro_xla as txla
from tenferro_xla.checks.checking import seconds_of as seconds

__all__ = ["begin", "device_arguments", "finish", "seconds"]


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
