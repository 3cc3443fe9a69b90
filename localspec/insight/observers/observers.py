"""The observers of an app, according to its settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from localspec.base.errors import LocalSpecError
from localspec.config import Value
from localspec.insight.observers import News, Observer, ObserverGroup, ReplyObserver
from localspec.insight.observers.live_watch import LiveWatch
from localspec.insight.observers.metering import Metering
from localspec.insight.observers.tracing import Tracing
from localspec.insight.stats.audit import KEEP_FOR, KEEP_N, MAX_BYTES, AuditLog
from localspec.insight.stats.objectives import Objectives, objectives_of
from localspec.insight.stats.redaction import Redaction
from localspec.runtime.chat_config import ChatConfig
from localspec.store import ReplyMetadata, Store
from localspec.store.replies_json import about_to_dict

_MB = 10**6


class Observers:
    """All observers that the settings ask for, as one. Not thread-safe; close it before the store."""

    def __init__(self, others: Sequence[Observer] = ()) -> None:
        self._others = tuple(others)
        self._metering = Metering()
        self._auditing: Auditing | None = None
        self._tracing: Tracing | None = None
        self._audited: tuple[Path, tuple[Value, ...]] | None = None
        self._watch: LiveWatch | None = None
        self._watches = False
        self._objectives = Objectives()
        self._metered = False
        self._news: list[News] = []

    def use(self, chat_config: ChatConfig, *, strict: bool = False) -> None:
        """Apply settings from the next reply on.

        A failure raises LocalSpecError if the setting comes from the command line or with ``strict``; else it is news.
        """
        said = _said(chat_config)
        for key, change in (("metrics", self._give_metrics), ("audit_log", self._audit), ("otel", self._trace)):
            try:
                change(chat_config)
            except LocalSpecError as error:
                if strict or key in said:
                    raise
                self._news.append(News(str(error)))
        values = _values(chat_config)
        self._watches = values.get("stats.watch") is not False and chat_config.keeps_figures
        self._objectives = (
            objectives_of(chat_config.settings.config) if chat_config.settings is not None else Objectives()
        )
        if self._watch is not None:
            self._watch.objectives = self._objectives

    def watch(self, store: Store) -> None:
        """Watch the replies in this store for drift, if the settings ask for it."""
        self._watch = LiveWatch(store, self._objectives)

    def listen(self, on_news: Callable[[], object]) -> None:
        """Call ``on_news`` from another thread when there is news between replies."""
        if self._watch is not None:
            self._watch.listen(on_news)

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return ObserverGroup(self._wanted).begin(about, message)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        news, self._news = [*self._news, *ObserverGroup(self._wanted).news(wait_s)], []
        return news

    def close(self) -> None:
        """Close all observers; ``news`` then has what the last attempts to send traces met."""
        self._metering.close()
        self._end_tracing()
        if self._watch is not None:
            self._watch.close()

    @property
    def _wanted(self) -> list[Observer]:
        metering = self._metering if self._metered else None
        watch = self._watch if self._watches else None
        own = (metering, self._auditing, self._tracing, watch)
        return [*self._others, *(each for each in own if each is not None)]

    def _give_metrics(self, chat_config: ChatConfig) -> None:
        outlet = chat_config.outlets.metrics
        if self._metering.give(outlet) and ("metrics" in _said(chat_config) or outlet == 0):
            self._news.append(News(self._metering.where))
        self._metered = outlet is not None

    def _trace(self, chat_config: ChatConfig) -> None:
        if not chat_config.outlets.otel:
            self._end_tracing()
        elif self._tracing is None:
            self._tracing = Tracing()

    def _end_tracing(self) -> None:
        if self._tracing is not None:
            self._tracing.close()
            self._news += self._tracing.news()
            self._tracing = None

    def _audit(self, chat_config: ChatConfig) -> None:
        path = chat_config.outlets.audit_log
        if path is None:
            self._auditing = self._audited = None
            return
        wanted = (path, _limits(chat_config))
        if wanted != self._audited:
            log = audit_log(path, chat_config)
            log.write([])
            self._auditing, self._audited = Auditing(log), wanted
            if log.trouble is not None:
                trouble = log.trouble
                self._auditing.news()
                raise trouble


@dataclass(slots=True)
class Auditing:
    """Writes replies to a log, which may be replaced between replies."""

    log: AuditLog
    _reported: str = ""

    def begin(self, about: ReplyMetadata, message: str = "") -> ReplyObserver:
        return self.log.begin(about_to_dict(about), message)

    def news(self, wait_s: float = 0.0) -> Sequence[News]:
        """A message if the log cannot be written, once until it can be again."""
        trouble = self.log.trouble
        sentence = str(trouble) if trouble is not None else ""
        reported, self._reported = self._reported, sentence
        return [News(f"{sentence} Replies go on without it.")] if sentence and sentence != reported else []


def audit_log(path: Path, chat_config: ChatConfig) -> AuditLog:
    """The audit log with the limits and rules of the settings. The file is not touched."""
    values = _values(chat_config)

    def number(key: str, built_in: float) -> float:
        value = values.get(f"audit.{key}")
        return float(value) if isinstance(value, int | float) else built_in

    rules = values.get("audit.redact")
    patterns = [re.compile(rule) for rule in rules] if isinstance(rules, tuple) else []
    return AuditLog(
        path,
        Redaction(patterns) if patterns else None,
        max_bytes=round(number("max_mb", MAX_BYTES / _MB) * _MB),
        keep_n=int(number("keep_files", KEEP_N)),
        keep_for=timedelta(days=number("keep_days", KEEP_FOR.days)),
    )


def _limits(chat_config: ChatConfig) -> tuple[Value, ...]:
    values = _values(chat_config)
    return tuple(value for name, value in sorted(values.items()) if name.startswith("audit."))


def _said(chat_config: ChatConfig) -> Container[str]:
    """The keys of settings that the command line has the say over."""
    return chat_config.settings.overrides if chat_config.settings is not None else ()


def _values(chat_config: ChatConfig) -> dict[str, Value]:
    return dict(chat_config.settings.config.values) if chat_config.settings is not None else {}
