"""Vocabularies and chat templates of real families: ``python -m tests.tokenizers``.

They come out of the source distribution of llama-cpp-python. llama.cpp keeps them for its own tests. They belong to
their models' publishers, so no copy lies in this repository: the set-up fetches the distribution once, as the package
it is, and keeps 19 vocabularies and 70 templates of it beside the environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path

PACKAGE = "llama-cpp-python"
VARIABLE = "LOCALSPEC_TEST_TOKENIZERS"
"""Names a folder that has them already."""
_VOCABULARIES, _TEMPLATES = "ggml-vocab-*.gguf", "*.jinja"
_MEMBERS = (f"*/models/{_VOCABULARIES}", f"*/models/templates/{_TEMPLATES}")
_WITHOUT = "The vocabularies and templates of real models are not here: tests that compare them are skipped."
_PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--retries", "1", "--no-deps", "--no-binary", PACKAGE)


def own_folder() -> Path:
    """Where the set-up puts them: one folder for each version, inside the environment, which ``make clean`` removes."""
    return Path(sys.prefix, "tokenizers", version(PACKAGE))


def vocabularies() -> list[Path]:
    """The files, in order; none where they have not been fetched."""
    return _fetched(_VOCABULARIES)


def templates() -> list[Path]:
    """The files, in order; none where they have not been fetched."""
    return _fetched(_TEMPLATES)


def _fetched(pattern: str) -> list[Path]:
    named = os.environ.get(VARIABLE)
    return sorted((Path(named) if named else own_folder()).glob(pattern))


def fetch(place: Path) -> None:
    """Fetch the distribution with pip and take the files out. Raises CalledProcessError, OSError, TarError."""
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as temporary:
        work = Path(temporary)
        subprocess.run([*_PIP, "--dest", temporary, f"{PACKAGE}=={version(PACKAGE)}"], check=True)
        (archive,) = work.glob("*.tar.gz")
        taken = work / "taken"
        taken.mkdir()
        with tarfile.open(archive) as distribution:
            for member in distribution:
                if member.isfile() and any(fnmatch(member.name, pattern) for pattern in _MEMBERS):
                    _take(distribution, member, taken)
        for file in taken.iterdir():
            file.replace(place / file.name)


def _take(distribution: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    source = distribution.extractfile(member)
    assert source is not None
    with source, (place / Path(member.name).name).open("wb") as target:
        shutil.copyfileobj(source, target)


def main() -> None:
    """Fetch them unless they are there; without a network say so, and fail, so that the next set-up tries again."""
    if (vocabularies() and templates()) or os.environ.get(VARIABLE):
        return
    try:
        fetch(own_folder())
    except subprocess.CalledProcessError as error:
        sys.exit(f"pip ended with {error.returncode}. {_WITHOUT}")
    except (OSError, tarfile.TarError, ValueError) as error:
        sys.exit(f"{error}. {_WITHOUT}")


if __name__ == "__main__":
    main()
