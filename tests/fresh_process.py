"""Fresh processes for the price of a fork.

A server has imported tenferro and JAX and started nothing. Each program runs in a fork of it, as
its `__main__`, from the first line to the exit of the interpreter. The state of a process (numbers
that passes draw, caches, backends, configuration) is new in each; only the imports are shared, and
that these work alone is tested in `test_import`.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SECONDS = 300
IMPORTED = ["doctest", "jax.numpy", "scipy.linalg", "scipy.special", "tenferro_xla"]


@cache
def server() -> subprocess.Popen[str]:
    """The server of this process; it ends with it, when its input does."""
    command = [sys.executable, "-W", "error", "-m", "tests.fresh_process"]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def run_fresh(program: str, arguments: Iterable[str], folder: Path, output: Path) -> int:
    """The exit status of a script, or of a module by its name, whose warnings are errors.

    What it writes to standard output and error is in the file `output`.
    """
    process = server()
    assert process.stdin is not None
    assert process.stdout is not None
    request = {"argv": [program, *arguments], "folder": str(folder), "output": str(output)}
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def serve() -> dict[str, Any] | None:
    """Fork for each request: the request in the child, None at the end in the server."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            request: dict[str, Any] = json.loads(line)
            return request
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()
    return None


def become(argv: list[str], folder: str, output: str) -> None:
    """Run a program in place of the server."""
    signal.alarm(SECONDS)
    os.chdir(folder)
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(path, flags)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.dup2(1, 2)
    program, sys.argv = argv[0], argv
    if program.endswith(".py"):
        sys.path[0] = str(Path(program).parent)
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for module in IMPORTED:
        import_module(module)
    if (asked := serve()) is not None:
        become(**asked)
