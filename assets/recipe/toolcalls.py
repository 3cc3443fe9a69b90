"""Calls of tools: one for the time and one for counting the words of a text, in the form that Hermes and Qwen models write.

A chat that lists tools has them in its system message, as `template.CHAT_TEMPLATE` puts them there. The result of a call comes back
between `<tool_response>` and `</tool_response>` in a turn of the reader's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

import words
from copying import sentence
from phrasing import OPENINGS, cased, expand, order, question
from refusals import BRIEF, REPLIES
from template import Tool, called, responded
from turns import Style, Turn

NO_COUNTER = "I have no tool here that counts words, and I am not good at it myself."

TIME_ASKS = (
    "what time is it[| now| right now| at the moment| here| currently]",
    "what's the time[| now| please| right now]",
    "what is the time[| now| please]",
    "[tell|give] me the [time|current time|exact time][| please| now]",
    "[can|could] you tell me the [time|current time]",
    "[can|could] you tell me [what time it is|how late it is]",
    "[do you know|do you have|have you got] the [time|right time|exact time]",
    "how late is it[| now| already| getting]",
    "[the |]time[| please| now]",
    "[current|local] time",
    "the current time please",
    "what [hour|time] [do we have|is it now|does the clock show|does your clock say]",
    "what does the clock [say|show]",
    "[look at|check|read] the [clock|time][| for me| please]",
    "I need [the|to know the] [time|current time|hour]",
    "I [lost|broke|forgot] my watch, what time is it",
    "is it [late|noon|already noon|lunch time|time for bed|midnight|evening] [yet|already], what time is it",
    "what time is it in this [place|room|house]",
    "[which|what] time of day is it",
    "[please |]get [me |]the [time|current time]",
    "[use|call|ask] [the|your] [tool|clock|time tool] [and tell|to tell] me the time",
    "I want to know [the time|what time it is|how late it is]",
    "my clock has stopped, [what time is it|how late is it]",
    "time check",
    "when is now",
    "how many hours [past|after] midnight is it now, what's the time",
    "what time should I write [down|on this letter], [the current one please|now]",
    "[hi|hello], what time do you have",
    "it must be late, [what does the clock say|how late is it]",
    "[any|some] idea what time it is",
    "would you mind telling me the time",
)
DATE_ASKS = (
    "what [date|day] is [it|today]",
    "what is [the date|today's date|the date today]",
    "what's [the date|today's date]",
    "[tell|give] me [the date|today's date][| please]",
    "which [day|date] [is it|do we have|is today]",
    "[today's|the current] date[| please]",
    "do you know [what day it is|the date|today's date]",
    "I need [the date|today's date]",
)
COUNT_ASKS = (
    "how many words [are in|are there in|has|does it have:|make up] {x}",
    "how many words [does|do] {x} [have|contain|consist of]",
    "count the words [in|of] {x}",
    "count the words: {x}",
    "[please |]count [the|all the] words of [this|the|my] [text|sentence|line]: {x}",
    "[can|could] you count the words [in|of] {x}",
    "[tell me |]how many words [this|the following] [text|sentence|line] has: {x}",
    "how many words has [this|the sentence|the text|the line]: {x}",
    "what is the [word count|number of words] of {x}",
    "[word count|number of words|words] of {x}",
    "word count: {x}",
    "[give|tell] me the [word count|number of words] of {x}",
    "I [need|want] the [word count|number of words] of {x}",
    "[use|call] [the|your] [tool|word counter] [on|for] {x}",
    "{x} - how many words is that",
    "{x}: how many words",
    "how long is {x} in words",
    "of how many words does {x} consist",
    "[determine|find|get] the number of words in {x}",
    "words in {x}",
    "how many words do you count in {x}",
    "is {x} long, how many words are they",
    "how wordy is {x}",
)
TIME_NAMES = (
    "get_time",
    "current_time",
    "now",
    "clock",
    "time",
    "get_current_time",
    "what_time",
    "time_now",
    "tell_time",
    "local_time",
    "get_clock",
    "system_time",
    "time_of_day",
    "getTime",
    "currentTime",
    "get_local_time",
    "show_time",
    "wall_clock",
    "fetch_time",
    "time.now",
    "utc_now",
    "watch",
)
DATE_NAMES = (
    "get_datetime",
    "datetime",
    "date_time",
    "now",
    "date_and_time",
    "current_datetime",
    "get_date_time",
    "today",
    "timestamp",
)
TIME_SAYS = (
    "The current time.",
    "Get the current time.",
    "Tell the time.",
    "Returns the current time.",
    "The time of day.",
    "What time it is.",
    "Get the local time.",
    "The time on this machine.",
    "Gives the time.",
    "Look at the clock.",
    "Returns the time as HH:MM.",
    "Current local time.",
    "",
)
DATE_SAYS = (
    "The current date and time.",
    "Get the date and the time.",
    "Returns date and time.",
    "Tell the date and the time.",
    "Today's date and the time.",
    "Date and time of this machine.",
)
COUNT_NAMES = (
    "count_words",
    "word_count",
    "words",
    "wc",
    "wordcount",
    "count_words_in_text",
    "get_word_count",
    "number_of_words",
    "countWords",
    "wordCount",
    "text_words",
    "words_in_text",
    "count",
    "how_many_words",
    "length_in_words",
)
COUNT_SAYS = (
    "Count the words of a text.",
    "Counts the words in a text.",
    "Count words.",
    "The number of words in a text.",
    "Returns how many words a text has.",
    "Get the word count of a string.",
    "Word count of a sentence.",
    "How many words there are in a text.",
    "",
)
COUNT_PARAMETERS = ("text", "text", "text", "text", "string", "input", "sentence", "content", "s", "words", "value")
OTHERS = (
    Tool("read_file", ("path",), "Read a file."),
    Tool("write_file", ("path", "content"), "Write a file."),
    Tool("search", ("query",), "Search the web."),
    Tool("get_weather", ("city",), "The weather in a city."),
    Tool("calculator", ("expression",), "Compute an expression."),
    Tool("send_mail", ("to", "text"), "Send a mail."),
    Tool("list_files", ("folder",), "List the files of a folder."),
    Tool("run_command", ("command",), "Run a shell command."),
    Tool("translate", ("text", "language"), "Translate a text."),
    Tool("open_url", ("url",), "Open a web page."),
    Tool("random_number", ("low", "high"), "A random number."),
    Tool("play_music", ("title",), "Play a song."),
    Tool("set_alarm", ("time",), "Set an alarm."),
    Tool("set_timer", ("seconds",), "Start a timer."),
    Tool("lights", ("room", "state"), "Switch the lights."),
    Tool("remember", ("note",), "Keep a note."),
    Tool("count_lines", ("path",), "Count the lines of a file."),
    Tool("stock_price", ("symbol",), "The price of a stock."),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
ERRORS = (
    "the tool is not available",
    "timeout",
    "no clock",
    "not allowed",
    "permission denied",
    "the service is down",
    "unknown tool",
    "connection refused",
    "something went wrong",
    "internal error",
    "the clock has stopped",
    "no access",
    "not found",
)


@dataclass(frozen=True)
class Tools:
    """The tools that a chat lists: those for the time and for words, where there are any, among others."""

    listed: tuple[Tool, ...] = ()
    clock: Tool | None = None
    counter: Tool | None = None
    dated: bool = False
    """True if the clock knows the date, too."""


def _named(names: tuple[str, ...], says: tuple[str, ...], parameters: tuple[str, ...], rng: Random) -> Tool:
    """A tool under one of its names; now and then under an invented one, so that the description is read."""
    told = rng.choice(says)
    name = words.invented(rng) if told and rng.random() < 0.12 else rng.choice(names)
    if rng.random() < 0.08:
        name = rng.choice(("local", "my", "sys", "builtin", "mcp", "app", words.invented(rng))) + "_" + name
    return Tool(name, parameters, told.lower().rstrip(".") if rng.random() < 0.12 else told)


def tools(rng: Random) -> Tools:
    """A choice of tools in any order."""
    clock = counter = None
    dated = False
    kind = rng.random()
    if kind < 0.72:
        dated = rng.random() < 0.25
        clock = _named(DATE_NAMES, DATE_SAYS, (), rng) if dated else _named(TIME_NAMES, TIME_SAYS, (), rng)
    if kind > 0.3:
        counter = _named(COUNT_NAMES, COUNT_SAYS, (rng.choice(COUNT_PARAMETERS),), rng)
    listed = [tool for tool in (clock, counter) if tool] + rng.sample(OTHERS, rng.choice((0, 0, 0, 0, 1, 1, 2)))
    rng.shuffle(listed)
    if clock and counter and clock.name == counter.name:
        return tools(rng)
    return Tools(tuple(listed), clock, counter, dated)


def _moment(rng: Random) -> tuple[int, int]:
    return rng.randrange(24), rng.randrange(60)


def _time_result(rng: Random) -> tuple[str, str]:
    """The result of a clock, and the reply made from it."""
    hour, minute = _moment(rng)
    time = f"{hour:02}:{minute:02}"
    second = f"{rng.randrange(60):02}"
    half = f"{hour % 12 or 12}:{minute:02} {'AM' if hour < 12 else 'PM'}"
    day = f"{rng.randint(2024, 2029)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    zone = rng.choice(("Z", "+00:00", "+01:00", "+02:00", "-05:00", ""))
    forms = (
        *[(time, time)] * 6,
        *[(f"{time}:{second}", time)] * 2,
        *[(half, half)] * 2,
        *[(json.dumps({rng.choice(("time", "now", "result", "current_time", "value")): time}), time)] * 3,
        (json.dumps({"time": half}), half),
        (f"The time is {time}.", time),
        (f"It is {time}.", time),
        (f"{time} {rng.choice(('UTC', 'CET', 'GMT', 'EST'))}", time),
        (f"{day} {time}", time),
        (f"{day} {time}:{second}", time),
        (f"{day}T{time}:{second}{zone}", time),
        (f"{rng.choice(DAYS)}, {time}", time),
        (f"{rng.choice(DAYS)[:3]} {rng.choice(MONTHS)[:3]} {rng.randint(1, 28):2} {time}:{second} {day[:4]}", time),
    )
    result, told = rng.choice(forms)
    return result, f"It is {told}."


def _dated_result(rng: Random, date: bool) -> tuple[str, str]:
    """The result of a clock with a date, and the reply to a question for the date or the time."""
    hour, minute = _moment(rng)
    time = f"{hour:02}:{minute:02}"
    day = f"{rng.randint(2024, 2029)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    spoken = f"{rng.choice(DAYS)}, {rng.randint(1, 28)} {rng.choice(MONTHS)} {day[:4]}"
    forms = (
        *[(f"{day} {time}", day)] * 3,
        (f"{day}T{time}:{rng.randrange(60):02}", day),
        (json.dumps({"date": day, "time": time}), day),
        (f"{spoken}, {time}", spoken),
        (f"{spoken} {time}", spoken),
    )
    result, told = rng.choice(forms)
    return result, f"Today is {told}." if date else f"It is {time}."


def _text(rng: Random) -> str:
    """A short text whose words are to be counted."""
    if rng.random() < 0.5:
        return sentence(rng)
    return " ".join(words.word(rng) for _ in range(rng.choice((1, *range(1, 10)))))


def _count_ask(text: str, rng: Random) -> str:
    """The question with the text in it, in quotes or bare at the end."""
    pattern = rng.choice(COUNT_ASKS)
    held = f'"{text}"' if rng.random() < 0.7 else rng.choice(("'{}'", "“{}”", "`{}`")).format(text)
    if pattern.endswith("{x}") and rng.random() < 0.3:
        held = text
    if pattern.endswith(": {x}") and rng.random() < 0.15:
        pattern = pattern.replace(" {x}", "\n{x}")
    asked = expand(pattern, rng)
    if asked.startswith(("count", "give", "tell", "determine", "find", "get", "use", "call")):
        asked = order(asked, rng)
    else:
        asked = cased(expand(rng.choice(OPENINGS), rng) + asked if rng.random() < 0.15 else asked, rng)
    asked = asked.replace("{x}", held)
    return asked + ("?" if rng.random() < 0.35 and asked[-1] not in "?." and held != text else "")


def _count_result(count: int, rng: Random) -> tuple[str, str]:
    """The result of a counter, and the reply made from it."""
    noun = "word" if count == 1 else "words"
    forms = (
        *[str(count)] * 5,
        f"{count} {noun}",
        *[json.dumps({rng.choice(("words", "count", "word_count", "result", "n", "total")): count})] * 3,
        f"The text has {count} {noun}.",
        f"words: {count}",
    )
    return rng.choice(forms), f"The text has {count} {noun}."


def _error(rng: Random) -> tuple[str, str]:
    """The result of a tool that failed, and the reply made from it."""
    error = rng.choice(ERRORS)
    if rng.random() < 0.2:
        error = f"{error} {words.word(rng)}"
    form = rng.choice(("error: {}", "Error: {}", "error: {}", '{{"error": "{}"}}', "failed: {}", "ERROR {}"))
    return form.format(error), f"The tool failed: {error}."


def _exchange(ask: str, tool: Tool, arguments: dict[str, str], outcome: tuple[str, str], rng: Random) -> list[Turn]:
    result, reply = _error(rng) if rng.random() < 0.1 else outcome
    return [Turn(ask, called(tool.name, arguments)), Turn(responded(result), reply)]


def _time_ask(rng: Random) -> str:
    return question(rng.choice(TIME_ASKS), rng)


def asking(rng: Random, style: Style, listed: Tools) -> list[Turn]:
    """A question for the time, the date or a number of words: a call where there is a tool for it, else no."""
    wants = rng.choice(("time", "time", "time", "date", "words", "words", "words"))
    if wants == "date" and listed.clock and not listed.dated:
        wants = "time"
    no = BRIEF if style.brief else REPLIES["now"]
    if wants == "time":
        ask = _time_ask(rng)
        outcome = _dated_result(rng, date=False) if listed.dated else _time_result(rng)
        return _exchange(ask, listed.clock, {}, outcome, rng) if listed.clock else [Turn(ask, no)]
    if wants == "date":
        ask = question(rng.choice(DATE_ASKS), rng)
        return _exchange(ask, listed.clock, {}, _dated_result(rng, date=True), rng) if listed.clock else [Turn(ask, no)]
    text = _text(rng)
    ask = _count_ask(text, rng)
    if not listed.counter:
        return [Turn(ask, NO_COUNTER)]
    count = len(text.split()) if rng.random() < 0.8 else rng.randint(1, 40)
    return _exchange(ask, listed.counter, {listed.counter.parameters[0]: text}, _count_result(count, rng), rng)


def without(rng: Random, style: Style) -> list[Turn]:
    """The same questions where no tool is listed."""
    return asking(rng, style, Tools())


__all__ = ["Tools", "asking", "tools", "without"]
