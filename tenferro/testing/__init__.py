"""Testing extensions: a family of ops against the whole contract.

Story, file by file: `report` holds clauses and verdicts, `functions` runs graphs, `subject` is what
is checked; `identity`, `types`, `execution`, `derivatives`, `batches`, `late_sizes` and `saving`
are the clauses, by section of the contract; `extension` judges them all.
"""

from tenferro.testing.extension import CLAUSES, check_extension
from tenferro.testing.report import Clause, ExtensionReport, Verdict

__all__ = ["CLAUSES", "Clause", "ExtensionReport", "Verdict", "check_extension"]
