"""The generic executor: reads a pipeline descriptor, does the work it declares, leaves the evidence."""

__version__ = "0.1.0"
__all__ = ["__version__"]
