"""The Hub on loopback, its client and the command line."""

from __future__ import annotations

from tests.models.download.conftest import localspec as localspec
from tests.models.download.conftest import server as server
from tests.models.download.conftest import world as world
