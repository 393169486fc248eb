"""The command line: `tenferro demo | doctor | inspect | lower | run`.

Read in this order: `main`, `function`, `stages`, then one file for each command.
"""

from tenferro.cli.main import main

__all__ = ["main"]
