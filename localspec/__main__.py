"""The ``localspec`` command, also as ``python -m localspec``."""

import os


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly while it is still being loaded, too.

    Nothing is imported outside of it that Python has not loaded already: Ctrl-C would end in a traceback there.
    """
    try:
        from localspec.cli import main as run

        run()
    except KeyboardInterrupt:
        from localspec.base.errors import INTERRUPTED_EXIT_CODE

        os._exit(INTERRUPTED_EXIT_CODE)


if __name__ == "__main__":
    main()
