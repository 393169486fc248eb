"""Loop rerolling: a repeated sequence of instructions becomes a scan.

For Python loops of users, whose first results take a fifth to a ninth of the time: decision 020.
"""

from tenferro.compiler.reroll.reroll import *
