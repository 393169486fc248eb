"""Draws `growth.svg`: how programs grow when they are differentiated again, in tenferro and in JAX.

`python docs/pictures/growth.py` counts, and writes the picture next to this file. A count is the
size of the n-th derivative by nested `jvp`: the instructions of the optimized program in tenferro,
the equations of the jaxpr, with those of the jaxprs that it calls, in JAX. The functions are those
of `tests/benchmarks/high_order.py`.

The picture has no background. Its colours can be read on white and on black.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tenferro as tn

PICTURE = Path(__file__).with_suffix(".svg")
ORDERS = range(1, 9)
RNG = np.random.default_rng(0)
W1, B1, W2, B2, W3 = (RNG.normal(size=size) / 2 for size in ((8,), (8,), (8, 8), (8,), (8,)))

Function = Callable[[Any], Any]
Sizes = dict[str, list[int]]


def product(library: Any, x: Any) -> Any:
    """The product of a sine and of the exponential of a square."""
    return library.sin(x) * library.exp(x * x)


def chain(library: Any, x: Any) -> Any:
    """The hyperbolic tangent, applied four times."""
    for _ in range(4):
        x = library.tanh(x)
    return x


def network(library: Any, x: Any) -> Any:
    """A network of two hidden layers."""
    hidden = library.tanh(x * W1 + B1)
    return W3 @ library.tanh(W2 @ hidden + B2)


FUNCTIONS = {"sin(x) · exp(x²)": product, "tanh, four deep": chain, "a network 1-8-8-1": network}


def ours() -> Sizes:
    """The sizes in tenferro, by the title of the function."""
    return {
        title: sizes(tn.jvp, lambda x, f=f: f(tn, x), instructions)
        for title, f in FUNCTIONS.items()
    }


def theirs() -> Sizes:
    """The sizes in JAX, by the title of the function."""
    return {
        title: sizes(jax.jvp, lambda x, f=f: f(jnp, x), equations) for title, f in FUNCTIONS.items()
    }


def sizes(jvp: Any, function: Function, size: Callable[[Function], int]) -> list[int]:
    """The sizes of the derivatives of a function, by nested forward mode."""
    found = []
    for _ in ORDERS:
        function = pushed(jvp, function)
        found.append(size(function))
    return found


def pushed(jvp: Any, function: Function) -> Function:
    """The derivative of a function of one number."""
    return lambda x: jvp(function, (x,), (1.0,))[1]


def instructions(function: Function) -> int:
    """The size of tenferro's program of a function of one number."""
    program = tn.make_program(function, tn.TensorSpec((), "float64"))
    return len(program.exec_program.instructions)


def equations(function: Function) -> int:
    """The size of JAX's jaxpr of a function of one number, in 64 bits."""
    with jax.enable_x64(True):
        return equations_within(jax.make_jaxpr(function)(jnp.float64(0.3)).jaxpr)


def equations_within(jaxpr: Any) -> int:
    """How many equations a jaxpr and those that it calls have."""
    parameters = [v for each in jaxpr.eqns for v in jax.tree.leaves(list(each.params.values()))]
    called = [getattr(value, "jaxpr", value) for value in parameters]
    return len(jaxpr.eqns) + sum(equations_within(each) for each in called if hasattr(each, "eqns"))


# The drawing: one panel for each function, with a logarithmic vertical axis from 1 to 10⁵.

TEXT, COLOURS = "#7d8793", {"tenferro": "#e8590c", "JAX": "#3d87d9"}
WIDTH, HEIGHT, DECADES = 200, 180, 5
LEFT, TOP, GAP, BELOW = 52, 58, 76, 46
FONT = 'font-family="Helvetica, Arial, sans-serif"'


def picture(ours: Sizes, theirs: Sizes) -> str:
    """The picture as SVG."""
    width, height = LEFT + len(ours) * (WIDTH + GAP), TOP + HEIGHT + BELOW
    heading = "Size of the n-th derivative: instructions in tenferro, equations in JAX"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
        f"<title>{heading}</title>",
        text(LEFT, 20, heading, bold=True),
        *(text(LEFT - 6, up(10**n) + 4, spaced(10**n), "end", 11) for n in range(DECADES + 1)),
    ]
    for place, title in enumerate(ours):
        curves = {"JAX": theirs[title], "tenferro": ours[title]}
        lines += panel(LEFT + place * (WIDTH + GAP), title, curves)
    return "\n".join([*lines, "</svg>", ""])


def panel(left: int, title: str, curves: Sizes) -> list[str]:
    """The lines of SVG of one panel."""
    lines = [text(left, TOP - 14, title)]
    for n in range(DECADES + 1):
        grid = f'stroke="{TEXT}" stroke-opacity="0.35"'
        lines.append(f'<path d="M{left} {up(10**n)}h{WIDTH}" {grid}/>')
    lines += [text(along(left, n), TOP + HEIGHT + 18, str(n), "middle", 11) for n in ORDERS]
    lines.append(text(left + WIDTH / 2, TOP + HEIGHT + 38, "order n", "middle", 12))
    for name, counts in curves.items():
        colour = COLOURS[name]
        points = [(along(left, n), up(count)) for n, count in zip(ORDERS, counts, strict=True)]
        path = "L".join(f"{x} {y}" for x, y in points)
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        lines += [f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in points]
        x, y = points[-1]
        lines.append(text(x + 8, y - 3, name, colour=colour, bold=True))
        lines.append(text(x + 8, y + 12, spaced(counts[-1]), colour=colour))
    return lines


def along(left: int, order: int) -> float:
    """Where an order is on the horizontal axis."""
    return round(left + 8 + (WIDTH - 16) * (order - 1) / (len(ORDERS) - 1), 1)


def up(count: int) -> float:
    """Where a count is on the vertical axis."""
    return round(TOP + HEIGHT * (1 - math.log10(count) / DECADES), 1)


def spaced(number: int) -> str:
    """A number with spaces between its thousands."""
    return f"{number:,}".replace(",", " ")


def text(
    x: float,
    y: float,
    words: str,
    anchor: str = "start",
    size: int = 13,
    colour: str = TEXT,
    bold: bool = False,
) -> str:
    """One line of text as SVG."""
    style = f'font-size="{size}" fill="{colour}"' + ' font-weight="bold"' * bold
    return f'<text x="{x}" y="{round(y, 1)}" text-anchor="{anchor}" {style}>{words}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(ours(), theirs()), encoding="utf-8")
