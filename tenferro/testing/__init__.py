"""Testing extensions: a family of ops against the whole contract.

Read in this order: `report` (clauses and verdicts), `subject` (what is checked), then the clauses
by section of the contract: `identity`, `types`, `execution`, `derivatives`; and `check_extension`,
which judges them all.
"""

from tenferro.testing.check_extension import *
from tenferro.testing.report import *
