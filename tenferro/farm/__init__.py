"""The farm: sliced networks computed by many workers, whose parts are kept on disk.

Read in this order: `loops` (what a farm runs), `parts` (how a job is cut), `job` (what is computed,
and its digest), `store` (files), `maker` and `parent` (what a worker knows of itself), `work` (what
a worker does), `engine` (pools of workers), `report`, `coordinate` (a run of a job), `executor`.
"""

from tenferro.farm.executor import FarmExecutor
from tenferro.farm.report import FarmReport, JobReport

__all__ = ["FarmExecutor", "FarmReport", "JobReport"]
