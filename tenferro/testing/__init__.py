"""Testing extensions: a family of ops against the whole contract.

The contract is that of `ExtensionOp` (`tenferro.ops.extension`). Its sections have numbers, by
which clauses and reports name them: 4 and 5 identity and payload, 6 and 7 arity and types, 8
execution, 9 and 10 derivative rules, 11 files, 12 failures.

Read in this order: `report` (clauses and verdicts), `subject` (what is checked), then the clauses
by section: `identity`, `types`, `execution`, `derivatives`; and `check_extension`, which judges
them all.
"""

from tenferro.testing.check_extension import *
from tenferro.testing.report import *
