"""Corrections of Textual's insides, one a module.

Each module says which release needs it, what it corrects and what was reported upstream. The bound in pyproject.toml
(8.2.8 up to 8.3) is theirs: whoever raises it reads them first, and deletes what the new release does itself.
"""
