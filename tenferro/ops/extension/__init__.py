"""The contract for ops of others: family id, payload, kernel, rules, package."""

from tenferro.ops.extension.carrier import *
from tenferro.ops.extension.composite import *
from tenferro.ops.extension.op import *
from tenferro.ops.extension.package import *
