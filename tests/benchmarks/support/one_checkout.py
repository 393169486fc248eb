"""Times networks with the tenferro of one folder, for `checkouts.py`.

A line of JSON on standard input with a network makes it ready, and is answered by what that took;
an empty object is answered by the seconds of one call. Arguments: the folder, and a core.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

FOLDER, CORE = Path(sys.argv[1]), int(sys.argv[2])
sys.path.insert(1, str(Path(__file__).parents[1]))  # after PYTHONPATH, which names the folder
os.sched_setaffinity(0, {CORE})

import jax  # noqa: E402
from support import networks  # noqa: E402
from support.harness import repeated  # noqa: E402

import tenferro as tn  # noqa: E402

clock = time.process_time


def main() -> None:
    assert Path(str(tn.__file__)).is_relative_to(FOLDER), tn.__file__
    jax.config.update("jax_enable_x64", True)  # this process is JAX's as well
    measure = None
    for line in sys.stdin:
        question = json.loads(line)
        if question:
            network = networks.Network.of(question["network"])
            operands = network.operands(question["dtype"])
            start = clock()
            made = networks.tenferro(network, operands, question["part"] == "gradient")
            made.call()
            first = clock() - start
            once = repeated(made.call, 1, clock)()
            measure = repeated(made.call, max(1, min(100, int(5e-3 / max(once, 1e-6)))), clock)
            answer: object = {"first": first, "temporaries": made.temporaries}
        else:
            assert measure is not None
            answer = measure()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
