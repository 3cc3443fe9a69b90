"""Conversations as files: written as Markdown, HTML, JSON and NDJSON, read from LocalSpec, ChatGPT and LM Studio."""

from localspec.store.files.export import new_file, text_of, write_new
from localspec.store.files.html import to_html
from localspec.store.files.markdown import to_markdown
from localspec.store.files.native_json import to_json
from localspec.store.files.ndjson import to_ndjson
from localspec.store.files.reading import read_conversations

__all__ = [
    "new_file",
    "read_conversations",
    "text_of",
    "to_html",
    "to_json",
    "to_markdown",
    "to_ndjson",
    "write_new",
]
