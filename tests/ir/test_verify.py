from dataclasses import replace

import pytest

from tenferro.compiler import parse
from tenferro.errors import VerifyError
from tenferro.ir import parse_exec, verify
from tenferro.ops.extension import vocabulary_of

SOUND = """
exec_program(%0: f64[3,2], %1: f64[3,2]) {
  %2: f64[3,2] = add %0, %1!
  %3: f64[2,3] = transpose[perm=(1, 0)] %0!  # user.py:12
  %10: f64[2,3] = sine %3!
  return %10, %2
}"""


def test_a_sound_program_passes() -> None:
    verify(parse(SOUND))
    verify(parse(SOUND.replace("!", "")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("sine %3!", "sine %5"),
            """
sine reads %5 before it is written
  %10: f64[2,3] = sine %5
                       ^^ sine reads %5 before it is written""",
        ),
        (
            ("%10: f64[2,3] = sine %3!", "%1: f64[2,3] = sine %10"),
            """
sine reads %10 before it is written
  %1: f64[2,3] = sine %10
                      ^^^ sine reads %10 before it is written""",
        ),
        (
            ("%10: f64[2,3] = sine", "%2: f64[2,3] = sine"),
            """
sine writes %2, which is written already
  %2: f64[2,3] = sine %3!
  ^^ sine writes %2, which is written already""",
        ),
        (
            ("%3: f64[2,3]", "%3: f64[3,2]"),
            """
transpose records f64[3,2], but the op infers f64[2,3]
  %3: f64[3,2] = transpose[perm=(1, 0)] %0!  # user.py:12
  ^^^^^^^^^^^^ transpose records f64[3,2], but the op infers f64[2,3]""",
        ),
        (
            ("%10: f64[2,3] = sine", "%10: f64[2,<=3] = sine"),
            """
sine records f64[2,<=3], but the op infers f64[2,3]
  %10: f64[2,<=3] = sine %3!
  ^^^^^^^^^^^^^^^ sine records f64[2,<=3], but the op infers f64[2,3]""",
        ),
        (
            ("add %0, %1!", "add %0!, %1!"),
            """
add marks %0 as last used, but it is read later
  %2: f64[3,2] = add %0!, %1!
                     ^^^ read later""",
        ),
        (
            ("sine %3!", "sine %3!, %3!"),
            """
sine: takes 1 operand, got 2
  %10: f64[2,3] = sine %3!, %3!
                  ^^^^ sine: takes 1 operand, got 2""",
        ),
    ],
)
def test_what_breaks_an_invariant_is_pointed_at(change: tuple[str, str], message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(parse(SOUND.replace(*change)))
    assert str(caught.value) == message.strip("\n")


def test_the_pass_that_ran_is_named() -> None:
    with pytest.raises(VerifyError, match=r"^after pass 'cse': sine reads %5 before"):
        verify(parse_exec(SOUND.replace("sine %3!", "sine %5"), vocabulary_of(())), after="cse")


def test_an_output_that_nothing_writes_is_refused() -> None:
    with pytest.raises(VerifyError, match="output slot %7 is not written by any instruction"):
        verify(parse(SOUND.replace("return %10", "return %7")))


def test_an_input_that_is_declared_twice_is_refused() -> None:
    with pytest.raises(VerifyError, match="input slot %0 is declared twice"):
        verify(parse(SOUND.replace("%1: f64[3,2])", "%0: f64[3,2])")))


def test_slots_stay_within_the_program() -> None:
    with pytest.raises(VerifyError, match="sine writes %10, but the program has 10 slots"):
        verify(replace(parse(SOUND), n_slots=10))


def test_the_number_of_outputs_is_that_of_the_op() -> None:
    text = SOUND.replace("%10: f64[2,3] = sine", "%10: f64[2,3], %11: f64[2,3] = sine")
    with pytest.raises(VerifyError, match="sine writes 2 slots, but has 1 output"):
        verify(parse(text))


def test_every_operand_has_a_mark_or_none_has() -> None:
    program = parse(SOUND)
    first, *rest = program.instructions
    broken = replace(program, instructions=(replace(first, last_use=(True,)), *rest))
    with pytest.raises(VerifyError, match="add has 1 last-use mark for its operands"):
        verify(broken)
