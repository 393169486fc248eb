"""The one execution IR: ops, instructions over SSA slots, their text, and the verifier."""

from tenferro.exec_ir.budget import check_budget, check_size
from tenferro.exec_ir.identity import encode
from tenferro.exec_ir.op import Array, Category, ExecOp, payload, payload_text
from tenferro.exec_ir.parse import parse_exec
from tenferro.exec_ir.program import (
    ExecBuilder,
    ExecInstruction,
    ExecProgram,
    with_last_use,
    with_slots,
)
from tenferro.exec_ir.verify import verify

__all__ = [
    "Array",
    "Category",
    "ExecBuilder",
    "ExecInstruction",
    "ExecOp",
    "ExecProgram",
    "check_budget",
    "check_size",
    "encode",
    "parse_exec",
    "payload",
    "payload_text",
    "verify",
    "with_last_use",
    "with_slots",
]
