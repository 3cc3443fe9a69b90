"""Jupyter notebooks (nbformat 4): text and code of the cells, and the text that the code wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from localspec.chat.papers.kinds import Parts

MAX_OUTPUT_CHARS = 2000
"""The most characters of the output of one cell; logs are long."""


def read(path: Path) -> Parts:
    """The cells. Raises ValueError, KeyError or TypeError where the file is no notebook."""
    notebook = json.loads(path.read_bytes())
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("it has no list of cells, as those since nbformat 4 have")
    cells, about = notebook["cells"], notebook.get("metadata") or {}
    languages = (
        (about.get(kind) or {}).get(key) for kind, key in (("language_info", "name"), ("kernelspec", "language"))
    )
    language = str(next(filter(None, languages), "python"))
    return Parts("cell", len(cells), (_cell(cell, language) for cell in cells))


def _cell(cell: Mapping[str, Any], language: str) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return f"{source}\n\n"
    written = "".join(_outputs(cell.get("outputs", ()))).strip()
    if (more_n := len(written) - MAX_OUTPUT_CHARS) > 0:
        written = f"{written[:MAX_OUTPUT_CHARS]}\n[{more_n:,} more characters of output left out]"
    output = f"Output:\n```\n{written}\n```\n" if written else ""
    return f"```{language}\n{source}\n```\n{output}\n" if source else ""


def _outputs(outputs: Any) -> Iterator[str]:
    for output in outputs:
        if output["output_type"] == "error":
            yield f"{output['ename']}: {output['evalue']}\n"
        else:
            yield "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))
