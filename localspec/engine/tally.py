"""Counting rounds: the one place that defines acceptance, speed and speed-up, and gives ``Timings``."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

from localspec.engine.events import Round
from localspec.engine.timings import Timings

_MOST_ERROR = 0.05
"""The largest standard error of a speed-up that is shown, as a share of it."""


@dataclass(slots=True)
class Baseline:
    """Plain speed under the load of the very rounds it is compared with.

    A round's price says how many plain rounds its verification costs. So a reply's verifications stand for so many
    plain rounds in the same moments, and other programs slow both down alike. The speed-up is then tokens / prices x
    verification time / total time. What is not known is how unevenly the load fell on drafting and on verifying;
    that is estimated from how unevenly it fell on the rounds.
    """

    price: float = 0.0
    """Sum of the prices p, in plain rounds."""
    draft_s: float = 0.0
    verify_s: float = 0.0
    """Sum of the verification times v, host work included."""
    _vv: float = 0.0
    _vp: float = 0.0
    _pp: float = 0.0

    def add(self, price: float, draft_s: float, verify_s: float) -> None:
        """Count one round."""
        self.price += price
        self.draft_s += draft_s
        self.verify_s += verify_s
        self._vv += verify_s * verify_s
        self._vp += verify_s * price
        self._pp += price * price

    @property
    def plain_per_second(self) -> float | None:
        """Plain tokens a second in the time of these rounds; None without any."""
        return self.price / self.verify_s if self.verify_s > 0 and self.price > 0 else None

    @property
    def busy(self) -> bool:
        """True if the speed-up's standard error is too large to show it."""
        return self._error() > _MOST_ERROR

    def _error(self) -> float:
        """The standard error, as a share of the speed-up; 0 without drafting, where both are the same rounds.

        With u = sum v / sum p the time of a plain round, the residuals v - u p give the error of the sum of v. Load
        falls on drafting as it does on verifying, so its error is larger by the root of its smaller share.
        """
        if self.verify_s <= 0 or self.price <= 0:
            return 0.0
        plain_s = self.verify_s / self.price
        residual = max(0.0, self._vv - 2 * plain_s * self._vp + plain_s * plain_s * self._pp)
        drafting = self.draft_s / (self.draft_s + self.verify_s)
        return sqrt(drafting * residual) / self.verify_s


@dataclass(slots=True)
class Tally:
    """Adds up rounds; ``timings()`` may be asked for at any moment."""

    plain_per_second: float | None = None
    """Plain speed measured before; it counts where rounds have no price."""
    prompt_n: int = 0
    prompt_s: float = 0.0
    cache_n: int = 0
    predicted_n: int = 0
    predicted_s: float = 0.0
    draft_s: float = 0.0
    verify_s: float = 0.0
    draft_n: int = 0
    draft_n_accepted: int = 0
    draft_n_ignored: int = 0
    rounds_n: int = 0
    accepted_per_pos: list[int] = field(default_factory=list)
    origins: dict[str, int] = field(default_factory=dict)
    divergence: float = 0.0
    """The sum."""
    diverged_n: int = 0
    """Rounds in which it was measured."""
    baseline: Baseline = field(default_factory=Baseline)
    """Plain speed, from the rounds that have a price."""

    def add(self, round_: Round) -> None:
        """Count one round."""
        proposed_n, accepted_n = round_.proposed_n, round_.accepted_n
        self.rounds_n += 1
        self.predicted_n += len(round_.tokens)
        self.predicted_s += round_.total_s
        self.draft_s += round_.draft_s
        self.verify_s += round_.verify_s
        self.draft_n += proposed_n
        self.draft_n_accepted += accepted_n
        self.draft_n_ignored += len(round_.ignored)
        while len(self.accepted_per_pos) < proposed_n:
            self.accepted_per_pos.append(0)
        for position in range(accepted_n):
            self.accepted_per_pos[position] += 1
        for token in round_.tokens:
            self.origins[token.origin] = self.origins.get(token.origin, 0) + 1
        if round_.divergence is not None:
            self.divergence += round_.divergence
            self.diverged_n += 1
        if round_.price is not None:
            self.baseline.add(round_.price, round_.draft_s, round_.total_s - round_.draft_s)

    def timings(self) -> Timings:
        """The figures so far."""
        speed = self.predicted_n / self.predicted_s if self.predicted_s > 0 else None
        plain = self.baseline.plain_per_second or self.plain_per_second
        busy = self.baseline.busy
        return Timings(
            prompt_n=self.prompt_n,
            prompt_ms=self.prompt_s * 1e3,
            cache_n=self.cache_n,
            predicted_n=self.predicted_n,
            predicted_ms=self.predicted_s * 1e3,
            predicted_per_second=speed,
            draft_n=self.draft_n,
            draft_n_accepted=self.draft_n_accepted,
            draft_n_ignored=self.draft_n_ignored,
            rounds_n=self.rounds_n,
            draft_ms=self.draft_s * 1e3,
            verify_ms=self.verify_s * 1e3,
            draft_acceptance_rate=self.draft_n_accepted / self.draft_n if self.draft_n else None,
            mean_acceptance_length=self.predicted_n / self.rounds_n if self.rounds_n else None,
            accepted_per_pos=tuple(self.accepted_per_pos),
            plain_per_second=plain,
            speedup_vs_plain=speed / plain if speed and plain and not busy else None,
            origins={str(origin): count for origin, count in self.origins.items()},
            divergence=self.divergence / self.diverged_n if self.diverged_n else None,
            busy=busy,
        )
