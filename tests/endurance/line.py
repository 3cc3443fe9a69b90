"""The command line as it is, over the paced engine.

python -m tests.endurance.line chat --plain [OPTIONS OF localspec chat]
"""

from __future__ import annotations

from unittest.mock import patch

from localspec.cli import main
from tests.endurance.paced_engine import open_pair

if __name__ == "__main__":
    with patch("localspec.runtime.load.open_pair", open_pair):
        main()
