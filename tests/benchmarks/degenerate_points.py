"""Gradients of tenferro, JAX and PyTorch at degenerate points, as a table.

`--write FILE` keeps those of PyTorch, `--read FILE` takes them from there, since it may be
installed elsewhere than tenferro.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.linalg.degenerate_points import Array, points, verdict


def gradients_of_tenferro(tn: Any, made_for: bool) -> list[Array]:
    """Gradients by the functions in common with others, or by those that are made for the loss."""
    found = []
    for point in points(tn):
        loss = point.ours if made_for and point.ours is not None else None
        plain = loss if loss is not None else (lambda x, point=point: point.loss(tn, x))
        found.append(np.asarray(tn.grad(plain)(point.at)))
    return found


def gradients_of_jax(jax: Any) -> list[Array]:
    with jax.enable_x64(True):
        return [
            np.asarray(jax.grad(lambda x, point=point: point.loss(jax.numpy, x))(point.at))
            for point in points()
        ]


def gradients_of_torch(torch: Any) -> list[Array]:
    found = []
    for point in points():
        x = torch.tensor(point.at, requires_grad=True)
        try:
            point.loss(torch, x).backward()
            found.append(x.grad.numpy())
        except RuntimeError:  # a refusal counts as no number
            found.append(np.full_like(point.at, np.nan))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="keep the gradients of PyTorch here")
    parser.add_argument("--read", type=Path, help="gradients of PyTorch")
    arguments = parser.parse_args()
    if arguments.write is not None:
        torch = importlib.import_module("torch")
        kept = [gradient.tolist() for gradient in gradients_of_torch(torch)]
        arguments.write.write_text(json.dumps(kept), encoding="utf-8")
        return
    columns: dict[str, list[Array]] = {}
    if importlib.util.find_spec("tenferro"):
        tn = importlib.import_module("tenferro")
        columns["tenferro"] = gradients_of_tenferro(tn, made_for=False)
        columns["with its own functions"] = gradients_of_tenferro(tn, made_for=True)
    if importlib.util.find_spec("jax"):
        columns["JAX"] = gradients_of_jax(importlib.import_module("jax"))
    if arguments.read is not None:
        kept = json.loads(arguments.read.read_text(encoding="utf-8"))
        columns["PyTorch"] = [np.array(gradient) for gradient in kept]
    print(f"| loss | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    for number, point in enumerate(points()):
        said = " | ".join(verdict(found[number], point) for found in columns.values())
        print(f"| {point.text} | {said} |")


if __name__ == "__main__":
    main()
