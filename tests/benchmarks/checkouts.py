"""This checkout against another one: networks of tensors, their values and gradients.

A change of the compiler is judged by programs that it was not made for. Each checkout runs in a
process of its own, both on one core and turn by turn, on the shared instances and on networks drawn
at random (see `contractions.py`). Times are seconds of the process's CPU, the least of the rounds.
Without another checkout this one is compared with itself, which shows the noise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from support import families, networks
from support.families import FAMILIES
from support.harness import arguments, environment, figure, geometric_mean, note, table
from support.networks import INSTANCES, Network

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).parent / "support" / "one_checkout.py"
COLUMNS = ["network", "ms", "run", "first s", "first", "temp MiB", "temp"]


class Checkout:
    """A process that times networks with the tenferro of one folder."""

    def __init__(self, folder: Path, core: int) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), str(folder), str(core)],
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: dict[str, Any]) -> Any:
        """The answer to one line."""
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        into.write(json.dumps(question) + "\n")
        into.flush()
        answer = out.readline()
        if not answer:
            sys.exit(f"the process of {self.folder} ended with {self._process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def chosen_networks(options: Namespace, dtype: str, part: str) -> list[Network]:
    """Shared instances and drawn networks that do not take too long."""
    files = sorted(INSTANCES.glob("*.json")) if INSTANCES.is_dir() else []
    found = [
        network for file in files if options.only in file.name for network in networks.read(file)
    ]
    found += [families.drawn(name, seed) for name in options.families for seed in options.seeds]
    times = 3 if part == "gradient" else 1
    return [each for each in found if each.seconds(dtype) * times <= options.limit]


def compared(
    pair: Sequence[Checkout], network: Network, dtype: str, part: str, rounds: int
) -> tuple[list[object], dict[str, float]]:
    """A row of the table, and this checkout over the other one."""
    question = {"network": asdict(network), "dtype": dtype, "part": part}
    made = [each.ask(question) for each in pair]
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for found, each in zip(times, pair, strict=True):
            found.append(each.ask({}))
    mine, other = map(min, times)
    ratios = {
        "run": mine / other,
        "first": made[0]["first"] / made[1]["first"],
        "temporaries": (made[0]["temporaries"] + 2**20) / (made[1]["temporaries"] + 2**20),
    }
    row = [
        f"{network.name[:40]}, {network.kind.removeprefix('opt_')}",
        f"{mine * 1e3:.2f}",
        f"{ratios['run']:.2f}",
        f"{made[0]['first']:.2f}",
        f"{ratios['first']:.2f}",
        f"{made[0]['temporaries'] / 2**20:.0f}",
        f"{ratios['temporaries']:.2f}",
    ]
    return row, ratios


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="a part of the names of the shared instances")
    parser.add_argument("other", nargs="?", type=Path, default=ROOT, help="the other checkout")
    parser.add_argument("--dtypes", nargs="+", default=["float64", "complex128"])
    parser.add_argument("--parts", nargs="+", default=["value", "gradient"])
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[families.JUDGING])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float, default=1.5, help="expected seconds a call")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if not (options.other / "tenferro" / "__init__.py").exists():
        sys.exit(f"checkouts: {options.other} is not a checkout of tenferro")
    environment()
    pair = [Checkout(folder, options.core) for folder in (ROOT, options.other.resolve())]
    compared(pair, families.drawn("outer", 0), "float64", "value", 1)  # JAX's start is not counted
    for part in options.parts:
        for dtype in options.dtypes:
            rows, found = [], []
            for network in chosen_networks(options, dtype, part):
                row, ratios = compared(pair, network, dtype, part, options.rounds)
                note("  " + ", ".join(map(str, row)))
                rows.append(row)
                found.append(ratios)
            table(f"{part}, {dtype}: this checkout, and its ratio to the other", COLUMNS, rows)
            for kind in ("run", "first", "temporaries"):
                ratios_of_kind = [each[kind] for each in found]
                mean = geometric_mean(ratios_of_kind)
                note(f"{kind}: mean {mean:.3f}, worst {max(ratios_of_kind):.2f}")
                figure(f"{dtype}, {part}: {kind}", mean)
    for each in pair:
        each.close()


if __name__ == "__main__":
    main()
