"""tenferro's own extension families, each a `Package` like that of any third party.

These families use only the contract (`tenferro.ops.extension`), ops and passes; they do not depend
on tensors or executors.
"""
