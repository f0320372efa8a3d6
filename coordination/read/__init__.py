"""Reads of the authority's tables, for answers and pages. They lock nothing and decide nothing."""
