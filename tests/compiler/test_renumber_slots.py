from tenferro.compiler import RenumberSlots, parse
from tenferro.ir import renumber, verify


def test_slots_are_numbered_in_the_order_of_writing() -> None:
    program = renumber(
        parse(
            """
            exec_program(%3: f64[2], %1: f64[2]) {
              %9: f64[2] = add %1!, %3
              %4: f64[2] = subtract %9, %3!
              return %4, %9
            }"""
        )
    )
    verify(program)
    assert program.n_slots == 4
    assert [str(line).split(": f64[2] ") for line in program.instructions] == [
        ["%2", "= add %1!, %0"],
        ["%3", "= subtract %2, %0!"],
    ]
    assert program.output_slots == (3, 2)


def test_a_program_in_order_is_returned_as_it_is() -> None:
    program = parse("exec_program(%0: f64[2]) {\n %1: f64[2] = sine %0!\n return %1\n}")
    assert renumber(program) is program


def test_the_pass_numbers_and_marks_and_leaves_alone_what_is_so() -> None:
    text = """
        exec_program(%3: f64[2], %1: f64[2]) {
          %9: f64[2] = add %1, %3
          %4: f64[2] = multiply %9, %9
          %5: f64[2] = clamp %9, %4, %3
          return %4, %5
        }"""
    numbered = RenumberSlots().run(parse(text))
    verify(numbered)
    assert [str(line).split(": f64[2] ") for line in numbered.instructions] == [
        ["%2", "= add %1!, %0"],
        ["%3", "= multiply %2, %2"],
        ["%4", "= clamp %2!, %3, %0!"],
    ]
    assert numbered.n_slots == 5
    assert RenumberSlots().run(numbered) is numbered
