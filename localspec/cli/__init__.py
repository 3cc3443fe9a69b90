"""The command line: parse, call, print.

``localspec.cli.main`` is the ``localspec`` command.
"""

from localspec.cli.entry import main

__all__ = ["main"]
