"""The command line: `tenferro demo | doctor | inspect | lower | port | run | verify`.

Read in this order: `function`, `inspect`, `main`, `demo`, `doctor`.
"""

from tenferro.cli.main import *
