"""The service over engine processes that follow a script: loads, places, queues, hang-ups, deaths, and putting away."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.base.errors import CapacityError, EngineError, InputError, NotFoundError, ReplyStoppedError
from localspec.base.machine import MachineMemory
from localspec.base.paths import user_paths
from localspec.config import read_config
from localspec.engine.events import Event, Finished, Round
from localspec.insight.observers.metering import Metering
from localspec.insight.observers.observers import Observers
from localspec.models.pairs import Pair
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.resolver import SettingsResolver
from localspec.runtime.worker.messages import Silence, Tokenize, Tokenized
from localspec.server import engine_pool, served_pairs
from localspec.server.embeddings import Embeddings
from localspec.server.engines import Engines, ServiceLimits
from localspec.server.http_server import logged
from localspec.server.keys import ApiKey, RateLimits, holder_of, read_keys
from localspec.server.places import Places
from localspec.server.served_pairs import ServedPairs
from localspec.server.service import CLIENT, BusyError, RateLimitError, ReplyRequest
from localspec.server.streaming import AT_ONCE, merged
from tests.runtime.worker.scripted_engine import counted

OPENER = "tests.server.crowded_engine:open_pair"
PATIENCE_S = 60.0


@asynccontextmanager
async def service(
    tmp_path: Path,
    *others: str,
    limits: ServiceLimits | None = None,
    rates: RateLimits | None = None,
    vectors: Embeddings | None = None,
) -> AsyncGenerator[Engines]:
    """Engines whose own pair is the file ``own.gguf``; ``others`` are in the catalogue."""
    tables = []
    for name in ("own", *others):
        (tmp_path / f"{name}.gguf").touch()
        tables.append(f'[[pairs]]\nid = "{name}"\ntitle = "{name}"\n[pairs.target]\nfile = "{tmp_path / name}.gguf"\n')
    pairs = user_paths().config / "pairs.toml"
    pairs.parent.mkdir(parents=True, exist_ok=True)
    pairs.write_text("\n".join(tables), encoding="utf-8")
    metering = Metering()
    engines = Engines(
        ServedPairs(SettingsResolver({"pair": "own"}).resolve(read_config())),
        limits or ServiceLimits(replies=1),
        Observers([metering]),
        meters=metering.meters,
        rates=rates,
        vectors=vectors,
        opener=OPENER,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield engines
    finally:
        await engines.close()


def begun(engines: Engines, prompt: str, model: str = "") -> AsyncGenerator[Event, None]:
    return engines.reply(ReplyRequest(model, prompt, ReplyOptions()))


async def whole(engines: Engines, prompt: str, model: str = "") -> str:
    """The text of a reply, when it has ended."""
    async with aclosing(begun(engines, prompt, model)) as events:
        last = [event async for event in events][-1]
    assert isinstance(last, Finished)
    return last.text


async def until_round(events: AsyncGenerator[Event, None]) -> None:
    async for event in events:
        if isinstance(event, Round):
            return


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.005)


def loads_of(tmp_path: Path, name: str) -> int:
    return len((tmp_path / f"{name}.loads").read_text())


async def test_a_reply_and_a_question(tmp_path: Path) -> None:
    """The first request loads the pair. The events of a reply come in order; an error of the engine is the client's."""
    async with service(tmp_path, "small") as engines:
        assert [(model.id, model.loaded) for model in engines.models()[:2]] == [("own", False), ("builtin", False)]
        assert await whole(engines, "count 3") == counted(3)
        assert [model.id for model in engines.models() if model.loaded] == ["own"]
        assert isinstance(await engines.ask("", Tokenize(0, "a b")), Tokenized)
        with pytest.raises(InputError):
            await whole(engines, "count 1 then refuse")
        with pytest.raises(NotFoundError):
            await whole(engines, "count 1", "another")
        assert await whole(engines, "count 2", "small") == counted(2)


async def test_an_rpc_server_that_is_silent_is_named_until_it_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """On the status page, and once in the log."""
    async with service(tmp_path) as engines:
        assert await whole(engines, "count 1") == counted(1)
        (engine,) = engines._pool.engines.values()
        for seconds in (15, 16):
            engine._answers.put(Silence(f"no answer from the RPC server gpu:50052 for {seconds} s"))
        await until(lambda: "for 16 s" in engines.figures()["pairs"][0]["silence"])
        assert await whole(engines, "count 1") == counted(1)
        assert engines.figures()["pairs"][0]["silence"] == ""
    assert [record.message for record in caplog.records if "no answer" in record.message] == [
        "own: no answer from the RPC server gpu:50052 for 15 s"
    ]


async def test_two_hundred_at_once(tmp_path: Path) -> None:
    """The pair is loaded once, as many wait as may, the others are refused at once, and nobody's reply is lost."""
    async with service(tmp_path, limits=ServiceLimits(replies=4, queue=64)) as engines:
        outcomes = await asyncio.gather(*(whole(engines, f"count {n % 7}") for n in range(200)), return_exceptions=True)
        assert [outcome for outcome in outcomes if isinstance(outcome, str)] == [counted(n % 7) for n in range(64)]
        refused = [outcome for outcome in outcomes if isinstance(outcome, BusyError)]
        assert len(refused) == 136
        assert all(error.retry_after_s > 0 for error in refused)
        assert loads_of(tmp_path, "own") == 1
        assert (engines.figures()["refused_n"], engines.figures()["waiting_n"], engines.busy) == (136, 0, False)
        assert 'vllm:num_requests_waiting{model_name="own"} 0' in engines.meters.page()
        assert 'vllm:request_queue_time_seconds_count{model_name="own"} 64' in engines.meters.page()
        assert 'localspec:refused_requests_total{model_name="own",reason="queue_full"} 136' in engines.meters.page()


@pytest.mark.parametrize("replies", [1, 4])
@pytest.mark.parametrize("queue", [0, 1])
async def test_several_replies_to_one_request_count_as_one(tmp_path: Path, queue: int, replies: int) -> None:
    """The request is answered however few may wait, also if its pair has to be loaded; further requests are refused."""
    async with service(tmp_path, limits=ServiceLimits(replies=replies, queue=queue)) as engines:
        asked = [ReplyRequest("", f"count {n}", ReplyOptions()) for n in range(9)]
        async with aclosing(merged(engines, asked)) as events:
            texts = {i: event.text async for i, event in events if isinstance(event, Finished)}
        assert texts == {n: counted(n) for n in range(9)}
        asked = [ReplyRequest("", "count 1 then wait", ReplyOptions())] * 9
        async with aclosing(merged(engines, asked)) as events:
            await anext(events)
            await until(lambda: engines.figures()["pairs"][0]["waiting_n"] == AT_ONCE - replies)
            assert engines.figures()["waiting_n"] == 0
            others = [asyncio.create_task(whole(engines, "count 1")) for _ in range(queue + 1)]
            (refused,) = (await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED))[0]
            assert isinstance(refused.exception(), BusyError)
            assert engines.figures()["waiting_n"] == queue
        others.remove(refused)
        assert await asyncio.gather(*others) == [counted(1)] * queue
        assert not engines.busy


async def test_where_nobody_may_wait_pairs_are_loaded_all_the_same(tmp_path: Path) -> None:
    """Whoever asks first waits for the load; who asks meanwhile is refused."""
    async with service(tmp_path, "small", limits=ServiceLimits(replies=1, queue=0)) as engines:
        assert (await engines.info("")).n_ctx > 0
        outcomes = await asyncio.gather(*(whole(engines, "count 2", "small") for _ in range(2)), return_exceptions=True)
        assert outcomes[0] == counted(2)
        assert isinstance(outcomes[1], BusyError)


async def test_questions_need_no_place(tmp_path: Path) -> None:
    """They are answered beside the replies that the engine makes, whoever waits; as many at once as may wait."""
    async with service(tmp_path, limits=ServiceLimits(replies=2, queue=1)) as engines:
        replying = [begun(engines, "count 1 then wait") for _ in range(2)]
        for events in replying:
            await until_round(events)
        waiting = asyncio.create_task(whole(engines, "count 1"))
        await until(lambda: engines.figures()["waiting_n"] == 1)
        asked = [engines.ask("", Tokenize(0, "a b")) for _ in range(5)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(answer) for answer in answers] == [Tokenized] * 2 + [BusyError] * 3
        with pytest.raises(BusyError):
            await whole(engines, "count 1")
        for events in replying:
            await events.aclose()
        assert await waiting == counted(1)


async def test_clients_take_turns() -> None:
    """First come, first served for each client; a place that is handed to somebody who has gone goes on."""
    places, served = Places(), list[str]()
    places.resize(1)

    async def ask(name: str) -> None:
        await places.take(name[0])
        served.append(name)
        await asyncio.sleep(0)
        places.give_back()

    asking = [asyncio.create_task(ask(name)) for name in ("a1", "a2", "a3", "a4", "b1", "b2", "c1")]
    await asyncio.sleep(0)
    asking[2].cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    assert served == ["a1", "a2", "b1", "c1", "a4", "b2"]
    assert (places.taken_n, places.waiting_n) == (0, 0)


async def test_a_place_is_handed_on_by_whoever_leaves_in_that_moment() -> None:
    places = Places()
    places.resize(1)
    await places.take("")
    leaving, next_one = (asyncio.create_task(places.take("")) for _ in range(2))
    await asyncio.sleep(0)
    places.give_back()
    leaving.cancel()
    await next_one
    places.give_back()
    assert (places.taken_n, places.waiting_n) == (0, 0)


async def test_requests_are_refused_while_replies_wait_for_a_silent_machine(tmp_path: Path) -> None:
    """With the reason, which replies whose time is up are told, too; when it answers, requests are answered."""
    async with service(tmp_path, limits=ServiceLimits(replies=2, timeout_s=PATIENCE_S)) as engines:
        events = begun(engines, "count 1 then wait")
        await until_round(events)
        (engine,) = engines._pool.engines.values()

        def told() -> bool:
            """True once the silence is known; it is told again while it lasts."""
            engine._answers.put(Silence("no answer from the RPC server gpu:50052 for 20 s"))
            return bool(engines.models()[0].silence)

        await until(told)
        for asked in (whole(engines, "count 1"), engines.ask("", Tokenize(0, "a b"))):
            with pytest.raises(BusyError, match="cannot answer: no answer from the RPC server gpu:50052 for 20 s"):
                await asked
        assert "no answer from" in engines._too_slow(engine, 1.0).message
        await events.aclose()
        await until(lambda: not engines.models()[0].silence)
        assert await whole(engines, "count 3") == counted(3)


@pytest.mark.parametrize("replies", [1, 2])
async def test_a_client_that_hangs_up(tmp_path: Path, replies: int) -> None:
    """Its reply ends, and so does its wait; others are served by the same engine, whose pair stays loaded."""
    async with service(tmp_path, limits=ServiceLimits(replies=replies)) as engines:
        endless = [begun(engines, "count 1 then wait") for _ in range(replies)]
        for events in endless:
            await until_round(events)
        waiting = [asyncio.create_task(whole(engines, f"count {n}")) for n in (1, 2)]
        await until(lambda: engines.figures()["pairs"][0]["waiting_n"] == 2)
        waiting[0].cancel()
        for events in endless:
            await events.aclose()
        assert await waiting[1] == counted(2)
        assert loads_of(tmp_path, "own") == 1
        states = [reply["state"] for reply in engines.figures()["replies"]]
        assert sorted(states) == ["cancelled"] * replies + ["stop"]
        ended = 'vllm:request_success_total{model_name="own",finished_reason="cancelled"}'
        assert f"{ended} {replies}\n" in engines.meters.page()
        assert not engines.busy


async def test_hang_ups_at_any_moment(tmp_path: Path) -> None:
    """In the queue, before the first event or in the middle: others get their own reply, and no place is lost."""
    chance = random.Random(5)
    async with service(tmp_path, limits=ServiceLimits(replies=3, queue=200)) as engines:

        async def ask(n: int, patience: int) -> str:
            """The text of ``count n``; the client leaves after so many events."""
            text = ""
            async with aclosing(begun(engines, f"count {n}")) as events:
                async for event in events:
                    text += "".join(token.text for token in event.tokens) if isinstance(event, Round) else ""
                    patience -= 1
                    if not patience:
                        return ""
            return text

        asked = [(chance.randrange(1, 30), chance.choice((0, 0, 1, 2, 5))) for _ in range(120)]
        asking = [asyncio.create_task(ask(*each)) for each in asked]
        for _ in range(60):
            await asyncio.sleep(0.002)
            chance.choice(asking).cancel()
        outcomes = await asyncio.gather(*asking, return_exceptions=True)
        texts = [(counted(n), outcome) for (n, patience), outcome in zip(asked, outcomes, strict=True) if not patience]
        whole_ones = [(wanted, got) for wanted, got in texts if not isinstance(got, asyncio.CancelledError)]
        assert len(whole_ones) > 20
        assert all(wanted == got for wanted, got in whole_ones)
        await until(lambda: engines.figures()["pairs"][0]["replies_n"] == 0)
        assert (engines.busy, engines.figures()["waiting_n"], loads_of(tmp_path, "own")) == (False, 0, 1)


async def test_an_engine_that_dies(tmp_path: Path) -> None:
    """Its client is told and the log is, without a text, and the next request starts it again."""
    async with service(tmp_path) as engines:
        with logged(tmp_path / "log"), pytest.raises(EngineError):
            await whole(engines, "count 2 then abort")
        log = (tmp_path / "log").read_text()
        assert log.count("ERROR localspec.server: own: ") == 1
        assert "then abort" not in log
        assert not engines.models()[0].loaded
        assert 'localspec:failed_replies_total{model_name="own"} 1' in engines.meters.page()
        assert await whole(engines, "count 4") == counted(4)
        assert loads_of(tmp_path, "own") == 2


async def test_a_prompt_that_cannot_be_used_is_no_reply_that_failed(tmp_path: Path) -> None:
    """Else a client that sends too much would raise the alert of replies that break off."""
    async with service(tmp_path) as engines:
        for prompt in ("refuse", "count 1 then refuse"):
            with pytest.raises(InputError):
                await whole(engines, prompt)
        assert await whole(engines, "drop 2") == counted(2)
        with pytest.raises(CapacityError, match="1 of its messages would be left out"):
            _ = [each async for each in engines.reply(ReplyRequest("", "drop 2", ReplyOptions(), is_whole=True))]
        page = engines.meters.page()
        assert 'localspec:refused_requests_total{model_name="own",reason="prompt"} 2' in page
        assert 'localspec:failed_replies_total{model_name="own"} 1' in page
        assert 'finished_reason="cancelled"' not in page
        assert 'vllm:num_requests_running{model_name="own"} 0' in page
        figures = engines.figures()
        assert [reply["state"] for reply in figures["replies"]] == ["refused", "stop", "failed", "refused"]
        assert (figures["totals"]["replies_n"], figures["refused_n"]) == (2, 2)


async def test_a_pair_that_nobody_asks_for_is_put_away(tmp_path: Path) -> None:
    """All but the server's own."""
    async with service(tmp_path, "small", limits=ServiceLimits(1, idle_s=0.2)) as engines:
        assert await whole(engines, "count 1") == await whole(engines, "count 1", "small")
        await until(lambda: not (tmp_path / "small.held").exists())
        assert [model.id for model in engines.models() if model.loaded] == ["own"]
        assert await whole(engines, "count 2", "small") == counted(2)
        assert (loads_of(tmp_path, "own"), loads_of(tmp_path, "small")) == (1, 2)


async def test_a_load_that_waits_its_turn_is_not_put_away(tmp_path: Path) -> None:
    """Also where its client has gone meanwhile; the loads after it have their turn, too."""
    async with service(tmp_path, "left", "other", limits=ServiceLimits(1, idle_s=0.2)) as engines:
        pool = engines._pool
        async with pool._one_load:
            leaving = asyncio.create_task(whole(engines, "count 1", "left"))
            await until(lambda: "left" in pool.engines and pool.engines["left"].is_loading)
            (shown,) = engines.figures()["pairs"]
            assert (shown["loaded"], shown["loading"]) == (False, ["loading", 0.0])  # and so the page says
            left, other = pool.engines["left"], pool.of("other")
            with other.in_use():
                leaving.cancel()
                await until(lambda: not left.users_n)
            await until(lambda: "other" not in pool.engines)  # idle for less long than the other
            assert pool.engines["left"] is left
        assert await whole(engines, "count 2") == counted(2)


async def test_room_for_a_large_pair(tmp_path: Path) -> None:
    """Pairs that nobody needs make room, the own one last; one that replies does not."""
    async with service(tmp_path, "large-one", "small") as engines:
        await whole(engines, "count 1")
        replying = begun(engines, "count 1 then wait", "small")
        await until_round(replying)
        with pytest.raises(BusyError):
            await whole(engines, "count 1", "large-one")
        await replying.aclose()
        assert await whole(engines, "count 3", "large-one") == counted(3)
        assert [model.id for model in engines.models() if model.loaded] == ["large-one"]
        (tmp_path / "other.held").touch()
        assert await whole(engines, "count 1", "small") == counted(1)
        engines.figures()
    async with service(tmp_path, "large-one") as engines:
        with pytest.raises(CapacityError) as refused:
            await whole(engines, "count 1", "large-one")
        assert not isinstance(refused.value, BusyError)


async def test_the_servers_own_pair_makes_room_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long nobody has needed it. What a GPU holds makes no room in memory, and stays."""
    async with service(tmp_path, "small", "new") as engines:
        for name in ("small", "own"):
            await whole(engines, "count 1", name)
        small, own = (engines._pool.of(name) for name in ("small", "own"))
        new = engines._pool.of("new")
        monkeypatch.setattr(engine_pool, "size_of", lambda load: 10)
        monkeypatch.setattr(engine_pool, "memory", lambda: MachineMemory(20, 20))
        for device, stay in (("CUDA0", [True, True]), ("CPU, 2 threads", [False, True])):
            small.info = replace(await engines.info("small"), device=device)
            own.info = replace(await engines.info("own"), device=device)
            own.used_at = small.used_at - 60
            await engines._pool._free_memory(new)
            assert [engine.info is not None for engine in (small, own)] == stay


async def test_a_reply_that_takes_too_long(tmp_path: Path) -> None:
    """It is cut off with an error, and its place is free."""
    async with service(tmp_path, limits=ServiceLimits(1, timeout_s=0.3)) as engines:
        await engines.info("")
        with pytest.raises(BusyError, match="longer than"):
            await whole(engines, "count 1 then wait")
        assert not engines.busy


async def test_a_server_that_stops(tmp_path: Path) -> None:
    """What waits and what comes is refused; what is being written goes on."""
    async with service(tmp_path) as engines:
        replying = begun(engines, "count 1 then wait")
        await until_round(replying)
        waiting = asyncio.create_task(whole(engines, "count 1"))
        await until(lambda: engines.figures()["pairs"][0]["waiting_n"] == 1)
        engines.stop()
        for asked in (waiting, whole(engines, "count 1")):
            with pytest.raises(BusyError, match="stopping"):
                await asked
        assert engines.busy
        await replying.aclose()
        assert not engines.busy


async def test_settings_of_loading_count_from_the_next_load_on(tmp_path: Path) -> None:
    """Also where a pair is loaded again because its engine died, or could not be loaded before."""
    async with service(tmp_path) as engines:
        for ctx, then in ((700, "abort"), (800, "wait")):
            (user_paths().config / "config.toml").write_text(f"[model]\nctx = {ctx}\n", encoding="utf-8")
            events = begun(engines, f"count 1 then {then}")
            await until_round(events)
            assert engines._pool.engines["own"].chat_config.load.n_ctx == ctx
            if then == "abort":
                with pytest.raises(EngineError):
                    await until_round(events)
            await events.aclose()
        assert loads_of(tmp_path, "own") == 2


def no_ones(sentence: str) -> str | None:
    return "there is a one in it" if "1" in sentence else None


async def test_the_owners_check_sees_replies_first(tmp_path: Path) -> None:
    """A reply that it stops ends with an error before a client has any of its text; one that it lets pass is whole."""
    async with service(tmp_path) as engines:
        (user_paths().config / "config.toml").write_text(
            f'[audit]\nreply_check = "{__name__}:no_ones"\n', encoding="utf-8"
        )
        assert await whole(engines, "count 1") == counted(1)
        seen = list[Event]()

        async def see() -> None:
            async for event in begun(engines, "count 3"):
                seen.append(event)

        with pytest.raises(ReplyStoppedError, match="there is a one in it"):
            await see()
        assert not any(isinstance(event, Round) for event in seen)
        assert not engines.busy


async def test_settings_count_when_they_change(tmp_path: Path) -> None:
    async with service(tmp_path, "small") as engines:
        assert engines.settings("small").reply.max_tokens is None
        (user_paths().config / "config.toml").write_text("[reply]\nmax_tokens = 7\n", encoding="utf-8")
        assert [engines.settings(model).reply.max_tokens for model in ("", "small")] == [7, 7]


async def test_what_is_wrong_in_a_file_of_settings_changes_nothing_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where pairs are named in it: their names go on being known."""
    async with service(tmp_path, "small") as engines:
        for name in ("config.toml", "pairs.toml"):
            (user_paths().config / name).write_text("nonsense", encoding="utf-8")
            assert [engines.answering(model) for model in ("own", "small")] == ["own", "small"]
            assert engines.settings("").reply.max_tokens is None
            assert str(user_paths().config / name) in caplog.text


async def test_a_name_that_no_pair_has_is_answered_by_the_servers_own(tmp_path: Path) -> None:
    """Names of pairs are those of the catalogue as it is now, whether their files are here or not."""
    async with service(tmp_path, "small") as engines:
        names = ("", "own", "small", "builtin", "gpt-5", "new")
        assert [engines.answering(name) for name in names] == ["own", "own", "small", "builtin", "own", "own"]
        with (user_paths().config / "pairs.toml").open("a", encoding="utf-8") as pairs:
            pairs.write('[[pairs]]\nid = "new"\ntitle = "new"\n[pairs.target]\nfile = "gone.gguf"\n')
        assert engines.answering("new") == "new"
        with pytest.raises(NotFoundError):
            engines.settings("new")


async def test_a_pair_is_listed_as_soon_as_its_files_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first program that asks sees it, however long nobody has asked."""
    monkeypatch.setattr(served_pairs, "_LISTED_S", -1)
    async with service(tmp_path, "new") as engines:
        file = (tmp_path / "new.gguf").rename(tmp_path / "elsewhere.gguf")
        assert "new" not in {model.id for model in await engines.listed()}
        file.rename(tmp_path / "new.gguf")
        assert "new" in {model.id for model in await engines.listed()}


def test_files_are_served_beside_a_catalogue_that_cannot_be_read(tmp_path: Path) -> None:
    """The pair of files that the command line names is there, under the target's name."""
    (tmp_path / "mine.gguf").touch()
    pairs = user_paths().config / "pairs.toml"
    pairs.parent.mkdir(parents=True)
    pairs.write_text("no table", encoding="utf-8")
    served = ServedPairs(SettingsResolver({"target": tmp_path / "mine.gguf"}).resolve(read_config()))
    assert [model.id for model in served.models()] == ["mine"]
    assert served.settings("mine").load.target == served.settings("").load.target == tmp_path / "mine.gguf"


def test_a_file_that_goes_while_pairs_are_listed_ends_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(pair: Pair) -> object:
        raise FileNotFoundError

    (tmp_path / "mine.gguf").touch()
    monkeypatch.setattr(served_pairs, "state_of", gone)
    served = ServedPairs(SettingsResolver({"target": tmp_path / "mine.gguf"}).resolve(read_config()))
    assert [model.id for model in served.models()] == ["mine"]


async def test_limits_of_keys(tmp_path: Path) -> None:
    """Requests are counted when they come, tokens when the reply has ended; other clients are none the worse."""
    now = [0.0]
    keys = (ApiKey("few", b"", 2, None), ApiKey("short", b"", None, 5))
    rates = RateLimits(keys, lambda: now[0])

    async with service(tmp_path, rates=rates) as engines:

        async def ask(client: str) -> str:
            CLIENT.set(client)
            return await whole(engines, "count 9")

        for client in ("few", "few", "short", "free", "free", "free"):
            assert await asyncio.create_task(ask(client)) == counted(9)
        for client, wait_s in (("few", 30.0), ("short", 60.0)):
            with pytest.raises(RateLimitError) as refused:
                await asyncio.create_task(ask(client))
            assert refused.value.retry_after_s == pytest.approx(wait_s)
        now[0] += 31
        await asyncio.create_task(ask("few"))


def test_who_waits_as_long_as_told_is_admitted() -> None:
    now = [0.0]
    rates = RateLimits([ApiKey("few", b"", 2, None)], lambda: now[0])
    rates.admit("few")
    rates.admit("few")
    now[0] = 0.6
    with pytest.raises(RateLimitError, match=r"again in (\d+) s") as refused:
        rates.admit("few")
    now[0] += int(refused.value.hint.split()[-2])
    rates.admit("few")


def test_what_a_key_leaves_unused_is_not_saved_up() -> None:
    """After an hour of silence there is a minute's worth, of requests and of tokens."""
    now = [0.0]
    rates = RateLimits([ApiKey("few", b"", 2, None), ApiKey("short", b"", None, 60)], lambda: now[0])
    now[0] = 3600.0
    rates.admit("few")
    rates.admit("few")
    rates.spend("short", 120)
    for client in ("few", "short"):
        with pytest.raises(RateLimitError):
            rates.admit(client)


def test_the_file_of_keys(tmp_path: Path) -> None:
    """Names, keys and limits; a mistake is told by its line, and never with the key."""
    file, key = tmp_path / "keys", "0123456789abcdef"
    file.write_text(f"\ufeff# ours\n\nediting: {key}#2 # mine\nagents:{key}2 60 requests/minute 9 tokens/minute\n")
    keys = read_keys(file)
    assert holder_of(f"{key}#2", keys) == keys[0]
    assert [(k.name, k.requests_per_minute, k.tokens_per_minute) for k in keys] == [
        ("editing", None, None),
        ("agents", 60, 9),
    ]
    file.write_text(f"shortest: {key}")
    assert holder_of(key, read_keys(file)) is not None
    for wrong in (
        f"a: {key[1:]}",
        key,
        f"a: {key} 3 words/minute",
        "a: short",
        f"a: {key}\na: {key}2",
        f"a: {key}\nb: {key}",
        "",
        f"a: {key} 0 tokens/minute",
    ):
        file.write_text(wrong)
        with pytest.raises(InputError) as refused:
            read_keys(file)
        assert key not in str(refused.value)
    with pytest.raises(NotFoundError):
        read_keys(tmp_path / "nowhere")
