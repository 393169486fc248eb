"""The farm: random kills, overhead beside parts of a second, and the cost of many parts.

Each kill ends a worker, the coordinator or both with -9 at a random moment; the run is repeated
until it ends, and its bits are compared with those of a run that nobody killed. Overhead is the
time of a run with one worker beyond what its parts take, by the clock and by the processor.
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from support.harness import arguments, environment, note, table, verdict

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import tenferro as tn  # noqa: E402
from tests.farm.killing import (  # noqa: E402
    LIMIT,
    PARTS,
    coordinator,
    engine,
    kill,
    members,
    parts_in,
    slow_run,
    wait_for,
    workers,
)

MANY = 10_000


def kills(count: int, seed: int) -> None:
    """Kill at random, run again, compare bits."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        expected, _ = slow_run(engine("threads"), folder)
    rows = []
    for number in range(count):
        kind = ("spawn", "loky")[number % 2]
        whom = chance.choice(["worker", "coordinator", "both"])
        store = Path(tempfile.mkdtemp())
        with coordinator(kind, store) as first:
            wanted = chance.randrange(2 * PARTS)
            wait_for(lambda store=store, wanted=wanted: parts_in(store) >= wanted)
            time.sleep(chance.uniform(0, 0.1))
            at = parts_in(store)
            if whom != "coordinator":
                for worker in workers(first.pid)[:1]:
                    kill(worker)
            if whom != "worker":
                kill(first.pid)
                first.wait(LIMIT)
                gone = wait_for(lambda first=first: not members(first.pid), 30)
            else:
                first.communicate(timeout=LIMIT)
                gone = True
        kept = parts_in(store)
        with coordinator(kind, store) as second:
            out, err = second.communicate(timeout=LIMIT)
        same = out.split("\n")[0] == expected
        rows.append(
            [kind, whom, at, kept, "gone" if gone else "ALIVE", "same" if same else "OTHER"]
        )
        if not same:
            note(err)
        shutil.rmtree(store)
    table("kills", ["engine", "killed", "parts then", "kept", "orphans", "bits"], rows)
    verdict("kills that changed bits", sum(row[-1] != "same" for row in rows), 0, 0)


def network(rounds: int, size: int) -> tuple[Any, list[Any]]:
    """A network of so many rounds, each a product of two matrices, and its operands."""
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=(n, size)) for n in (rounds, size, size, rounds, size)]
    expression, path = "xi,ij,jk,xk,ki->", [(0, 1), (0, 3), (0, 2), (0, 1)]
    plan = tn.einsum_plan(expression, *arrays, optimize=path, slices="x")
    return lambda *operands: tn.einsum(expression, *operands, optimize=plan), arrays


def overhead(parts: int, worker: str) -> None:
    """What a run takes beyond its parts of about a second."""
    rounds, seconds, whole = 8 * parts, 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        while seconds < 0.7 * parts:
            rounds = int(rounds * parts / seconds) + 1 if seconds else rounds
            f, arrays = network(rounds, 512)
            farm = tn.FarmExecutor(pool, folder, worker=worker, parts=parts)
            run = tn.jit(f, executor=farm)
            for scale in (1.0, 2.0):  # the second job finds everything compiled
                begun = time.perf_counter()
                run(scale * arrays[0], *arrays[1:])
                whole = time.perf_counter() - begun
                seconds = farm.report().jobs[-1].seconds
                if seconds < 0.7 * parts:
                    break
    note(f"{parts} parts of {seconds / parts:.2f} s: {whole:.2f} s in all, {seconds:.2f} s of work")
    verdict("overhead of the farm", whole / seconds - 1, 0.03, 0.01)


def many(store: str) -> None:
    """Make 10⁴ parts, or find them; in a process of its own."""
    f, arrays = network(MANY, 4)
    with ThreadPoolExecutor(2) as pool:
        small = tn.FarmExecutor(pool, tempfile.mkdtemp(), worker="numpy")
        tn.jit(f, executor=small)(*arrays)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        farm = tn.FarmExecutor(pool, store, worker="numpy", parts=MANY)
        begun, used = time.perf_counter(), time.process_time()
        tn.jit(f, executor=farm)(*arrays)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        (report,) = farm.report().jobs
        print(
            report.found,
            grown / 1024,
            1e3 * (time.process_time() - used) / MANY,
            1e3 * (time.perf_counter() - begun) / MANY,
        )


def many_parts() -> None:
    """Time and memory of a coordinator of 10⁴ parts."""
    store = tempfile.mkdtemp()
    rows = []
    for what in ("make", "find"):
        for result in Path(store).glob("*/result"):
            result.unlink()
        command = [sys.executable, __file__, "--many", store]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        found, grown, used, taken = map(float, done.stdout.split())
        rows.append([what, int(found), f"{grown:.1f}", f"{used:.3f}", f"{taken:.3f}"])
    shutil.rmtree(store)
    table(f"{MANY} parts", ["", "found", "MiB more", "ms each, processor", "ms each, clock"], rows)
    verdict("memory of 10⁴ parts, MB", grown * 1.048576, 50, 10)
    verdict("a part that is found, ms", used, 1, 0.5)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", type=int, default=20)
    parser.add_argument("--worker", default="xla")
    parser.add_argument("--many", help="a folder: only make or find the many parts in it")
    chosen = parser.parse_args()
    if chosen.many:
        many(chosen.many)
        return
    environment()
    many_parts()
    if chosen.parts:
        overhead(chosen.parts, chosen.worker)
    if chosen.kills:
        kills(chosen.kills, chosen.seed)


if __name__ == "__main__":
    main()
