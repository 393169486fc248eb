"""Networks on a device, orders of axes chosen by several costs, against `jax.jit(jnp.einsum)`.

The costs of the CPU, none (contractions only become matrix products), those that are known of the
device, and those of a file that `contraction_costs.py --fit whole_networks --json` wrote. Networks
are those on which nothing was fitted: every other one. PyTorch runs beside them if it is installed
and has the device.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import calibrate
import jax
import numpy as np
from support import networks
from support.harness import Samples, arguments, figure, geometric_mean, note, repeated, table
from support.harness import interleaved as measured
from support.networks import Network, Prepared
from support.on_device import begin, device_arguments, finish

from tenferro.compiler import CPU, DeviceCosts
from tenferro_xla import XlaExecutor

PEER = "jax.jit"


def executors(device: jax.Device, file: str | None) -> dict[str, XlaExecutor]:
    """One for each costs; those of a file are of what it was written for."""
    found = {
        "cpu": XlaExecutor(device, contraction_costs=CPU),
        "none": XlaExecutor(device, contraction_costs=None),
        "device": XlaExecutor(device),
    }
    if file:
        fitted = json.loads(Path(file).read_text())["results"]["costs"]
        found["fitted"] = XlaExecutor(device, contraction_costs=DeviceCosts(**fitted))
    return found


def contenders(
    network: Network, dtype: str, chosen: dict[str, XlaExecutor], gradient: bool
) -> dict[str, Prepared]:
    """What is timed against one another, all on arrays that are on the device."""
    operands = network.operands(dtype)
    found = {
        name: networks.tenferro(network, operands, gradient, executor)
        for name, executor in chosen.items()
    }
    device = next(iter(chosen.values())).device
    with jax.default_device(device):
        found[PEER] = networks.jax_jit(network, operands, gradient)
    torch = None if gradient else networks.torch(network, operands, device.platform)
    return found if torch is None else found | {"torch": torch}


def ratios(samples: dict[str, Samples]) -> dict[str, Any]:
    """Each over `jax.jit`."""
    return {name: each.over(samples[PEER]) for name, each in samples.items() if name != PEER}


def main() -> None:
    parser = arguments(__doc__)
    device_arguments(parser)
    parser.add_argument("--costs", metavar="FILE", help="with fitted costs")
    parser.add_argument("--random", type=int, default=8, help="how many random networks")
    parser.add_argument("--dtypes", nargs="+", default=["float64", "complex128"])
    parser.add_argument("--limit", type=float, default=0.1, help="expected seconds on a CPU")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gradient", action="store_true", help="value and gradient")
    options = parser.parse_args()
    device = begin(options)
    jax.config.update("jax_enable_x64", True)
    chosen = executors(device, options.costs)
    results: list[dict[str, Any]] = []
    for dtype in options.dtypes:
        for network in calibrate.chosen_networks(options.random)[1::2]:
            if network.seconds(dtype) > options.limit:
                note(f"left out: {network.name}: {network.seconds(dtype):.0f} s on a CPU")
                continue
            found = contenders(network, dtype, chosen, options.gradient)
            calls = {name: repeated(each.call, 3) for name, each in found.items()}
            samples = measured(calls, options.rounds)
            row = {"network": network.name, "dtype": dtype, "seconds": samples[PEER].median}
            results.append(row | {"over": ratios(samples)})
    report(results, options.dtypes)
    finish(options, device, results)


def report(results: list[dict[str, Any]], dtypes: list[str]) -> None:
    """Geometric means and the largest."""
    for dtype in dtypes:
        rows = [row["over"] for row in results if row["dtype"] == dtype]
        names = list(dict.fromkeys(name for row in rows for name in row))
        lines = []
        for name in names:
            mine = [row[name] for row in rows if name in row]
            mean = geometric_mean(mine)
            figure(f"{dtype}, costs {name}, over jax.jit", mean)
            above = sum(ratio > 1.05 for ratio in mine)
            lines.append([name, f"{mean:.3f}", f"{max(mine, default=math.nan):.2f}", above])
        columns = ["costs", "mean", "largest", "above 1.05"]
        table(f"{dtype}: seconds over jax.jit, {len(rows)} networks", columns, lines)
    assert np.isfinite([value for row in results for value in row["over"].values()]).all()


if __name__ == "__main__":
    main()
