"""The ``localspec`` command, also as ``python -m localspec``."""

import os
from typing import NoReturn

from localspec.base.errors import INTERRUPTED_EXIT_CODE


def main() -> NoReturn:
    """Run the command line; Ctrl-C ends it quietly while it is still being loaded, too."""
    try:
        from localspec.cli import main as run

        run()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED_EXIT_CODE)


if __name__ == "__main__":
    main()
