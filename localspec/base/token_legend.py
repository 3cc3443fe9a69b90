"""The colours and meanings of tokens by origin, the same on every surface. The hues are those of Okabe and Ito."""

from __future__ import annotations

from collections.abc import Mapping

ON_DARK: Mapping[str, str] = {"accepted": "#56B4E9", "corrected": "#E8743B", "bonus": "#F0E442"}
ON_LIGHT: Mapping[str, str] = {"accepted": "#0072B2", "corrected": "#862000", "bonus": "#887000"}
"""Plain tokens have the colour of the text."""

MEANINGS: Mapping[str, str] = {
    "accepted": "guessed by the draft, and the target agreed",
    "corrected": "the target's own, in place of a wrong guess",
    "bonus": "the target's own, after guesses that were all right",
    "plain": "the target's own, where nothing was guessed",
}
"""The words of the legend for each origin."""
