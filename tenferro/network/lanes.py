"""Lanes, as `tenferro.control` defines them; who works on parts of a network finds them here."""

from tenferro.control import TreeSum, lane_bounds, lane_count

__all__ = ["TreeSum", "lane_bounds", "lane_count"]
