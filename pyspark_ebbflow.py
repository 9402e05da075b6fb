"""What Spark looks for: a package by this name, and in it the data source of the format "ebbflow".

Rule: it holds nothing of its own.
"""

from ebbflow.pipeline.data_source import Source as DefaultSource

__all__ = ["DefaultSource"]
