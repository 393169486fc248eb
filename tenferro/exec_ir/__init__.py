"""The one execution IR: ops, instructions over SSA slots, their text, and the verifier.

Read in this order: `payloads` (what an op may hold), `identity`, `traits`, `op`, `instruction`,
`program`, `numbering`, `build`, `run`, `rewrite`, `verify`, `text`, `budget`.
"""

from tenferro.exec_ir.budget import check_budget, check_size
from tenferro.exec_ir.build import ExecBuilder, program_of_op, restricted
from tenferro.exec_ir.identity import fields_of_bodies, payload
from tenferro.exec_ir.instruction import ExecInstruction
from tenferro.exec_ir.numbering import renumber
from tenferro.exec_ir.op import Category, ExecOp, Pruned, Resolution, count_of
from tenferro.exec_ir.payloads import (
    MAX_INTEGER,
    Array,
    Body,
    Json,
    PayloadReader,
    PayloadWriter,
    Sizes,
    encode,
    kind_of,
    kind_of_tag,
    payload_text,
)
from tenferro.exec_ir.program import (
    ExecProgram,
    last_uses,
    with_last_use,
    with_slots,
)
from tenferro.exec_ir.rewrite import Rewriter
from tenferro.exec_ir.run import Steps, evaluate, run
from tenferro.exec_ir.text import parse_exec
from tenferro.exec_ir.traits import AxisMap, Conjugation, MaskSite, Order
from tenferro.exec_ir.verify import verify, verify_once

__all__ = [
    "MAX_INTEGER",
    "Array",
    "AxisMap",
    "Body",
    "Category",
    "Conjugation",
    "ExecBuilder",
    "ExecInstruction",
    "ExecOp",
    "ExecProgram",
    "Json",
    "MaskSite",
    "Order",
    "PayloadReader",
    "PayloadWriter",
    "Pruned",
    "Resolution",
    "Rewriter",
    "Sizes",
    "Steps",
    "check_budget",
    "check_size",
    "count_of",
    "encode",
    "evaluate",
    "fields_of_bodies",
    "kind_of",
    "kind_of_tag",
    "last_uses",
    "parse_exec",
    "payload",
    "payload_text",
    "program_of_op",
    "renumber",
    "restricted",
    "run",
    "verify",
    "verify_once",
    "with_last_use",
    "with_slots",
]
