"""From graphs and from texts to programs: ops on typed slots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any

from tenferro.core import CompiledProgram
from tenferro.errors import BindingError, ParseError, ProgramError, TenferroError, class_of, counted
from tenferro.ir import (
    ExecBuilder,
    ExecInstruction,
    ExecProgram,
    Guard,
    Rewriter,
    TensorMeta,
    leaves,
    parse_exec,
    verify,
)
from tenferro.ops import Argument, AssumeSize, StdTensorOp
from tenferro.ops.control_flow import Custom, require_family
from tenferro.ops.extension import Decode, Extension, ExtensionOp, Package, distinct, vocabulary_of

__all__ = ["all_guards", "compile_std_to_exec", "guards_of", "parse", "without_rules"]


def compile_std_to_exec(
    program: CompiledProgram[StdTensorOp],
    input_metas: Sequence[TensorMeta],
    families: Container[str] | None = None,
    keep_rules: bool = False,
) -> ExecProgram:
    """The program with the type of every slot, before any pass.

    `input_metas` are the types of the program's inputs, in order. `families`, if given, are the
    extension families that the executor of the program has. Programs with derivatives by hand are
    written in their place, unless `keep_rules`.

    Raises:
        ProgramError: it is not a compiled program.
        BindingError: the number of types is not the number of inputs, or one is not a type.
        UnsupportedExtensionError: an extension op is of a family that is not among `families`.
        TenferroError: an op cannot take its operands; a note says where it was recorded.

    >>> from tenferro.core import Instruction
    >>> from tenferro.ops import SIN
    >>> sine = CompiledProgram((Instruction(SIN, (0,), (1,), "user.py:12"),), (0,), (1,), 2)
    >>> print(compile_std_to_exec(sine, [TensorMeta.of("f64", ("n", 3))]))
    exec_program(%0: f64[n,3]) {
      %1: f64[n,3] = sine %0  # user.py:12
      return %1
    }
    """
    _check_lowering_inputs(program, input_metas)
    builder = ExecBuilder()
    slots = list(range(program.n_slots))  # the new slot of each slot of the program
    for slot, meta in zip(program.input_slots, input_metas, strict=True):
        slots[slot] = builder.input(meta)
    in_order = program.input_slots == tuple(range(len(input_metas)))  # slots do not change
    columns = program.columns
    site: str | None = None
    try:
        for op, inputs, produced, site in zip(
            columns.ops, columns.inputs, columns.outputs, columns.sites, strict=True
        ):
            operands = inputs if in_order else tuple([slots[slot] for slot in inputs])
            if type(op) is Argument:  # its operand is the value that was passed
                outputs = operands
            else:
                if families is not None and op.family is not None:
                    require_family(op.family, families)
                outputs = builder.add(op, operands, site)
            if outputs != produced:
                in_order = False
                for slot, output in zip(produced, outputs, strict=True):
                    slots[slot] = output
    except TenferroError as error:
        if site is not None:
            error.add_note(f"recorded at {site}")
        raise
    typed = builder.build([slots[slot] for slot in program.output_slots])
    return typed if keep_rules else without_rules(typed)


def without_rules(program: ExecProgram) -> ExecProgram:
    """The program with the body in place of each `Custom`, also within the programs inside ops.

    Raises:
        ADRuleError: it computes tangents of a function that has a rule for cotangents only.
    """
    program = program.map_bodies(_without_rules, (Custom,))
    return _without_rules(program) if program.has_op(Custom) else program


def _without_rules(program: ExecProgram) -> ExecProgram:
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
        if not isinstance(step.op, Custom):
            return None
        step.op.check_computed()
        return rewriter.inline(step.op.body, operands)

    return rewriter.run(rule)


def _check_lowering_inputs(program: object, input_metas: Sequence[object]) -> None:
    if not isinstance(program, CompiledProgram):
        raise ProgramError(
            f"lower: takes a compiled program, got {class_of(program)}; write "
            "compile_std_to_exec(compile_graph(graph), metas)"
        )
    for number, meta in enumerate(input_metas):
        if not isinstance(meta, TensorMeta):
            raise BindingError(
                f"lower: the type of input {number} must be a TensorMeta, got {meta!r}"
            )
    if len(input_metas) != len(program.input_slots):
        raise BindingError(
            f"lower: the program has {counted(len(program.input_slots), 'input')}, got "
            f"{counted(len(input_metas), 'type')}"
        )


# The guards of a program: the equalities of sizes that its ops assume.


def guards_of(program: ExecProgram) -> tuple[Guard, ...]:
    """The equalities of sizes that the program assumes, each once, in order.

    The reason names the op that needs the sizes to be equal, its operands and where it was written.

    >>> from tenferro.compiler.lower import parse
    >>> text = '''exec_program(%0: f64[n], %1: f64[m]) {
    ...   %2: f64[m] = assume_size[axis=0, size=m] %0
    ...   %3: f64[m] = add %2, %1  # user.py:12
    ...   return %3
    ... }'''
    >>> [str(guard.reason) for guard in guards_of(parse(text))]
    ['add: operands have types f64[n] and f64[m] (user.py:12)']
    """
    if not program.has_op(AssumeSize):
        return ()
    metas = program.slot_metas()
    makers = program.makers()
    readers: dict[int, ExecInstruction] = {}
    for step in reversed(program.instructions):
        readers.update(dict.fromkeys(step.input_slots, step))
    guards: dict[tuple[str, str], Guard] = {}
    for step in program.steps_of(AssumeSize):
        assert isinstance(step.op, AssumeSize)
        reason = _reason(step, readers, makers, metas)
        for guard in step.op.assumptions([_meta(metas, step.input_slots[0])], reason):
            if guard.left != guard.right:
                guards.setdefault(guard.sides, guard)
    return tuple(guards.values())


def all_guards(program: ExecProgram, assumed: Collection[Guard]) -> tuple[Guard, ...]:
    """The guards of the program and what was assumed while tracing, each pair of sizes once.

    What was assumed of sizes that no input of the program has cannot be checked, and is left out:
    the program does not depend on them.
    """
    guards: dict[tuple[str, str], Guard] = {}
    for guard in guards_of(program):
        guards[guard.sides] = guard
    symbols = program.symbols() if assumed else set()
    for guard in assumed:
        if guard.left != guard.right and leaves(guard.left) | leaves(guard.right) <= symbols:
            guards.setdefault(guard.sides, guard)
    return tuple(guards.values())


def _reason(
    step: ExecInstruction,
    readers: dict[int, ExecInstruction],
    makers: dict[int, ExecInstruction],
    metas: list[TensorMeta | None],
) -> str:
    """The op that needs the sizes to be equal, its operands and where it was written."""
    reader = step
    while _only_fits(reader) and reader.output_slots[0] in readers:
        reader = readers[reader.output_slots[0]]
    types = " and ".join(str(_meta(metas, _source(slot, makers))) for slot in reader.input_slots)
    site = "" if reader.site is None else f" ({reader.site})"
    return f"{reader.op.family or reader.op.name}: operands have types {types}{site}"


def _source(slot: int, makers: dict[int, ExecInstruction]) -> int:
    while slot in makers and _only_fits(makers[slot]):
        slot = makers[slot].input_slots[0]
    return slot


def _only_fits(step: ExecInstruction) -> bool:
    return isinstance(step.op, AssumeSize) or step.op.repeats


def _meta(metas: list[TensorMeta | None], slot: int) -> TensorMeta:
    meta = metas[slot]
    assert meta is not None, f"%{slot} is not written"
    return meta


def parse(
    text: str, families: Iterable[type[ExtensionOp]] = (), packages: Sequence[Package] = ()
) -> ExecProgram:
    """The program that `str(program)` printed.

    Args:
        text: the program.
        families: classes of extension ops that it may hold, dataclasses all.
        packages: further extension ops, and ops outside tenferro's vocabulary.

    Raises:
        ExtensionRegistryError: a package is given twice, or is not one.
        ParseError: the text is not an execution program.
        VerifyError: it is one, but malformed: an op does not take its operands.

    >>> print(parse("exec_program(%0: f64[n]) { \\n %1: f64[n] = sine %0! \\n return %1 \\n }"))
    exec_program(%0: f64[n]) {
      %1: f64[n] = sine %0!
      return %1
    }
    """
    checked = distinct(packages)
    classes = [*families, *(op for package in checked for op in package.ops)]
    decoders = {op: decode for package in checked for op, decode in package.codecs.items()}
    read_extension = _reader({op.FAMILY_ID: op for op in classes}, decoders)
    program = parse_exec(text, {**vocabulary_of(checked), "extension": read_extension})
    try:
        verify(program)
    except TenferroError:
        raise
    except Exception as error:  # a payload of a wrong type, which the op does not expect
        raise ParseError(f"parse: an op does not take its payload: {error}") from error
    return program


def _reader(
    classes: Mapping[str, type[ExtensionOp]], decoders: Mapping[type[ExtensionOp], Decode]
) -> Callable[..., Extension]:
    def read(family_id: str, **payload: Any) -> Extension:
        cls = classes.get(family_id)
        if cls is None:
            raise ParseError(
                f"parse: no class is given for the extension family {family_id!r}; give its "
                "package, packages=(...)"
            )
        try:
            if cls in decoders and payload.keys() == {"payload"}:
                return Extension(decoders[cls](payload["payload"]))
            return Extension(cls(**payload))
        except Exception as error:
            raise ParseError(f"parse: {family_id} cannot be read: {error}") from error

    return read
