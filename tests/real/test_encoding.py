"""Control tokens come from templates alone, in real templates and vocabularies; the whole of it is a script's work."""

from __future__ import annotations

import pytest

from tests.builtin import DRAFT
from tests.real.encoding_law import Counts, hold_vocabulary
from tests.tokenizers import templates, vocabularies

FEW = ("deepseek-coder", "llama-spm", "phi-3")
"""Small ones that differ: control tokens that users define, spaces put in front, white space swallowed."""
SAMPLE = [path for path in vocabularies() if path.stem.removeprefix("ggml-vocab-") in FEW]
EACH_N = 24


@pytest.mark.parametrize("number", range(1 + len(SAMPLE)))
def test_what_a_message_says_is_never_a_control_token(number: int) -> None:
    """As ``encoding_law`` says it; each vocabulary meets its share of the templates."""
    counts = Counts()
    files = templates()[number :: 2 * (1 + len(SAMPLE))]
    hold_vocabulary([DRAFT, *SAMPLE][number], files, EACH_N, counts)
    assert counts.forged
    assert counts.ordinary
