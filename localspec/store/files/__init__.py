"""Conversations as files: written as Markdown, HTML, JSON and NDJSON, read from LocalSpec, ChatGPT and LM Studio."""

from localspec.store.files.export import kind_of, new_file, write_new
from localspec.store.files.html import to_html
from localspec.store.files.images import with_images_beside
from localspec.store.files.markdown import to_markdown
from localspec.store.files.native_json import to_json
from localspec.store.files.ndjson import to_ndjson
from localspec.store.files.reading import read_conversations

__all__ = [
    "kind_of",
    "new_file",
    "read_conversations",
    "to_html",
    "to_json",
    "to_markdown",
    "to_ndjson",
    "with_images_beside",
    "write_new",
]
