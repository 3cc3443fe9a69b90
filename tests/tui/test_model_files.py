"""The choice of models on this disk: paths that are completed while they are typed, and the tree of folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from localspec.base.errors import NotFoundError
from localspec.chat.pairs.model_files import completed, folder_around
from localspec.tui.screens.model_files import ModelFilesScreen
from localspec.tui.screens.pairs import PairsScreen
from localspec.tui.widgets.field import Field
from localspec.tui.widgets.file_tree import FileTree
from tests.tui.pairs_support import FakeWorld
from tests.tui.support import FakeEngine, notice_text, wait_until
from tests.tui.test_pairs import app_of, opened, ready, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Models among other files, and a name that would deceive."""
    for name in ("qwen/big-Q4_0.gguf", "qwen/notes.txt", "qwen/more/x.GGUF", "one\x1b[2J.gguf", ".cache/hidden.gguf"):
        path = tmp_path / "models" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 2_345_678 if "big" in name else b"x")
    for part in (1, 2):
        (tmp_path / f"models/split-0000{part}-of-00002.gguf").write_bytes(b"x")
    (tmp_path / "models/linked").symlink_to(tmp_path / "models/qwen")
    return tmp_path / "models"


def test_a_path_is_completed_to_folders_and_models_alone(folder: Path) -> None:
    whole = str(folder)
    for typed, rest in (
        (whole[:-3], f"{whole}/"),
        (f"{whole}/q", f"{whole}/qwen/"),
        (f"{whole}/qwen", f"{whole}/qwen/"),
        (f"{whole}/qwen/", f"{whole}/qwen/big-Q4_0.gguf"),
        (f"{whole}/qwen/m", f"{whole}/qwen/more/"),
        (f"{whole}/l", f"{whole}/linked/"),
        (f"{whole}/.c", f"{whole}/.cache/"),
        (f"{whole}/s", f"{whole}/split-00001-of-00002.gguf"),
        ("~", "~/"),
    ):
        assert completed(typed) == rest
    for none in (f"{whole}/qwen/n", f"{whole}/one", f"{whole}/none/x", "qwen", "/\0/", "~nobody-at-all/x"):
        assert completed(none) is None
    assert folder_around(folder / "qwen" / "big-Q4_0.gguf") == folder / "qwen"
    assert folder_around(folder / "none" / "at" / "all") == folder


async def typed(pilot: Pilot[Any], world: FakeWorld, engine: FakeEngine, path: str) -> Field:
    await ready(pilot, engine)
    await opened(pilot)
    field = pilot.app.screen.query_one(Field)
    field.value = path
    return field


async def test_tab_completes_and_the_tree_begins_there(folder: Path) -> None:
    world, engine = FakeWorld(), FakeEngine()
    with app_of(world, engine) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            field = await typed(pilot, world, engine, str(folder)[:-3])
            await wait_until(pilot, lambda: field._suggestion == f"{folder}/")
            assert "Tab complete" in said(pilot, "#pairs-keys")
            await pilot.press("tab")
            assert field.value == f"{folder}/"
            tree = await in_tree(pilot)
            assert labels(tree) == [
                str(folder),
                "linked",
                "qwen",
                "one\u241b[2J.gguf  0.00 MB",
                "split-00001-of-00002.gguf  0.00 MB",
            ]
            await pilot.press("down", "j", "right")
            await wait_until(pilot, lambda: len(labels(tree)) == 7)
            assert labels(tree)[3:5] == ["more", "big-Q4_0.gguf  2.35 MB"]
            await pilot.press("right", "down")
            assert said(pilot, "#files-marked").split() == [f"{folder}/qwen/big-Q4_0.gguf", "2.35", "MB"]
            await pilot.press("enter")
            await wait_until(pilot, lambda: isinstance(app.screen, PairsScreen))
            assert world.collected == [folder / "qwen/big-Q4_0.gguf"]
            assert field.value == str(folder / "qwen/big-Q4_0.gguf"), "the list shows what was added"


async def test_a_whole_folder_is_added_and_the_tree_goes_up(folder: Path) -> None:
    world, engine = FakeWorld(), FakeEngine()
    with app_of(world, engine) as app:
        async with app.run_test(size=(160, 50)) as pilot:
            await typed(pilot, world, engine, f"{folder}/qwen/more")
            tree = await in_tree(pilot)
            await pilot.press("left")
            await wait_until(pilot, lambda: tree.marked == folder / "qwen" / "more" and tree.path == folder / "qwen")
            await pilot.press("left")
            await wait_until(pilot, lambda: tree.path == folder and len(labels(tree)) == 5)
            await wait_until(pilot, lambda: said(pilot, "#files-marked").split() == [f"{folder}/qwen"])
            await pilot.press("escape")
            await wait_until(pilot, lambda: isinstance(app.screen, PairsScreen))
            assert world.collected == []
            await in_tree(pilot)
            await pilot.press("down", "a")
            await wait_until(pilot, lambda: world.collected == [folder / "qwen/more"])


async def test_a_folder_without_models_says_so(tmp_path: Path) -> None:
    world, engine = FakeWorld(), FakeEngine()
    with app_of(world, engine) as app:
        async with app.run_test(size=(80, 24)) as pilot:
            await typed(pilot, world, engine, f"{tmp_path}/")
            await pilot.press("ctrl+o")
            await wait_until(pilot, lambda: isinstance(app.screen, ModelFilesScreen))
            await wait_until(pilot, lambda: said(pilot, "#files-marked") == "No folders and no GGUF files here.")


async def in_tree(pilot: Pilot[Any]) -> FileTree:
    """Open the tree, and wait until its first folder was read."""
    await pilot.press("ctrl+o")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, ModelFilesScreen))
    tree = pilot.app.screen.query_one(FileTree)
    await wait_until(pilot, lambda: bool(tree.root.children))
    return tree


def labels(tree: FileTree) -> list[str]:
    """The rows of the tree, without their signs."""
    lines = [tree.get_node_at_line(n) for n in range(tree.last_line + 1)]
    plain = [tree.render_label(node, tree.rich_style, tree.rich_style).plain for node in lines if node is not None]
    return [text[2:] for text in plain]


def test_a_folder_has_no_size(tmp_path: Path) -> None:
    """Nor one with a dot in its name, as many repositories have."""
    (tmp_path / "Qwen3-0.6B").mkdir()
    (tmp_path / "a.gguf").write_bytes(b"x" * 3_000_000)
    tree = FileTree(tmp_path)
    assert len(list(tree.filter_paths(tmp_path.iterdir()))) == 2
    assert tree.size_of(tmp_path / "Qwen3-0.6B") == ""
    assert tree.size_of(tmp_path / "a.gguf") != ""


class Refusing(FakeWorld):
    """A world in which no path has models."""

    def collect(self, path: Path) -> str:
        raise NotFoundError(f"There is no file or folder {path}.", "Check the path.")


async def test_a_path_that_is_refused_is_told_in_the_list_and_not_after_it() -> None:
    """The chat has no use for it, whichever way the list is left."""
    world, engine = Refusing(), FakeEngine()
    with app_of(world, engine) as app:
        async with app.run_test(size=(120, 24)) as pilot:
            await typed(pilot, world, engine, "/nope")
            await pilot.press("enter")
            await wait_until(pilot, lambda: "There is no file or folder /nope" in said(pilot, "#pairs-empty"))
            await pilot.press("escape")
            await wait_until(pilot, lambda: not isinstance(app.screen, PairsScreen))
            await wait_until(pilot, lambda: "Nothing was added" not in notice_text(pilot))
