"""Run benchmark scripts, print all their figures in one table, and compare it with a saved run.

`--save FILE` keeps the figures as JSON. `--compare FILE` adds a column with the figures of such a
file, says what got slower beyond the spread of both, and exits with 1 if anything did. The spread
is that of the quartiles over the rounds of a script, or of the least and the largest of `--repeat`
runs.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[1]
sys.path.insert(0, str(FOLDER))

from support.figures import FIGURES, Figure, Run, over_repeats, read  # noqa: E402
from support.harness import arguments, environment, note, table, versions  # noqa: E402


def measured(command: Sequence[str]) -> list[Figure]:
    """The figures of one run of a script with options; its own tables are printed too."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "figures")
        file.touch()
        subprocess.run(
            [sys.executable, *command], env={**os.environ, FIGURES: str(file)}, check=True
        )
        return read(file)


def span(figure: Figure) -> str:
    """`value [low, high]`."""
    text = f"{figure.value:.3g}"
    return text if figure.low == figure.high else f"{text} [{figure.low:.3g}, {figure.high:.3g}]"


def show(run: Run, before: Run | None) -> None:
    """Print the table of a run, beside that of an earlier one."""
    earlier = {} if before is None else {(s, f.what): f for s, f in before.figures()}
    rows = []
    for script, figure in run.figures():
        old = earlier.get((script, figure.what))
        bound = "" if figure.bound is None else f"{figure.bound:g}"
        rows.append([
            script, figure.what, span(figure), bound + ("" if figure.kept else " MISSED"),
            "" if figure.aim is None else f"{figure.aim:g}",
            *([] if before is None else ["" if old is None else span(old)]),
        ])  # fmt: skip
    names = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    times = "once" if run.repeats == 1 else f"{run.repeats} times"
    columns = ["script", "figure", "value [spread]", "bound", "aim"]
    table(
        f"All figures, each script run {times}; {names}",
        columns if before is None else [*columns, "before"],
        rows,
    )


PAGE = """# Measured

All figures of one run of

```bash
nox -s bench -- {command}
```

Smaller is better. Each figure is {kind}.
Contenders take turns within a run, so that a slow minute is slow for all. "Over" a peer is a ratio
to it. A bound is what must hold, an aim what would be good.

{versions}; {machine}, {cores} cores, shared.
"""


def write(run: Run, file: Path) -> None:
    """Write the tables of a run as a page of Markdown."""
    once = "a median over rounds, with its quartiles"
    often = f"the median of {run.repeats} runs, with the least and the largest"
    lines = [
        PAGE.format(
            command=" ".join(f'"{name}"' if " " in name else name for name in run.scripts),
            kind=once if run.repeats == 1 else often,
            versions=", ".join(f"{name} {version}" for name, version in run.versions.items()),
            machine=platform.machine(),
            cores=len(os.sched_getaffinity(0)),
        )
    ]
    for script, figures in run.scripts.items():
        lines += [f"## {script}", "", "| figure | value | bound | aim |", "|---|---|---|---|"]
        for figure in figures:
            bound, aim = ("" if x is None else f"{x:g}" for x in (figure.bound, figure.aim))
            bound += "" if figure.kept else " (missed)"
            lines.append(f"| {figure.what} | {span(figure)} | {bound} | {aim} |")
        lines.append("")
    file.write_text("\n".join(lines).rstrip() + "\n")


def slower(run: Run, before: Run) -> list[str]:
    """What got slower than in an earlier run, beyond the spread of both."""
    earlier = {(script, figure.what): figure for script, figure in before.figures()}
    return [
        f"{script}: {figure.what}: {span(old)} -> {span(figure)}"
        for script, figure in run.figures()
        if (old := earlier.get((script, figure.what))) is not None and figure.slower(old)
    ]


def chosen_commands(names: Sequence[str]) -> dict[str, list[str]]:
    """The scripts with these names or paths, and their options; all of them if none is named."""
    if not names:
        return {path.stem: [str(path)] for path in sorted(FOLDER.glob("*.py"))}
    commands: dict[str, list[str]] = {}
    for name, *options in map(shlex.split, names):
        path = Path(name) if Path(name).exists() else FOLDER / f"{Path(name).stem}.py"
        commands[shlex.join([path.stem, *options])] = [str(path), *options]
    missing = [Path(path).name for path, *_ in commands.values() if not Path(path).exists()]
    if missing:
        have = ", ".join(sorted(path.stem for path in FOLDER.glob("*.py")))
        sys.exit(f"bench: there is no script {', '.join(missing)}; there are {have}")
    return commands


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "scripts", nargs="*", help="names or paths, options with the name in quotes; all if none"
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs of each script")
    parser.add_argument("--save", type=Path, help="keep the figures in this file")
    parser.add_argument("--write", type=Path, help="write the figures into this page of Markdown")
    parser.add_argument("--compare", type=Path, help="a file that --save wrote")
    chosen = parser.parse_args()
    before = None if chosen.compare is None else Run.load(chosen.compare)
    scripts = {
        name: over_repeats([measured(command) for _ in range(chosen.repeat)])
        for name, command in chosen_commands(chosen.scripts).items()
    }
    run = Run(versions(), chosen.repeat, scripts)
    environment()
    show(run, before)
    if chosen.save is not None:
        run.save(chosen.save)
    if chosen.write is not None:
        write(run, chosen.write)
    if before is not None:
        worse = slower(run, before)
        note("nothing got slower beyond its spread" if not worse else "slower beyond the spread:")
        for line in worse:
            note(f"  {line}")
        sys.exit(bool(worse))


if __name__ == "__main__":
    main()
