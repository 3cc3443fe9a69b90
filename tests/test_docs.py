"""The README and the pages in docs/ say what the program says, and their links, files and commands exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from localspec.engine.events import DrafterFailure, Finished, FinishReason, Round, Started, ToolCall
from localspec.engine.tally import Tally
from localspec.engine.wire import event_to_dict
from tests.readme import BLOCKS, DOCS, GENERATED, README, ROOT, block_names, event_fields, generated
from tests.tui.test_token_path import PATH

PAGES = sorted(DOCS.glob("*.md"))
DOCUMENTS = [README, *PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"))]
DOCUMENTS.append(ROOT / "assets" / "MODEL_CARD.md")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
_COMMAND = re.compile(r"(?:^ {4}|`|\| )(localspec(?: [^`\n]*?)?)(?=`| {2,}|$)", re.MULTILINE)


def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def named(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def anchors(document: Path) -> set[str]:
    """The anchors of the headings, made as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```", "", text_of(document), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", GENERATED, ids=named)
def test_the_generated_parts_are_up_to_date(document: Path) -> None:
    """If this fails after an intended change: python -m tests.readme."""
    text = text_of(document)
    assert generated(text) == text
    assert block_names(text) == list(GENERATED[document])


def test_every_generated_part_stands_in_one_document() -> None:
    """None is left out, and none stands anywhere else."""
    assert sorted(name for names in GENERATED.values() for name in names) == sorted(BLOCKS)
    assert {document for document in DOCUMENTS if block_names(text_of(document))} == set(GENERATED)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_somewhere(document: Path) -> None:
    """Links within the project name files that exist, and headings that are in them."""
    for path, anchor in _LINK.findall(text_of(document)):
        target = document.parent / path if path else document
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_every_page_can_be_reached() -> None:
    """The README and the list of pages link to each."""
    for document in (README, DOCS / "README.md"):
        linked = {(document.parent / path).resolve() for path, _ in _LINK.findall(text_of(document)) if path}
        assert set(PAGES) - {DOCS / "README.md"} <= linked


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_rows_have_as_many_cells_as_their_table(document: Path) -> None:
    """A bar in a cell is told from those between cells."""
    for table in re.findall(r"(?:^\|.*\n)+", text_of(document), re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(cells) == 1, table


def test_the_figures_of_the_readme_were_measured() -> None:
    """They stand on the page of benchmarks, in the section on the built-in pair."""
    section = text_of(DOCS / "benchmarks.md").partition("\n## The built-in pair\n")[2].partition("\n## ")[0]
    found = re.search(r"Median of the prompts: ([\d.]+) x plain, the slowest ([\d.]+)\.", section)
    said = re.search(r"([\d.]+) times as fast as without at the median, and ([\d.]+) times", text_of(README))
    assert found is not None
    assert said is not None
    assert said.groups() == found.groups()


def test_the_readme_is_short() -> None:
    """It is for newcomers; tables and all the rest stand in docs/."""
    assert len(text_of(README).splitlines()) <= 150


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_make_targets_exist(document: Path) -> None:
    """Each ``make x`` in the documents is a target of the Makefile."""
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?:`|^ {4})make ([a-z]+)", text_of(document), re.MULTILINE)) <= set(targets)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_files_that_are_named_exist(document: Path) -> None:
    """A path in back quotes that looks like one of ours is one."""
    for path in re.findall(r"`((?:localspec|tests|assets|docs|\.ci)/[\w./-]*)`", text_of(document)):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_modules_that_are_run_exist(document: Path) -> None:
    """What stands behind ``python -m``."""
    for module in re.findall(r"python -m ((?:tests|localspec)[\w.]*)", text_of(document)):
        assert find_spec(module) is not None, module


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_tests_that_are_run_exist(document: Path) -> None:
    """The words after ``pytest FILE -k`` select a test of that file."""
    for path, wanted in re.findall(r"pytest (tests/[\w/]+\.py) -k (\w+)", text_of(document)):
        assert re.search(rf"def test_\w*{wanted}", text_of(ROOT / path)), f"{path} -k {wanted}"


@pytest.mark.parametrize("document", [*PAGES, README, ROOT / "SECURITY.md"], ids=named)
def test_commands_exist_and_have_these_options(document: Path) -> None:
    """Each ``localspec ...`` in the documents is one that the command line understands."""
    from localspec.cli.commands import localspec

    for line in _COMMAND.findall(text_of(document)):
        command: click.Command = localspec
        for word in shlex.split(line.replace("[", "").replace("]", ""))[1:]:
            if word.startswith("--"):
                options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
                assert word.partition("=")[0] in {*options, "--help"}, line
            elif isinstance(command, click.Group) and not word.isupper():
                assert word in command.commands or line.startswith("localspec -"), line
                command = command.commands.get(word, command)


def test_the_page_of_events_has_the_fields_that_are_written() -> None:
    """Those of each dataclass are those of its JSON object."""
    failures = (DrafterFailure("draft", "It failed."),)
    failed = Round(0, None, 0, (), (), (), 0.0, 0.0, 0.0, failures=failures, unscored_n=1, held_n=1)
    timings = Tally(plain_per_second=None).timings()
    finished = Finished(FinishReason.STOP, "", timings, (ToolCall("1", "clock", "{}"),), "It failed.", 0, "end")
    for event in (Started(1, 0, 0), failed, finished):
        assert {name for name, _, _ in event_fields(type(event).__name__)} == event_to_dict(event).keys() - {"event"}
    assert {name for name, _, _ in event_fields("Timings")} == event_to_dict(finished)["timings"].keys()


def test_the_way_of_a_token_is_the_one_that_is_measured() -> None:
    """The page on the architecture lists 15 files, of which the last ten are those that a test finds."""
    section = text_of(DOCS / "architecture.md").partition("## The way of a token\n")[2].partition("\n## ")[0]
    files = re.findall(r"^\d+\. `localspec/([\w/]+\.py)`", section, re.MULTILINE)
    assert len(files) == 15
    assert files[-len(PATH) :] == PATH


def test_the_pair_in_the_guide_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example table is read as a pair of the user's own."""
    from localspec.base.paths import user_paths
    from localspec.models.pairs import load_catalogue

    (example,) = re.findall(r"```toml\n(.*?)```", text_of(DOCS / "guide.md"), re.DOTALL)
    monkeypatch.setenv("LOCALSPEC_HOME", str(tmp_path))
    config = user_paths().config
    config.mkdir(parents=True)
    (config / "pairs.toml").write_text(example, encoding="utf-8")
    assert load_catalogue().find("my-pair").title == "Qwen3 8B + 0.6B"


def test_the_page_on_installing_names_every_extra() -> None:
    """As ``pyproject.toml`` has them."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    section = text_of(DOCS / "install.md").partition("\n## Extras\n")[2].partition("\n    ")[0]
    assert set(re.findall(r"`(\w+)`", section)) == set(extras)


@pytest.mark.parametrize("system", [Unix, MacOS])
def test_the_page_on_installing_names_all_folders_to_remove(
    system: type[Unix | MacOS], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of each system, where no variable of the environment moves them."""
    for kind in ("CONFIG", "DATA", "STATE"):
        monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
    folders = system("localspec", appauthor=False)
    section = text_of(DOCS / "install.md").partition("\n## Update and remove\n")[2].partition("\n## ")[0]
    named = [Path(path).expanduser() for path in re.findall(r"`(~/[^`]+)`", section)]
    for folder in (folders.user_config_path, folders.user_data_path, folders.user_log_path):
        assert any(folder.is_relative_to(each) for each in named), folder


def test_the_changelog_describes_this_version() -> None:
    """Below what is not released yet, which may be empty."""
    from localspec import __version__

    unreleased, latest = re.findall(r"^## (.+)$", text_of(ROOT / "CHANGELOG.md"), re.MULTILINE)[:2]
    assert unreleased == "Unreleased"
    assert re.fullmatch(rf"{re.escape(__version__)} - \d{{4}}-\d\d-\d\d", latest)
