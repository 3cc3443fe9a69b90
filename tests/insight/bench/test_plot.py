"""The plot of speed-ups."""

from __future__ import annotations

from pathlib import Path

from localspec.base.significance import Interval
from localspec.insight.bench.plot import draw
from localspec.insight.bench.summary import ALL, Cell


def cell(way: str, subject: str, acceptance: tuple[float, ...]) -> Cell:
    return Cell(
        way=way,
        temperature=0.0,
        subject=subject,
        n=5,
        plain_per_second=10,
        per_second=12,
        speedup=1.2,
        interval=Interval(1.2, 1.1, 1.3, 5),
        prompt_per_second=None,
        plain_prompt_per_second=None,
        first_token_ms=1,
        plain_first_token_ms=1,
        draft_share=0.1,
        verify_share=0.2,
        draft_acceptance_rate=0.5,
        mean_acceptance_length=2.0,
        acceptance_per_pos=acceptance,
    )


def drawn(path: Path, name: str, cells: list[Cell]) -> str:
    """The picture as SVG, in which a comment holds each text that is drawn."""
    draw(path, {name: cells})
    return path.read_text(encoding="utf-8")


def test_names_are_no_formulas(tmp_path: Path) -> None:
    """A name with dollar signs, which matplotlib would read as TeX, is drawn as it is."""
    picture = drawn(tmp_path / "plot.svg", r"\$frac{$", [cell("draft", "$x^{$", (0.5,)), cell("draft", ALL, (0.5,))])
    assert r"<!-- \$frac{$ -->" in picture
    assert "<!-- $x^{$ -->" in picture


def test_every_position_of_the_deepest_drafter_is_named(tmp_path: Path) -> None:
    """Whichever drafter comes last."""
    cells = [cell("draft", ALL, tuple([0.5] * 9)), cell("lookup", ALL, (0.5,))]
    assert "<!-- 9 -->" in drawn(tmp_path / "plot.svg", "a pair", cells)
