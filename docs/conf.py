"""The site made of README.md, docs/ and the other pages, by Sphinx with MyST: make docs.

The whole checkout is the source folder, so that links between pages are the same here and where the files are browsed.
"""

import re

from sphinx.application import Sphinx

from localspec import __version__

project = "LocalSpec"
release = __version__
html_title = f"LocalSpec {release}"
html_theme = "furo"
html_copy_source = False
html_show_copyright = False
templates_path = ["_templates"]
html_additional_pages = {"index": "index.html"}

extensions = ["myst_parser"]
myst_heading_anchors = 4
root_doc = "docs/README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "assets/MODEL_CARD.md", "docs/*.md"]
exclude_patterns = [".venv", "build", "localspec", "tests", "assets/recipe"]

_LINK = re.compile(r"\]\((?!https?:)([\w./]+)\.md\)")


def _contents(app: Sphinx, docname: str, source: list[str]) -> None:
    # The list of pages is the table of contents: nobody has to keep a second one.
    if docname == root_doc:
        links = "\n".join(dict.fromkeys(_LINK.findall(source[0])))
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{links}\n```\n"


def setup(app: Sphinx) -> None:
    """Registers the table of contents."""
    app.connect("source-read", _contents)
