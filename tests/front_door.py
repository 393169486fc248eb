"""`tenferro/__init__.pyi`, written from the tables of `tenferro/__init__.py`.

`python -m tests.front_door` writes it.
"""

from pathlib import Path

import tenferro

STUB = Path(tenferro.__file__).with_suffix(".pyi")


def stub() -> str:
    """What editors and type checkers read of the package, whose names are loaded at first use."""
    modules = {name: f"from tenferro import {name} as {name}" for name in tenferro._MODULES}
    lines = [*modules.values()]
    homes = {**tenferro._HOMES, "numpy": f"* {tenferro._HOMES['numpy']}"}
    for home in sorted(homes):
        for name in homes[home].split():
            ignored = "  # type: ignore[no-redef]  # `shape` is a function there"
            renamed = ignored if name == "*" else f" as {name}"
            lines.append(f"from tenferro.{home} import {name}{renamed}")
    lines.append(modules["shape"])  # the last one counts for some, the first for others
    versions = [f"{name}: str" for name in ("__version__", "__array_api_version__")]
    docstring = '"""The names of tenferro for type checkers, by tests/front_door.py."""'
    return "\n".join(["# ruff: noqa: F811, I001", docstring, "", *lines, "", *versions, ""])


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
