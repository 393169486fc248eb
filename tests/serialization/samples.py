"""Programs to save: written as text, so that they stay the same whatever the compiler does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tenferro.compiler import parse
from tenferro.ir import ExecProgram, with_last_use
from tenferro.runtime import GraphProgram, ProgramInput, Tensor
from tenferro.shape import Guard, dim, fresh_input

LAYER = """
exec_program(%0: f64[n,3], %1: f64[3,4], %2: f64[4]) {
  %3: f64[n,4] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %1  # model.py:3
  %4: f64[n,4] = broadcast_in_dim[shape=(n, 4), dims=(1,)] %2  # model.py:3
  %5: f64[n,4] = add %3, %4  # model.py:3
  %6: f64[n,4] = tanh %5  # model.py:4
  %7: f64[] = reduce_sum[axes=(0, 1)] %6  # größe.py:5
  return %7, %6, %7
}
"""

SIZES = """
exec_program(%0: f32[n,m], %1: c128[2*n + 1], %2: f64[m*n], %3: i64[<=m,?], %4: u8[max(m, n)]) {
  %5: f32[m*n] = reshape[shape=(m*n,)] %0
  %6: c128[floordiv(2*n + 1, 3)] = slice[starts=(0,), limits=(2*n - 1,), strides=(3,)] %1
  %7: f64[m,n] = reshape[shape=(m, n)] %2
  %8: i64[<=m,?] = negate %3
  return %5, %6, %7, %8, %4
}
"""

LITERALS = """
exec_program() {
  %0: bool[2] = constant[value=[True, False], dtype=bool]
  %1: i8[] = constant[value=-128, dtype=i8]
  %2: u64[1] = constant[value=[18446744073709551615], dtype=u64]
  %3: f32[2,2] = constant[value=[[0.0, -0.0], [inf, nan]], dtype=f32]
  %4: f64[3] = constant[value=[1e-300, 5e-324, 0.1], dtype=f64]
  %5: c64[] = constant[value=(-0.0+1j), dtype=c64]
  %6: c128[1] = constant[value=[(1-0j)], dtype=c128]
  %7: f16[] = constant[value=65504.0, dtype=f16]
  %8: f64[0,3] = constant[value=[], dtype=f64, shape=(0, 3)]
  %9: f32[2,2] = constant[value=[[0.0, -0.0], [inf, nan]], dtype=f32]
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9
}
"""

CHOICE = """
exec_program(%0: f64[3], %1: f64[3], %2: f64[3]) {
  %3: bool[3] = compare[direction='LT'] %0, %1
  %4: f64[3] = select %3, %0, %1
  %5: c128[3] = convert[dtype=c128] %4
  %6: f64[3] = real %5
  return %6
}
"""

LATE = """
exec_program(%0: f64[n], %1: f64[]) {
  %2: f64[<=n] = dynamic_truncate[axis=0] %0, %1
  %3: f64[<=n] = multiply %2, %2
  %4: i64[] = shape_of[axis=0] %3
  %5: f64[n] = pad_to_match[axis=0] %3, %0
  return %3, %4, %5
}
"""

LOOP = """
exec_program(%0: f64[n,2], %1: f64[2]) {
  %2: f64[2] = scan[consts=0, carry=1, length=n] %1, %0 {  # loop.py:7
    body(%0: f64[2], %1: f64[2]) {
      %2: f64[2] = multiply %0, %1  # loop.py:3
      %3: f64[2] = scan[consts=1, carry=1, length=3] %1, %2 {  # loop.py:5
        body(%0: f64[2], %1: f64[2]) {
          %2: f64[2] = add %0, %1  # loop.py:4
          return %2
        }
      }
      return %3
    }
  }
  %3: f64[2] = scan[consts=1, carry=1, length=2, reverse=True] %1, %2 {
    body(%0: f64[2], %1: f64[2]) {
      %2: f64[2] = add %0, %1  # loop.py:4
      return %2
    }
  }
  return %3, %2
}
"""

BRANCHES = """
exec_program(%0: i32[], %1: f64[n], %2: f64[]) {
  %3: f64[n], %4: f64[] = switch %0, %1, %2 {  # branch.py:3
    branches[0](%0: f64[n], %1: f64[]) {
      %2: f64[n] = sine %0  # branch.py:1
      return %2, %1
    }
    branches[1](%0: f64[n], %1: f64[]) {
      return %0, %1
    }
  }
  %5: f64[], %6: f64[n] = while[cond_consts=1, body_consts=1, max_steps=9] %4, %1, %2, %3 {
    cond(%0: f64[], %1: f64[], %2: f64[n]) {
      %3: bool[] = compare[direction='LT'] %1, %0
      return %3
    }
    body(%0: f64[n], %1: f64[], %2: f64[n]) {
      %3: f64[] = reduce_sum[axes=(0,)] %0
      %4: f64[] = add %1, %3
      %5: f64[n] = add %2, %0
      return %4, %5
    }
  }
  return %6, %5
}
"""

INDEXING = """
exec_program(%0: f64[5,3], %1: i64[2], %2: f64[2,3]) {
  %3: f64[2,3] = gather[offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1, slice_sizes=(1, 3)] %0, %1
  %4: f64[2,3] = remainder %3, %2
  %5: f64[5,3] = scatter[update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1] %0, %1, %4
  %6: f64[5,3] = scatter_reduce[update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1, combiner='max'] %5, %1, %2
  return %6
}
"""  # noqa: E501

NOTHING = """
exec_program(%0: f64[0]) {
  return %0, %0
}
"""


def program(
    text: str,
    names: str = "",
    defaults: Mapping[int, Any] | None = None,
    guards: tuple[Guard, ...] = (),
) -> GraphProgram:
    """The program of a text, with one word of `names` for each input."""
    return of_exec(with_last_use(parse(text)), names.split(), defaults, guards)


def of_exec(
    exec_program: ExecProgram,
    names: list[str] | None = None,
    defaults: Mapping[int, Any] | None = None,
    guards: tuple[Guard, ...] = (),
) -> GraphProgram:
    """An execution program with names for its inputs."""
    held = {i: Tensor(value) for i, value in (defaults or {}).items()}
    names = names or [f"x{i}" for i in range(len(exec_program.input_slots))]
    inputs = [
        ProgramInput(name, meta, fresh_input(meta, name), held.get(i))
        for i, (name, meta) in enumerate(zip(names, exec_program.input_metas, strict=True))
    ]
    return GraphProgram(exec_program, tuple(inputs), guards)


def samples() -> dict[str, GraphProgram]:
    """The programs, by name."""
    weights = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
    assumed = (Guard(dim("n"), dim("2*m + 1"), "add: x, y"), Guard(dim("m"), 3, "größe"))
    return {
        "layer": program(LAYER, "x w b", {1: weights, 2: np.array([0.5, -0.0, np.inf, np.nan])}),
        "sizes": program(SIZES, "x y z bounded ünïcode['key'][0]", guards=assumed),
        "literals": program(LITERALS),
        "choice": program(CHOICE, "a b unused"),
        "late": program(LATE, "x size"),
        "loop": program(LOOP, "xs start"),
        "branches": program(BRANCHES, "index x limit"),
        "indexing": program(INDEXING, "x rows y"),
        "nothing": program(NOTHING, "x"),
    }


def described(value: GraphProgram) -> list[object]:
    """All that a program is, to be compared."""
    return [
        str(value),
        value.digest,
        [each.meta for each in value.inputs],
        [None if each.default is None else bits(each.default) for each in value.inputs],
        value.guards,
    ]


def bits(tensor: Tensor) -> tuple[str, bytes]:
    """A tensor's type and the bytes of its elements."""
    return str(tensor.meta), tensor.numpy().tobytes()
