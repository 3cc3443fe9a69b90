"""The folders of LocalSpec's files.

``LOCALSPEC_HOME`` moves every file the app writes under one folder. Nothing is created here: the writer of a file
creates its folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from localspec.base.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of one user."""

    config: Path
    """Settings and the user's own pairs."""
    data: Path
    """Conversations and measurements."""
    logs: Path
    """Log files, including llama.cpp's output."""

    @property
    def engine_log(self) -> Path:
        """The output of the engine process and of llama.cpp."""
        return self.logs / "engine.log"


def user_paths() -> Paths:
    """The folders of this user: below ``LOCALSPEC_HOME`` if that is set, else those that ``platformdirs`` gives.

    Raises ConfigError if the user has no home folder, as one that only a container knows.
    """
    home = os.environ.get("LOCALSPEC_HOME")
    if home:
        root = expanded(home)
        return Paths(config=root / "config", data=root / "data", logs=root / "logs")
    import platformdirs

    try:
        return Paths(
            config=platformdirs.user_config_path("localspec", appauthor=False),
            data=platformdirs.user_data_path("localspec", appauthor=False),
            logs=platformdirs.user_log_path("localspec", appauthor=False),
        )
    except RuntimeError:
        raise ConfigError("This user has no home folder.", "Set LOCALSPEC_HOME to a folder of your own.") from None


def expanded(path: str | Path) -> Path:
    """The path with its home in place of ``~``. The home of an unknown user, for which pathlib raises, stays a name."""
    return Path(os.path.expanduser(path))  # noqa: PTH111


def shipped(name: str) -> Path:
    """A file that ships with LocalSpec (``models.toml``, ``assets/...``).

    It lies inside the package when installed, at the root of a checkout otherwise.
    """
    package = Path(str(files("localspec")))
    installed = package / name
    return installed if installed.exists() else package.parent / name
