"""The folders and models of this disk as a tree, moved by the keys of the screen around it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Self

from rich.style import Style
from rich.text import Text, TextType
from textual.widgets import DirectoryTree
from textual.widgets._directory_tree import DirEntry
from textual.widgets._tree import TreeNode

from localspec.base.visible import visible_line
from localspec.chat.pairs.model_files import choosable
from localspec.runtime.figures import size


class FileTree(DirectoryTree, can_focus=False, inherit_bindings=False):
    """Folders and GGUF files with their sizes; hidden ones are left out."""

    DEFAULT_CSS = """
    FileTree {
        background: $background; padding: 0 2; overflow-x: hidden;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
    }
    FileTree > .tree--cursor { background: $panel; color: $foreground; text-style: bold; }
    FileTree:ansi > .tree--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    FileTree > .tree--highlight-line { background: $surface; }
    FileTree > .directory-tree--folder, FileTree > .directory-tree--extension { text-style: none; }
    """
    ICON_NODE_EXPANDED, ICON_NODE, ICON_FILE = "▾ ", "▸ ", "  "

    def __init__(self, folder: Path) -> None:
        self._sizes: dict[Path, int] = {}
        self._below: Path | None = None
        """The folder that was left for the one above."""
        super().__init__(folder)
        self.show_guides = False
        self.guide_depth = 2

    @property
    def marked(self) -> Path:
        """The highlighted file or folder."""
        node = self.cursor_node
        return Path(self.path) if node is None or node.data is None else node.data.path

    @property
    def empty(self) -> bool:
        """True if there is nothing to choose."""
        root = self.root.data
        return root is not None and root.loaded and self.root.is_expanded and not self.root.children

    @property
    def marked_folder(self) -> Path:
        """The highlighted folder, or that of the highlighted file."""
        node = self.cursor_node
        return self.marked if node is None or node.allow_expand else self.marked.parent

    def size_of(self, path: Path) -> str:
        """The size of a file as it is shown; empty for a folder."""
        return size(self._sizes[path]) if path in self._sizes else ""

    def open(self) -> None:
        """Open the highlighted folder, or go to the first of its rows."""
        node = self.cursor_node
        if node is not None and node.is_expanded and node.children:
            self.move_cursor(node.children[0])
        elif node is not None and node.allow_expand:
            node.expand()

    def close(self) -> None:
        """Close the highlighted folder, or go to the one around; from the first row to the folder above all.

        To there also from the folder that was left so, to climb on by the same key.
        """
        node = self.cursor_node
        if node is not None and node.is_expanded and not node.is_root:
            node.collapse()
        elif node is None or node.is_root or self.marked == self._below:
            self._below = Path(self.path)
            self.path = self._below.parent
        else:
            self.move_cursor(node.parent)

    async def watch_path(self) -> None:
        """Highlight the folder that was left for the one above."""
        await super().watch_path()
        left = (node for node in self.root.children if node.data is not None and node.data.path == self._below)
        self.move_cursor(next(left, self.root))
        self.post_message(self.NodeHighlighted(self.cursor_node or self.root))

    def filter_paths(self, paths: Iterable[Path]) -> Iterable[Path]:
        """Called in another thread: sizes are asked for here."""
        for path in choosable(paths):
            with suppress(OSError):
                status = path.stat()
                if not S_ISDIR(status.st_mode):
                    self._sizes[path] = status.st_size
            yield path

    def reset_node(self, node: TreeNode[DirEntry], label: TextType, data: DirEntry | None = None) -> Self:
        """The folder around all others is named in full."""
        return super().reset_node(node, str(data.path) if node.is_root and data is not None else label, data)

    def process_label(self, label: TextType) -> Text:
        return Text(visible_line(str(label)), no_wrap=True)

    def render_label(self, node: TreeNode[DirEntry], base_style: Style, style: Style) -> Text:
        label = super().render_label(node, base_style, style)
        if node.data is not None and not node.allow_expand:
            label.append(f"  {self.size_of(node.data.path)}", style + Style(dim=True, bold=False))
        return label
