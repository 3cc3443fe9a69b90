"""The choice of a model, or of a folder with models, on this disk."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.events import Resize
from textual.widgets import DirectoryTree, Static, Tree

from localspec.base.visible import visible_line
from localspec.chat.commands import places
from localspec.tui.keys.bindings import bindings_of
from localspec.tui.keys.handling import handles
from localspec.tui.screens.layouts import ColumnScreen
from localspec.tui.widgets.file_tree import FileTree
from localspec.tui.widgets.key_row import KeyRow


class ModelFilesScreen(ColumnScreen[Path | None]):
    """Returns the file or the folder to add, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(places.IN_FILES.commands)
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012 - Textual declares it so
    DEFAULT_CSS = """
    ModelFilesScreen #files-title { height: 1; padding: 0 2; color: $accent; text-style: bold; margin: 0 0 1 0; }
    ModelFilesScreen #files-marked { height: 2; padding: 0 2; color: $quiet; margin: 1 0 0 0; }
    ModelFilesScreen #files-keys { margin: 1 0 0 0; }
    ModelFilesScreen.-high #files-title, ModelFilesScreen.-high #files-keys { margin: 1 0; }
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._tree = FileTree(folder)
        self._about = Static("", id="files-marked")
        self._keys = KeyRow(id="files-keys")

    def compose(self) -> ComposeResult:
        yield Static("Add a model, or all models of a folder", id="files-title")
        yield self._tree
        yield self._about
        yield self._keys

    def on_directory_tree_file_selected(self, event: DirectoryTree.FileSelected) -> None:
        self.dismiss(event.path)

    @on(Resize)
    @on(Tree.NodeHighlighted)
    @on(Tree.NodeExpanded)
    @on(Tree.NodeCollapsed)
    def _show(self) -> None:
        """Name the highlighted file or folder in full, and the keys that count there."""
        node, marked = self._tree.cursor_node, self._tree.marked
        is_file = node is not None and not node.allow_expand
        about = "No folders and no GGUF files here." if self._tree.empty else f"{marked}  {self._tree.size_of(marked)}"
        self._about.update(Content(visible_line(about)))
        enter = "add it" if is_file else "close" if node is not None and node.is_expanded else "open"
        self._keys.show(
            {
                places.FILE_ADD: enter,
                places.FILE_FOLDER: "add all of the folder",
                places.FILE_CLOSE: "folder above",
                places.FILE_BACK: "back",
            }
        )

    # Commands

    @handles(places.FILE_ADD)
    def take(self) -> None:
        self._tree.action_select_cursor()

    @handles(places.FILE_FOLDER)
    def take_folder(self) -> None:
        self.dismiss(self._tree.marked_folder)

    @handles(places.FILE_OPEN)
    def open(self) -> None:
        self._tree.open()

    @handles(places.FILE_CLOSE)
    def close_folder(self) -> None:
        self._tree.close()

    @handles(places.FILE_UP, -1)
    @handles(places.FILE_DOWN, 1)
    def move(self, step: int) -> None:
        (self._tree.action_cursor_up if step < 0 else self._tree.action_cursor_down)()

    @handles(places.FILE_PAGE_UP, -1)
    @handles(places.FILE_PAGE_DOWN, 1)
    def page(self, direction: int) -> None:
        (self._tree.action_page_up if direction < 0 else self._tree.action_page_down)()

    @handles(places.FILE_BACK)
    def leave(self) -> None:
        self.dismiss(None)
