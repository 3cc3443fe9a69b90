"""The command line: parse, call, print.

``localspec.cli.main`` is what the ``localspec`` command runs.
"""

from localspec.cli.entry import main

__all__ = ["main"]
