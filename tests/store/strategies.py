"""Any rounds of a reply, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from localspec.engine.events import DrafterFailure, Origin, Proposal, Round, Token

TEXTS = st.text(max_size=12)
DRAFTERS = st.none() | st.sampled_from(("draft", "suffix", "mtp head"))
SECONDS = st.integers(0, 10**10).map(lambda micros: micros / 1e6)
THOUSANDTHS = st.integers(0, 14_000).map(lambda thousandths: thousandths / 1000)
TOKEN_IDS = st.integers(0, 2**31 - 1)
ROUNDS = st.lists(
    st.builds(
        Round,
        index=st.integers(0, 10**6),
        drafter=DRAFTERS,
        depth=st.integers(0, 300),
        tokens=st.lists(st.builds(Token, TOKEN_IDS, TEXTS, st.sampled_from(Origin), DRAFTERS), max_size=5).map(tuple),
        rejected=st.lists(st.builds(Proposal, TOKEN_IDS, TEXTS, DRAFTERS), max_size=3).map(tuple),
        ignored=st.lists(st.builds(Proposal, TOKEN_IDS, TEXTS, DRAFTERS), max_size=3).map(tuple),
        draft_s=SECONDS,
        verify_s=SECONDS,
        total_s=SECONDS,
        why=TEXTS,
        failures=st.lists(st.builds(DrafterFailure, TEXTS, TEXTS), max_size=2).map(tuple),
        divergence=st.none() | THOUSANDTHS,
        price=st.none() | THOUSANDTHS,
    ),
    max_size=6,
)
