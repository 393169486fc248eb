"""The stages as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tenferro.cli.stages import Stage

STYLE = """
:root { color-scheme: light dark; --edge: #8884; --soft: #8882; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; display: flex; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; min-width: 13rem;
      border-right: 1px solid var(--edge); box-sizing: border-box; }
nav a { display: block; padding: .2rem 0; text-decoration: none; color: inherit; }
nav a:hover { text-decoration: underline; }
main { padding: 1rem 2rem; min-width: 0; flex: 1; }
h1 { font-size: 1.2rem; } h2 { font-size: 1.05rem; margin: 2rem 0 0; }
h1, pre { font-family: ui-monospace, monospace; }
p { margin: 0 0 .4rem; opacity: .75; }
pre { margin: 0; padding: .8rem; overflow-x: auto; background: var(--soft);
      border: 1px solid var(--edge); border-radius: 6px; font-size: 13px; }
.site { opacity: .55; } .added { color: #2a8c3c; } .removed { color: #c0392b; }
"""


def page(title: str, stages: Sequence[Stage]) -> str:
    """A page with one section for each stage."""
    links = "".join(
        f'<a href="#s{number}">{number + 1}. {escape(stage.title)}</a>'
        for number, stage in enumerate(stages)
    )
    sections = "".join(_section(number, stage) for number, stage in enumerate(stages))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"<body><nav>{links}</nav><main><h1>{escape(title)}</h1>{sections}</main></body></html>\n"
    )


def _section(number: int, stage: Stage) -> str:
    is_diff = stage.title.startswith("pass ")
    text = "\n".join(_line(line, is_diff) for line in stage.text.rstrip().split("\n"))
    return (
        f'<section id="s{number}"><h2>{number + 1}. {escape(stage.title)}</h2>'
        f"<p>{escape(stage.note)}</p><pre>{text}</pre></section>"
    )


def _line(line: str, is_diff: bool) -> str:
    code, mark, site = line.partition("  # ")
    shown = escape(code) + (f'<span class="site">{escape(mark + site)}</span>' if mark else "")
    kind = {"+": "added", "-": "removed"}.get(line[:1]) if is_diff else None
    return shown if kind is None else f'<span class="{kind}">{shown}</span>'
