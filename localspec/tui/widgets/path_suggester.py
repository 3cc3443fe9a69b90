"""The rest of a path to a folder or a model, suggested in a field while it is typed."""

from __future__ import annotations

import asyncio

from textual.suggester import Suggester

from localspec.chat.pairs.model_files import completed, typed_path


class PathSuggester(Suggester):
    """Suggests nothing for other words."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(completed, value) if typed_path(value) is not None else None
