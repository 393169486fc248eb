"""What an import costs: tenferro, the packages it stands on, and tenferro's first use.

Each sample is a fresh interpreter that times its own import, with compiled bytecode on disk. The
`process` column is the whole interpreter, start to end, less one that imports nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

from support.harness import Samples, arguments, environment, table, verdict

IMPORTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "tenferro": "import tenferro",
    "tenferro, first tn.grad": "import tenferro; tenferro.grad",
    "tenferro, every name": "import tenferro; [getattr(tenferro, n) for n in tenferro.__all__]",
    "jax": "import jax",
    "tenferro_xla": "import tenferro_xla",
}
WITHOUT_JAX = [name for name in IMPORTS if name.startswith("tenferro") and "_" not in name]


def sample(name: str) -> tuple[float, float]:
    """Seconds of the import and of the whole process; AssertionError if it brings JAX in."""
    code = f"import time; t = time.perf_counter(); {IMPORTS[name]}; t = time.perf_counter() - t"
    check = "import sys; print(t, 'jax' in sys.modules)"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {check}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tempfile.gettempdir(),
    )
    whole = time.perf_counter() - start
    seconds, has_jax = done.stdout.split()
    assert name not in WITHOUT_JAX or has_jax == "False", f"{name} imports jax"
    return float(seconds), whole


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    chosen = parser.parse_args()
    environment()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in IMPORTS}
    for number in range(1 + chosen.rounds):
        for name in IMPORTS:
            result = sample(name)
            if number > 0:  # the first finds cold files
                found[name].append(result)
    imports = {name: Samples(tuple(each for each, _ in pairs)) for name, pairs in found.items()}
    wholes = {name: Samples(tuple(each for _, each in pairs)) for name, pairs in found.items()}
    idle = wholes["nothing"].median
    rows = [
        [
            name,
            imports[name].text(1e3, 1),
            f"{imports[name].over(imports['numpy']):.2f}",
            f"{1e3 * (wholes[name].median - idle):.1f}",
        ]
        for name in IMPORTS
    ]
    table("import", ["package", "ms [quartiles]", "/ numpy", "process ms"], rows)
    verdict("import tenferro, over numpy", imports["tenferro"].over(imports["numpy"]), 1.5, 1.2)


if __name__ == "__main__":
    main()
