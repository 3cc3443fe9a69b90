"""Kills by the hundred, at moments drawn from a seed: the app, its engine, the line mode, an import, an export, a pull.

    python -m tests.endurance.kill_storm [--kills 500] [--seed 0]

Text: of what was on screen or on standard output half a second is lost at most, beside the longest time that the
machine let nothing be written (``silence``). Files: whole, or not there. A busy machine makes it slower, and does not
make it fail.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tests.endurance.killed_commands import ExportKills, ImportKills, PullKills, serve
from tests.endurance.killed_lines import LineLives
from tests.endurance.kills import MOST_LOST_S, Kill, Lives
from tests.hub import HubServer

SHARES = {"app": 18, "engine": 18, "line mode": 22, "import": 14, "export": 14, "pull": 14}


def main() -> None:
    """Kill, look, and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="localspec-kills-") as folder, HubServer() as server:
        serve(server)
        storm(Path(folder), server, options.kills, random.Random(options.seed))


def storm(folder: Path, server: HubServer, kills_n: int, rng: random.Random) -> None:
    app, line = Lives(folder / "app", rng), LineLives(folder / "line", rng)
    imports, exports = ImportKills(folder / "import", rng), ExportKills(folder / "export", rng)
    pulls = PullKills(folder / "pull", rng, server)
    kinds: dict[str, Callable[[], object]] = {
        "app": lambda: app.live(of_app=True),
        "engine": lambda: app.live(of_app=False),
        "line mode": line.live,
        "import": lambda: until_killed(imports.kill),
        "export": lambda: until_killed(exports.kill),
        "pull": lambda: until_killed(pulls.kill),
    }
    done = Counter[str]()
    with suppress(KeyboardInterrupt):  # What was seen so far is told as well.
        for number in range(kills_n):
            (kind,) = rng.choices([*SHARES], [*SHARES.values()])
            kinds[kind]()
            done[kind] += 1
            print(f"\r{number + 1} kills", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if app.kills:
        app.end()
        report(app.kills, app.check())
        environment = {**os.environ, "LOCALSPEC_HOME": str(app.home)}
        history = [sys.executable, "-m", "localspec", "history", "list"]
        subprocess.run(history, env=environment, check=True, stdout=subprocess.DEVNULL)
    if line.kills:
        line.end()
        report(line.kills, line.check())
    print(f"import killed {done['import']} times: all was there {imports.whole_n} times, else nothing of it")
    print(f"export killed {done['export']} times: whole {exports.whole_n} times, else not there", end="; ")
    print(f"{exports.left_n} files were left under a hidden name")
    print(f"pull killed {done['pull']} times in {pulls.finished_n} downloads that ended right", end="; ")
    print(f"sent and not on the disk: {max(pulls.lost_bytes, default=0):,} bytes at most")


def until_killed(kill: Callable[[], bool]) -> None:
    while not kill():
        pass


def report(kills: Sequence[Kill], lost: Sequence[float]) -> None:
    """What kills in mid-reply cost. Raises AssertionError if it was too much."""
    for victim in sorted({kill.victim for kill in kills}):
        cost = [(kill, s) for kill, s in zip(kills, lost, strict=True) if kill.victim == victim]
        seconds, words = [s for _, s in cost], [kill.words_n for kill, _ in cost]
        over = [s for kill, s in cost if s > MOST_LOST_S]
        print(
            f"{victim} killed {len(cost)} times, {min(words)} to {max(words)} words seen: text of the last "
            f"{statistics.median(seconds):.2f} s missing at the median, {max(seconds):.2f} s at most, "
            f"none {seconds.count(0)} times, more than {MOST_LOST_S} s {len(over)} times"
        )
        assert all(s <= MOST_LOST_S + kill.silence_s for kill, s in cost)


if __name__ == "__main__":
    main()
