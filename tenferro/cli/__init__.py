"""The command line: `tenferro demo | doctor | inspect | lower | run`.

Read in this order: `main`, `function`, `stages`, then a file for the commands of each kind.
"""

from tenferro.cli.main import *
