"""The farm: sliced networks computed by many workers, whose parts are kept on disk.

Read in this order: `job` (what is computed, how it is cut, its digest), `store` (files), `worker`
(computes parts), `report`, `coordinator` (a run of a job), `executor` (what sends loops to it).
"""

from tenferro.farm.executor import *
from tenferro.farm.report import *
