"""Whether the two files of a pair fit each other, from headers that are on this machine."""

from __future__ import annotations

from localspec.base.errors import LocalSpecError
from localspec.gguf import read_header
from localspec.models.compatibility import Compatibility, judge_match
from localspec.models.pairs.pair import Pair


def pair_verdict(pair: Pair) -> Compatibility | None:
    """None unless both files are here and can be read."""
    try:
        files = pair.files()
        if files.draft is None:
            return None
        return judge_match(read_header(files.target), read_header(files.draft))
    except LocalSpecError:
        return None
