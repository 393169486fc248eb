"""LoopFusion: a loop that another one computes on its way is left out."""

from tenferro.compiler import LoopFusion, parse
from tests.programs import assert_rewrites

VALUES = """
  {results} = while[cond_consts=0, body_consts=1, max_steps=30] %0, %1 {{
    cond(%0: f64[]) {{
      %1: f64[] = constant[value={limit}, dtype=f64]
      %2: bool[] = compare[direction='GT'] %0, %1
      return %2
    }}
    body(%0: f64[], %1: f64[]) {{
      %2: f64[] = multiply %0, %1
      return %2
    }}
  }}"""
PAIR = """
  %4: f64[], %5: f64[] = while[cond_consts=0, body_consts=1, max_steps=30] %0, %1, %2 {
    cond(%0: f64[], %1: f64[]) {
      %2: f64[] = constant[value=0.5, dtype=f64]
      %3: bool[] = compare[direction='GT'] %0, %2
      return %3
    }
    body(%0: f64[], %1: f64[], %2: f64[]) {
      %3: f64[] = multiply %0, %1
      %4: f64[] = multiply %0, %2
      return %3, %4
    }
  }"""


JOINED = """
exec_program(%0: f64[], %1: f64[], %2: f64[]) {
  %4: f64[], %5: f64[] = while[cond_consts=0, body_consts=1, max_steps=30] %0, %1, %2 {
    cond(%0: f64[], %1: f64[]) {
      %2: f64[] = constant[value=0.5, dtype=f64]
      %3: bool[] = compare[direction='GT'] %0!, %2!
      return %3
    }
    body(%0: f64[], %1: f64[], %2: f64[]) {
      %3: f64[] = multiply %0, %1!
      %4: f64[] = multiply %0!, %2!
      return %3, %4
    }
  }
  %6: f64[] = sine %4
  return %6, %5
}"""


def program(values: str, pair: str = PAIR) -> str:
    """Both loops, in the order of values and tangents."""
    header = "exec_program(%0: f64[], %1: f64[], %2: f64[]) {"
    return f"\n{header}{values}{pair}\n  %6: f64[] = sine %3\n  return %6, %5\n}}"


def test_the_loop_of_the_values_is_part_of_that_of_the_tangents() -> None:
    values = VALUES.format(results="%3: f64[]", limit=0.5)
    assert_rewrites(LoopFusion(), program(values), JOINED)


def test_loops_that_end_otherwise_stay_apart() -> None:
    parsed = parse(program(VALUES.format(results="%3: f64[]", limit=0.25)))
    assert LoopFusion().run(parsed) is parsed
