"""``localspec bench`` from the outside."""

from __future__ import annotations

import builtins
import dataclasses
import json
import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from localspec.base.extras import install_extra
from localspec.cli.services import Services
from localspec.config import read_config
from localspec.insight.bench.own_prompts import LONGEST_CHARS, drawn_prompts
from localspec.insight.bench.run import FEWEST_TOKENS, BenchLaunch, bench_lock
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.messages import Role
from localspec.runtime.options import LoadOptions
from localspec.store import Store
from tests.cli.conftest import Localspec
from tests.cli.support import Done
from tests.config.support import configure
from tests.insight.bench.support import GOOD, USELESS, VirtualWorld
from tests.insight.stats.support import Kind, fill

FILES = ("--target", "pair.gguf", "--draft", "draft.gguf")
PROMPTS = "".join(
    json.dumps({"prompt": f"{subject} {'word ' * (4 + n)}", "subject": subject}) + "\n"
    for subject in ("code", "prose")
    for n in (1, 2)
)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.jsonl"
    file.write_text(PROMPTS, encoding="utf-8")
    return file


def bench(localspec: Localspec, *arguments: str | Path, world: VirtualWorld | None = None) -> Done:
    world = world or VirtualWorld({"pair": GOOD})
    return localspec("bench", *arguments, services=Services(world.open_pair))


def test_the_table_ends_with_a_verdict(localspec: Localspec, prompts: Path) -> None:
    """Standard output has the figures, standard error has nothing without a terminal."""
    done = bench(localspec, *FILES, "--prompts", prompts, "--depth", "3")
    assert done.code == 0
    assert "Use it: " in done.out
    assert "Recommended: --spec auto --depth 3" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.err == ""


def test_json_has_every_reply_and_what_they_say(localspec: Localspec, prompts: Path) -> None:
    """One object, whose samples are ways times prompts times repeats."""
    done = bench(localspec, *FILES, "--prompts", prompts, "--json", "--repeats", "2", "--temperature", "0.5")
    (pair,) = json.loads(done.out)["pairs"]
    assert len(pair["samples"]) == 2 * 4 * 2
    assert {sample["temperature"] for sample in pair["samples"]} == {0.5}
    assert {cell["subject"] for cell in pair["summary"]} == {"code", "prose", "all"}
    assert pair["verdict"]["sentence"]


def test_markdown(localspec: Localspec, prompts: Path) -> None:
    """Nothing but Markdown."""
    done = bench(localspec, *FILES, "--prompts", prompts, "--markdown")
    assert done.out.startswith("# localspec bench\n")


def test_an_earlier_result_is_compared_with(localspec: Localspec, prompts: Path, tmp_path: Path) -> None:
    """The same again is no loss; a worse draft is one, and exit code 12."""
    kept = tmp_path / "kept.json"
    orders = (*FILES, "--prompts", prompts, "--depth", "3", "--repeats", "4", "--temperature", "0")
    assert bench(localspec, *orders, "--out", kept).code == 0
    same = bench(localspec, *orders, "--compare", kept)
    assert same.code == 0
    assert "No speed was lost." in same.out
    worse = bench(localspec, *orders, "--compare", kept, world=VirtualWorld({"pair": USELESS}))
    assert worse.code == 12
    assert "slower" in worse.out
    assert worse.err.startswith("localspec: Slower than before: pair + draft auto at 3 on ")
    few = bench(localspec, *orders, "--repeats", "1", "--compare", kept)
    assert few.code == 0
    assert "too few replies to tell" in " ".join(few.out.split())
    assert "No speed was lost." not in few.out


def test_ctrl_c_prints_what_there_is(localspec: Localspec, prompts: Path, tmp_path: Path) -> None:
    """Marked as cut short, kept in the file as well, exit code 130."""
    kept = tmp_path / "kept.json"
    world = VirtualWorld({"pair": GOOD}, stop_after=20)
    done = bench(localspec, *FILES, "--prompts", prompts, "--out", kept, world=world)
    assert done.code == 130
    assert done.out.startswith("Cut short: stopped by Ctrl-C.")
    assert len(json.loads(kept.read_text())["pairs"][0]["samples"]) > 3
    assert world.pairs[0].closed


def test_drafters_of_several_files_are_compared_in_one_run(localspec: Localspec, prompts: Path) -> None:
    """Each file is loaded once, and its replies are compared with plain ones of the same time."""
    world = VirtualWorld({"builtin-target": GOOD})
    orders = ("--spec", "draft", "--spec", "eagle3", "--spec", "suffix", "--repeats", "2", "--temperature", "0")
    done = bench(localspec, "--pair", "builtin", "--prompts", prompts, *orders, "--json", world=world)
    assert done.code == 0, done.err
    assert [pair.info.draft and pair.info.draft.stem for pair in world.pairs] == ["builtin-draft", "builtin-eagle3"]
    (pair,) = json.loads(done.out)["pairs"]
    counts = Counter(sample["way"] for sample in pair["samples"])
    assert counts == {"plain": 16, "draft": 8, "eagle3": 8, "suffix": 8}
    assert {cell["n"] for cell in pair["summary"] if cell["subject"] == "all"} == {8}
    plain = [sample["predicted_ms"] for sample in pair["samples"] if sample["way"] == "plain"]
    assert len(set(plain)) == 16


def test_a_pair_that_does_not_load_is_an_error_after_the_others(localspec: Localspec, prompts: Path) -> None:
    """Its own exit code, and nothing of the others is lost."""
    done = bench(localspec, "--target", "other.gguf", "--draft", "draft.gguf", "--prompts", prompts)
    assert done.code == 6
    assert "Cannot be used: Token 7" in done.out
    assert "Token 7" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("--json", "--markdown"), 2, "contradict"),
        (("--depth", "17"), 2, "0 to 16"),
        (("--depth", "0"), 2, "measured anyway"),
        (("--spec", "off"), 2, "measured anyway"),
        (("--spec", "crystal-ball"), 2, "no drafter 'crystal-ball'"),
        (("--subject", "poems"), 2, "subject 'poems'"),
        (("--prompts", "none.jsonl"), 4, "none.jsonl cannot be read"),
        (("--compare", "none.json"), 4, "none.json cannot be read"),
        (("--out", "no/such/folder/file.json"), 2, "There is no folder"),
        (("--plot", "picture.gif"), 2, "is not the name of a picture"),
        (("--minutes", "0"), 2, "--minutes"),
        (("--pair", "builtin"), 2, "two different things"),
    ],
)
def test_mistakes_are_told_before_anything_is_loaded(
    localspec: Localspec, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    """A sentence and a code."""
    world = VirtualWorld({"pair": GOOD})
    done = bench(localspec, *FILES, *arguments, world=world)
    assert (done.code, done.out) == (code, "")
    assert complaint in done.err
    assert done.err.count("\n") == 1
    assert world.pairs == []


def test_a_pair_that_is_not_there_is_told_at_once(localspec: Localspec) -> None:
    """Although another one is."""
    world = VirtualWorld({"builtin-target": GOOD})
    done = bench(localspec, "--pair", "builtin", "--pair", "no-such-pair", world=world)
    assert done.code == 4
    assert world.pairs == []


def test_settings_of_the_file_count(localspec: Localspec, prompts: Path) -> None:
    """The pair and how models are loaded; drafters, depth and temperature are the benchmark's own to choose."""
    configure('[model]\npair = "no-such-pair"\nthreads = 3\n\n[speculation]\ndepth = 9\n')
    assert bench(localspec).code == 4
    world = VirtualWorld({"pair": GOOD})
    assert bench(localspec, *FILES, "--prompts", prompts, world=world).code == 0
    assert world.pairs[0].info.threads == 3
    assert {options.depth for _, options in world.pairs[0].asked} == {None, 0, 1}


def test_a_second_benchmark_waits_for_nobody(localspec: Localspec) -> None:
    """It says that there is another."""
    with bench_lock():
        done = bench(localspec, *FILES)
    assert done.code == 7
    assert "Another localspec bench is running" in done.err


def test_every_way_of_loading_arrives(localspec: Localspec, prompts: Path) -> None:
    """None of the options is passed over."""
    world = VirtualWorld({"pair": GOOD})
    opened = []

    def opener(options: Any, *rest: Any) -> Any:
        opened.append(options)
        return world.open_pair(options, *rest)

    arguments = (
        *("--ctx", "300", "--threads", "2", "--draft-threads", "1", "--gpu-layers", "4", "--draft-gpu-layers", "3"),
        *("--device", "A", "--draft-device", "B", "--cache-type-k", "f32", "--cache-type-v", "f32"),
        *("--flash-attn", "on", "--no-mmap", "--mlock", "--require-gpu"),
    )
    done = localspec("bench", *FILES, "--prompts", prompts, *arguments, services=Services(opener))
    assert done.code == 0
    (options,) = opened
    said = dataclasses.asdict(options)
    assert (said["n_ctx"], said["threads"], said["draft_threads"]) == (300, 2, 1)
    assert (said["gpu_layers"], said["draft_gpu_layers"], said["device"], said["draft_device"]) == (4, 3, "A", "B")
    assert (said["cache_type_k"], said["cache_type_v"], said["flash_attn"]) == ("f32", "f32", "on")
    assert (said["mmap"], said["mlock"], said["require_gpu"]) == (False, True, True)


def test_replies_that_cannot_be_timed_are_refused_at_once(localspec: Localspec, prompts: Path) -> None:
    """Before minutes are spent on them."""
    for tokens, code in ((FEWEST_TOKENS - 1, 2), (FEWEST_TOKENS, 0)):
        world = VirtualWorld({"pair": GOOD})
        done = localspec(
            *("bench", *FILES, "--prompts", prompts, "--tokens", str(tokens)), services=Services(world.open_pair)
        )
        assert done.code == code


def test_a_plot_is_drawn(localspec: Localspec, prompts: Path, tmp_path: Path) -> None:
    """As SVG, with the names in it."""
    picture = tmp_path / "plot.svg"
    assert bench(localspec, *FILES, "--prompts", prompts, "--plot", picture).code == 0
    assert picture.read_text(encoding="utf-8").count("<path") > 20


def test_without_matplotlib_a_plot_is_refused_at_once(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it, and all else works."""
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    done = bench(localspec, *FILES, "--plot", "plot.svg")
    assert done.code == 2
    assert f"Install it: {install_extra('plot')}" in done.err


def test_the_built_in_pair_is_measured(localspec: Localspec, prompts: Path) -> None:
    """From one end to the other, over the real engine."""
    prompts.write_text('{"prompt": "Tell me a story about a fox."}\n', encoding="utf-8")
    done = localspec(
        *("bench", "--prompts", prompts, "--tokens", "16", "--repeats", "1", "--depth", "3", "--json"),
        services=Services(),
    )
    assert done.code == 0
    (pair,) = json.loads(done.out)["pairs"]
    plain = [sample for sample in pair["samples"] if sample["way"] == "plain"]
    fast = [sample for sample in pair["samples"] if sample["way"] != "plain"]
    assert len(plain) == len(fast) == 2
    assert all(sample["draft_n"] > 0 for sample in fast)
    # Nothing of the prompt but, at most, what all texts begin with was held from before.
    assert {sample["prompt_n"] for sample in (*plain, *fast)} == {plain[0]["prompt_n"]}
    assert plain[0]["prompt_n"] > 5
    assert re.match("No verdict: 1 comparison is too few", pair["verdict"]["sentence"])


PAIR = ("--pair", "builtin", "--repeats", "4", "--temperature", "0", "--depth", "3")


def test_what_is_recommended_can_be_saved(localspec: Localspec, prompts: Path) -> None:
    """Into the settings of the pair: once; another pair with its name; and nothing else of the file changes."""
    file = configure("# mine\n[model]\nthreads = 3\n")
    world = VirtualWorld({"builtin-target": GOOD})
    done = bench(localspec, *PAIR, "--prompts", prompts, "--save", world=world)
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert "pair.builtin.spec = auto, pair.builtin.depth = 3." in done.err
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# mine\n[model]\nthreads = 3\n")
    assert read_config().values == {"model.threads": 3}
    assert read_config().pairs == {"builtin": {"speculation.spec": "auto", "speculation.depth": 3}}
    assert "says so already" in bench(localspec, *PAIR, "--prompts", prompts, "--save", world=world).err


def test_nothing_is_saved_where_the_figures_do_not_say(localspec: Localspec, prompts: Path) -> None:
    """One comparison is too few."""
    world = VirtualWorld({"builtin-target": GOOD})
    arguments = ("--pair", "builtin", "--prompts", prompts, "--repeats", "1", "--temperature", "0", "--subject", "code")
    prompts.write_text(PROMPTS.splitlines()[0] + "\n", encoding="utf-8")
    done = bench(localspec, *arguments, "--save", world=world)
    assert "Nothing was saved; the figures do not say." in done.err
    assert read_config().values == {}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((*FILES, "--save"), "localspec pairs add"),
        (("--pair", "builtin", "--pair", "builtin-alone", "--save"), "several"),
        ((*FILES, "--prompts", "x", "--from-history", "3"), "--prompts and --from-history contradict"),
        ((*FILES, "--from-history", "3"), "no questions in the history"),
    ],
)
def test_what_cannot_be_saved_or_drawn_is_told_at_once(
    localspec: Localspec, arguments: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is measured."""
    world = VirtualWorld({"pair": GOOD})
    monkeypatch.setattr("localspec.cli.bench._launches", lambda given: _launched(given["pairs"]))
    done = bench(localspec, *arguments, world=world)
    assert done.code != 0
    assert complaint in done.err
    assert world.pairs == []


def _launched(pairs: tuple[str, ...]) -> list[Any]:
    load = LoadOptions(Path("pair.gguf"), Path("draft.gguf"))
    return [BenchLaunch(ChatConfig(load, pair_id=pair), {None}) for pair in pairs or (None,)]


def test_prompts_are_drawn_from_the_history(localspec: Localspec) -> None:
    """With what was said before each; the same for the same seed, and no more than there are."""
    with closing(Store.open()) as store:
        fill(store, *[Kind()] * 6)
        fill(store, *[Kind()] * 3, seed=2)
    drawn = []
    for n, seed in ((4, 1), (4, 1), (4, 2), (100, 1)):
        with closing(Store.open()) as store:
            drawn.append(drawn_prompts(store, n, seed))
    first, again, other, everything = drawn
    assert first == again != other
    assert len(first) == 4
    assert len(everything) == 9
    assert {prompt.messages[-1].role for prompt in everything} == {Role.USER}
    assert {len(prompt.messages) for prompt in everything} == {1, 3, 5, 7, 9, 11}
    assert {prompt.subject for prompt in everything} <= {"code", "json", "list", "prose", "short"}
    world = VirtualWorld({"pair": GOOD})
    done = bench(localspec, *FILES, "--from-history", "2", "--repeats", "1", "--json", world=world)
    assert done.code == 0
    assert len({prompt for prompt, _ in world.pairs[0].asked if str(prompt).startswith("Question")}) == 2


def test_what_would_take_long_to_read_is_not_drawn() -> None:
    """Nor what follows it; what was asked before it is."""
    with closing(Store.in_memory()) as store:
        thread = store.begin()
        for text in ("short", "long " * LONGEST_CHARS, "short again"):
            thread.ask(text)
        assert [prompt.messages[-1].content for prompt in drawn_prompts(store, 9, 1)] == ["short"]
