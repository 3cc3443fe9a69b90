"""The command line as a fixture, as for its own tests."""

from tests.cli.conftest import localspec

__all__ = ["localspec"]
