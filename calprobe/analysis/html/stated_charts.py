"""The page's figure of correlations of prompts."""

from calprobe.analysis.html.asked_charts import correlations

__all__ = ["correlations"]
