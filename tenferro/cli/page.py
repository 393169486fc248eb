"""The stages as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tenferro.cli.drawing import drawing
from tenferro.cli.listing import Address, difference, listing, source_listing
from tenferro.cli.stages import Stage

STYLE = """
:root { color-scheme: light dark; --edge: #8884; --soft: #8882; --mark: #f5a62366; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; display: flex; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; min-width: 14rem;
      border-right: 1px solid var(--edge); box-sizing: border-box; }
nav a { display: block; padding: .2rem 0; text-decoration: none; color: inherit; }
nav a:hover { text-decoration: underline; }
nav small { opacity: .6; display: block; }
main { padding: 1rem 2rem; min-width: 0; flex: 1; }
h1 { font-size: 1.2rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 2rem 0 0; }
h1, pre, svg { font-family: ui-monospace, monospace; }
p { margin: 0 0 .4rem; opacity: .75; }
pre, .graph { margin: 0; padding: .8rem; overflow-x: auto; background: var(--soft);
      border: 1px solid var(--edge); border-radius: 6px; font-size: 13px; }
pre a { color: inherit; text-decoration: none; } pre a:hover { text-decoration: underline; }
pre b { font-weight: 600; } .same, :target { background: var(--mark); border-radius: 3px; }
.site { opacity: .55; } .added { color: #2a8c3c; } .removed { color: #c0392b; }
.graph { margin-top: .8rem; } svg { width: 100%; } svg text { text-anchor: middle; font-size: 12px;
      fill: currentColor; } svg path { fill: none; stroke: #8889; }
rect { fill: var(--soft); stroke: #888; } .input rect, .output rect { stroke: #2a8c3c; }
svg .same rect { fill: var(--mark); }
@media (max-width: 700px) { body { display: block; } main { padding: .6rem; }
  nav { position: static; height: auto; border: 0; border-bottom: 1px solid var(--edge); }
  nav a { display: inline-block; margin-right: .8rem; } nav small { display: none; }
  pre { font-size: 11px; } }
"""

SCRIPT = """
const same = (event, on) => {
  const name = event.target.closest("[data-value]")?.dataset.value;
  if (name) document.querySelectorAll(`[data-value="${name}"]`)
    .forEach((each) => each.classList.toggle("same", on));
};
document.addEventListener("mouseover", (event) => same(event, true));
document.addEventListener("mouseout", (event) => same(event, false));
"""
"""Marks a value wherever it stands while the pointer is on it."""


def page(title: str, stages: Sequence[Stage], file: str = "", source: str = "") -> str:
    """A page with one section for each stage, and one for the source.

    Args:
        title: of the page.
        stages: in order.
        file: the name of the file that the function is from.
        source: its text; empty if there is none.
    """

    def address(site: str, line: str) -> str | None:
        return f"#L{line}" if source and site == file and line.isdigit() else None

    links = "".join(
        f'<a href="#s{number}">{number}. {escape(stage.title)}<small>{escape(stage.figures)}'
        "</small></a>"
        for number, stage in enumerate(stages, 1)
    )
    sections = "".join(_section(f"s{i}", stage, address) for i, stage in enumerate(stages, 1))
    if source:
        links = f'<a href="#source">{escape(file)}</a>' + links
        text = source_listing(source, "L")
        sections = (
            f'<section id="source"><h2>{escape(file)}</h2><pre>{text}</pre></section>{sections}'
        )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><nav>{links}</nav><main><h1>{escape(title)}</h1>"
        f"{sections}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _section(anchor: str, stage: Stage, address: Address) -> str:
    match stage.kind:
        case "listing":
            text = listing(stage.text, anchor, address)
        case "difference":
            text = difference(stage.text)
        case "text":
            text = escape(stage.text.rstrip())
    figures = f" ({escape(stage.figures)})" if stage.figures else ""
    return (
        f'<section id="{anchor}"><h2>{anchor[1:]}. {escape(stage.title)}</h2>'
        f"<p>{escape(stage.note)}{figures}</p><pre>{text}</pre>{_graph(stage, anchor)}</section>"
    )


def _graph(stage: Stage, anchor: str) -> str:
    """The drawing of a program, whose values are those of the first program in the text."""
    drawn = None if stage.program is None else drawing(stage.program, f"{anchor}-1")
    return "" if drawn is None else f'<div class="graph">{drawn}</div>'
