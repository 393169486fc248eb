"""Networks for the tests: instances of the benchmark suite, and random ones."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tenferro.ir import NumpyArray as Array
from tenferro.network.subscripts import Subscripts

INSTANCES = Path(__file__).parents[2] / "shared" / "einsum_instances"


def instances() -> list[dict[str, Any]]:
    """The instances that lie beside the checkout; none where they do not."""
    return [json.loads(path.read_text()) for path in sorted(INSTANCES.glob("*.json"))]


def random_array(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Normal numbers, scaled so that long contractions do not overflow."""
    values = generator.normal(size=shape) / math.sqrt(max(shape, default=1))
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.normal(size=shape) / math.sqrt(max(shape, default=1))
    return np.asarray(values, dtype)


@st.composite
def expressions(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """Subscripts with repeated labels, hyper-edges and any output, and shapes to go with them."""
    labels = "abcde"[: draw(st.integers(1, 5))]
    sizes = {label: draw(st.integers(0 if draw(st.booleans()) else 1, 3)) for label in labels}
    terms = draw(st.lists(st.lists(st.sampled_from(labels), max_size=4), min_size=1, max_size=4))
    used = sorted({label for term in terms for label in term})
    output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    text = ",".join("".join(term) for term in terms) + "->" + "".join(output)
    return text, [tuple(sizes[label] for label in term) for term in terms]


def ring(count: int, seed: int = 0) -> tuple[Subscripts, dict[int, int]]:
    """A random network on a ring with chords, its edges of sizes 2 to 5."""
    generator = np.random.default_rng(seed)
    edges = [(i, (i + 1) % count) for i in range(count)]
    edges += [tuple(generator.choice(count, 2, replace=False)) for _ in range(count // 2)]
    terms: list[list[int]] = [[] for _ in range(count)]
    for label, (a, b) in enumerate(edges):
        terms[a].append(label)
        terms[b].append(label)
    sizes = {label: int(generator.integers(2, 6)) for label in range(len(edges))}
    return Subscripts(tuple(map(tuple, terms)), ()), sizes
