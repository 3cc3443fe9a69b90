"""Docs that cannot rot: what the README says of the program is what the program says of itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.readme import BLOCKS, README, block_names, generated

TEXT = README.read_text(encoding="utf-8")
ROOT = README.parent


def test_the_generated_parts_are_up_to_date() -> None:
    """If this fails after an intended change: make docs."""
    assert generated(TEXT) == TEXT


def test_every_generated_part_is_there() -> None:
    """Each block stands in the README, once."""
    assert sorted(block_names(TEXT)) == sorted(BLOCKS)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", TEXT))
def test_links_lead_somewhere(link: str) -> None:
    """Links within the project name files that exist."""
    assert link.startswith("https://") or (ROOT / link).exists()


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(document: str) -> None:
    """Each ``make x`` in the documents is a target of the Makefile."""
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"(?:`|^ {4})make ([a-z]+)", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE)
    assert named
    assert set(named) <= set(targets)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(document: str) -> None:
    """A path in back quotes that looks like one of ours is one."""
    text = (ROOT / document).read_text(encoding="utf-8")
    named = re.findall(r"`((?:localspec|tests|assets|\.ci)/[\w./-]*)`", text)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path


def test_the_pair_in_the_readme_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example table is read as a pair of the user's own."""
    from localspec.base.paths import user_paths
    from localspec.models.pairs import load_catalogue

    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))
    config = user_paths().config
    config.mkdir(parents=True)
    (config / "pairs.toml").write_text(example, encoding="utf-8")
    assert load_catalogue().find("my-pair").title == "Qwen3 8B + 0.6B"
