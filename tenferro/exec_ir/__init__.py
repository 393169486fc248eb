"""The one execution IR: ops, instructions over SSA slots, their text, and the verifier.

Read in this order: `handle`, `payloads` (what an op may hold), `identity`, `traits`, `op`,
`instruction`, `program`, `numbering`, `build`, `quiet`, `run`, `rewrite`, `verify`, `text`,
`budget`.
"""

from tenferro.exec_ir.budget import check_budget, check_size
from tenferro.exec_ir.build import ExecBuilder, program_of_op, restricted
from tenferro.exec_ir.handle import Handle, Sizes, fresh_token
from tenferro.exec_ir.identity import fields_of_bodies, payload
from tenferro.exec_ir.instruction import ExecInstruction
from tenferro.exec_ir.numbering import renumber
from tenferro.exec_ir.op import Category, ExecOp, Pruned, Resolution
from tenferro.exec_ir.payloads import (
    MAX_INTEGER,
    Array,
    Body,
    Json,
    PayloadReader,
    PayloadWriter,
    bind_payload,
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
from tenferro.exec_ir.quiet import quiet
from tenferro.exec_ir.reach import Known, Reach, numbered
from tenferro.exec_ir.rewrite import Rewriter
from tenferro.exec_ir.run import KEPT_ELEMENTS, Steps, elements, evaluate, run, running_families
from tenferro.exec_ir.text import parse_exec
from tenferro.exec_ir.traits import AxisMap, Conjugation, MaskSite, Order
from tenferro.exec_ir.verify import verify, verify_once

__all__ = [
    "KEPT_ELEMENTS",
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
    "Handle",
    "Json",
    "Known",
    "MaskSite",
    "Order",
    "PayloadReader",
    "PayloadWriter",
    "Pruned",
    "Reach",
    "Resolution",
    "Rewriter",
    "Sizes",
    "Steps",
    "bind_payload",
    "check_budget",
    "check_size",
    "elements",
    "encode",
    "evaluate",
    "fields_of_bodies",
    "fresh_token",
    "kind_of",
    "kind_of_tag",
    "last_uses",
    "numbered",
    "parse_exec",
    "payload",
    "payload_text",
    "program_of_op",
    "quiet",
    "renumber",
    "restricted",
    "run",
    "running_families",
    "verify",
    "verify_once",
    "with_last_use",
    "with_slots",
]
