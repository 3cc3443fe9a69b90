"""Counting, times tables and small sums: tasks whose every token is certain, with a bound to respect."""

from __future__ import annotations

from random import Random

from phrasing import expand, order, roughened
from turns import Style, Turn
from wordings_tasks import WORDINGS

COUNT = (
    "count [|up ][from|starting at|starting from|beginning at|beginning with] {a} [to|up to|until|till|through|and stop at|and end at|all the way to] {b}",
    "count {a} to {b}",
    "count [|up ]{a} - {b}",
    "[list|write|give me|print|say|show|enumerate|name|type|recite] [|all |me ][the |][numbers|integers|whole numbers] [from|between] {a} [to|and|up to|until|through] {b}",
    "[the |]numbers [from |]{a} [to|through|up to|till] {b}",
    "{a} to {b}",
    "[start|begin] at {a} and count [up |][to|until you reach] {b}",
    "count for me from {a} to {b}",
    "I want [to see |]the numbers [from |]{a} to {b}",
    "count up to {b} [starting at|starting with|beginning at|from] {a}",
    "counting from {a} to {b}",
    "from {a} to {b}",
    "go from {a} to {b}",
    "what numbers are [between|from] {a} [and|to] {b}",
    "[continue|write out] the [count|sequence] from {a} to {b}",
    "sequence from {a} to {b}",
    *WORDINGS["counts.COUNT"],
)
COUNT_TO = (
    "count [|up ][to|until|up to|till] {b}",
    "[can you |]count to {b}",
    "count as far as {b}",
    "[list|write|give me] [all |]the [first {b} numbers|numbers up to {b}|numbers to {b}]",
    "the first {b} numbers",
    "numbers up to {b}",
    *WORDINGS["counts.COUNT_TO"],
)
COUNT_DOWN = (
    "count [down|backwards|backward|back|in reverse] [from|starting at|starting from] {a} [to|until|till|down to] {b}",
    "count [down|backwards] {a} to {b}",
    "count from {a} [down to|back to|backwards to] {b}",
    "countdown from {a} to {b}",
    "count from {a} to {b} [backwards|in reverse|going down]",
    "[list|write|give me] the numbers from {a} [down|back] to {b}",
    "[start|begin] at {a} and count [down|backwards] to {b}",
    "[a |do a |]countdown from {a} [to {b}|until {b}]",
    "numbers from {a} down to {b}",
    "count from {a} to {b}",
    *WORDINGS["counts.COUNT_DOWN"],
)
DOWN_TO_ONE = (
    "count [down|backwards|back] from {a}",
    "[a |do a |give me a |]countdown from {a}",
    "count {a} down to one",
    "[start|do] a countdown at {a}",
    *WORDINGS["counts.DOWN_TO_ONE"],
)
COUNT_STEP = (
    "count [from {a} to {b} |]{by}[| from {a} to {b}]",
    "count {by} from {a} to {b}",
    "count from {a} to {b} {by}",
    "count from {a} to {b} in steps of {k}",
    "count in steps of {k} from {a} to {b}",
    "[list|write|give me|show] the numbers from {a} to {b} [{by}|in steps of {k}]",
    "{by} from {a} to {b}",
    "go from {a} to {b} [{by}|in steps of {k}]",
    "every {nth} number from {a} to {b}",
    *WORDINGS["counts.COUNT_STEP"],
)
STEPS = {
    2: ("by twos|in twos|by 2|by 2s|by two", "second|other"),
    3: ("by threes|in threes|by 3|by 3s|by three", "third"),
    5: ("by fives|in fives|by 5|by 5s|by five", "fifth"),
    10: ("by tens|in tens|by 10|by 10s|by ten", "tenth"),
    4: ("by fours|in fours|by 4|by four", "fourth"),
}
PARITY = (
    "[list|write|give me|show me|say|count] [all |]the {p} numbers [from|between] {a} [to|and|up to] {b}",
    "[the |]{p} numbers from {a} to {b}",
    "[all |]{p} numbers between {a} and {b}",
    "which numbers from {a} to {b} are {p}",
    *WORDINGS["counts.PARITY"],
)
LINES = (
    "[, |] one per line",
    ", each on its own line",
    ", one number per line",
    ", every number on a new line",
    " on separate lines",
    " as a list with one per line",
    *WORDINGS["counts.LINES"],
)
SPELLED = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
] + [""] * 81
SPELLED[30], SPELLED[40], SPELLED[50], SPELLED[100] = "thirty", "forty", "fifty", "hundred"


def _shown(number: int, rng: Random) -> str:
    return SPELLED[number] if 0 <= number <= 100 and SPELLED[number] and rng.random() < 0.08 else str(number)


def _span(rng: Random) -> tuple[int, int]:
    """A range to count through: any start, mostly short, sometimes the whole way to 100."""
    if rng.random() < 0.1:
        return 1, rng.choice((10, 20, 30, 40, 50, 60, 80, 100))
    a = rng.choice((0, 1, 1, 1, rng.randint(0, 95), rng.randint(0, 95)))
    return a, min(100, a + min(rng.randint(1, 40), rng.randint(2, 40), rng.randint(2, 60)))


def _put(ask: str, numbers: list[int], rng: Random) -> Turn:
    if rng.random() < 0.06:
        return Turn(roughened(order(ask + expand(rng.choice(LINES), rng), rng), rng), "\n".join(map(str, numbers)))
    return Turn(roughened(order(ask, rng), rng), ", ".join(map(str, numbers)))


def counting(rng: Random, style: Style) -> list[Turn]:
    """Up, down, in steps, even or odd; the last number is the one asked for, or the last one that does not pass it."""
    a, b = _span(rng)
    kind = rng.choices(["up", "to", "down", "one", "step", "parity"], (44, 10, 17, 5, 20, 4))[0]
    if kind == "up":
        return _more(_put(_filled(rng.choice(COUNT), a, b, rng), list(range(a, b + 1)), rng), a, b, rng)
    if kind == "to":
        b = rng.randint(3, 60)
        return [_put(_filled(rng.choice(COUNT_TO), 1, b, rng), list(range(1, b + 1)), rng)]
    if kind == "down":
        return [_put(_filled(rng.choice(COUNT_DOWN), b, a, rng), list(range(b, a - 1, -1)), rng)]
    if kind == "one":
        b = rng.randint(3, 30)
        return [_put(_filled(rng.choice(DOWN_TO_ONE), b, 1, rng), list(range(b, 0, -1)), rng)]
    if kind == "parity":
        rest = rng.randrange(2)
        ask = _filled(rng.choice(PARITY), a, b + 1, rng).replace("{p}", "odd" if rest else "even")
        return [_put(ask, [n for n in range(a, b + 2) if n % 2 == rest], rng)]
    return [_stepped(rng)]


GO_BACK = (
    "[and |now |][backwards|in reverse|the other way round|down again|back again][| please]",
    *WORDINGS["counts.GO_BACK"],
)
GO_ON = ("[go on|continue|keep going|carry on|further|now on|and on] [to|until|up to] {c}", *WORDINGS["counts.GO_ON"])


def _more(first: Turn, a: int, b: int, rng: Random) -> list[Turn]:
    """After a count one may ask for it backwards, or to go on."""
    if rng.random() > 0.12 or "\n" in first.reply:
        return [first]
    if rng.random() < 0.5:
        return [
            first,
            Turn(
                roughened(
                    expand(rng.choice(GO_BACK), rng),
                    rng,
                ),
                ", ".join(map(str, range(b, a - 1, -1))),
            ),
        ]
    c = b + rng.randint(2, 12)
    return [
        first,
        Turn(
            roughened(expand(rng.choice(GO_ON), rng).replace("{c}", str(c)), rng),
            ", ".join(map(str, range(b + 1, c + 1))),
        ),
    ]


def _stepped(rng: Random) -> Turn:
    k = rng.choice([*list(STEPS), 2, 2, 2, 5, 5, 10, 10, 3])
    a = rng.choice((0, k, 1, rng.randint(0, 40)))
    b = min(100, a + k * rng.randint(2, 14) + rng.choice((0, 0, 0, rng.randrange(k))))
    by, nth = STEPS[k]
    ask = rng.choice(COUNT_STEP).replace("{by}", f"[{by}]").replace("{nth}", f"[{nth}]").replace("{k}", str(k))
    if "{a}" not in expand(ask, rng) and ask.startswith("count [from {a}"):
        ask = "count from {a} to {b} " + f"[{by}]"
    numbers = list(range(a, b + 1, k))
    if rng.random() < 0.25:
        numbers, a, b = numbers[::-1], numbers[-1], numbers[0]
        ask = ask.replace("count ", "count [down|backwards] ", 1) if "count " in ask else ask
    return _put(_filled(ask, a, b, rng), numbers, rng)


def _filled(pattern: str, a: int, b: int, rng: Random) -> str:
    return expand(pattern, rng).replace("{a}", _shown(a, rng)).replace("{b}", _shown(b, rng))


TABLE = (
    "[make|write|show|give|print|create|draw|do] [me |][the|a] [times table|multiplication table] [of|for] {k}",
    "[make|write|show|give|print|create] [me |]the {k} times table",
    "[the |]{k} times table",
    "[times table|multiplication table] [of|for] {k}",
    "multiply {k} by [1 to {m}|the numbers 1 to {m}][| in a table| as a table]",
    "[a |make a |give me a |]table of {k} times [1 to {m}|the numbers to {m}]",
    "multiples of {k} [in a table|as a table]",
    "I need the {k} times table[| up to {m}]",
    "[times table|multiplication table] [of|for] {k} up to {m}",
    "[the |show the |write the |]table of {k}",
    "what is the {k} times table",
    "let me see the {k} times table",
    *WORDINGS["counts.TABLE"],
)
SQUARES = (
    "[make|write|show|give] [me |]a table of [squares|square numbers][| from 1 to {m}| up to {m}]",
    "[the |]squares [from 1 to {m}|up to {m}] [as|in] a table",
    "table of squares[| to {m}]",
    "[a |make a |]markdown table [of|with] [squares|square numbers]",
    *WORDINGS["counts.SQUARES"],
)


def tables(rng: Random, style: Style) -> list[Turn]:
    """A times table, or the squares, as a Markdown table."""
    if rng.random() < 0.12:
        ask = expand(rng.choice(SQUARES), rng)
        m = rng.randint(4, 12) if "{m}" in ask else 10
        rows = [f"| {n} | {n * n} |" for n in range(1, m + 1)]
        return [
            Turn(roughened(order(ask.replace("{m}", str(m)), rng), rng), "\n".join(["| n | n² |", "|---|---|", *rows]))
        ]
    k = rng.randint(1, 12)
    ask = expand(rng.choice(TABLE), rng)
    m = rng.choice((10, 10, 12, 5, rng.randint(3, 12))) if "{m}" in ask else 10
    return [
        Turn(roughened(order(ask.replace("{m}", str(m)).replace("{k}", _shown(k, rng)), rng), rng), times_table(k, m))
    ]


def times_table(k: int, m: int) -> str:
    return "\n".join([f"| n | {k} × n |", "|---|---|", *(f"| {n} | {k * n} |" for n in range(1, m + 1))])


SUM = (
    "what is {x}",
    "what's {x}",
    "{x}",
    "{x} =",
    "how much is {x}",
    "[calculate|compute|work out|solve] {x}",
    "what does {x} [make|give|equal]",
    "{x} is [what|how much]",
    "[can you |please |][tell me|say] what {x} is",
    "what do you get for {x}",
    "[the |]result of {x}",
    "do you know what {x} is",
    *WORDINGS["counts.SUM"],
)


def sums(rng: Random, style: Style) -> list[Turn]:
    """Addition and subtraction up to 20, and the small times tables."""
    kind = rng.choice("+-*")
    if kind == "+":
        a = rng.randint(0, 20)
        b = rng.randint(0, 20 - a)
        result, shown, sign = a + b, "+", rng.choice((" + ", "+", " plus ", " and "))
    elif kind == "-":
        a = rng.randint(0, 20)
        b = rng.randint(0, a)
        result, shown, sign = a - b, "-", rng.choice((" - ", "-", " minus ", " take away "))
    else:
        a, b = rng.randint(1, 10), rng.randint(1, 10)
        result, shown, sign = a * b, "×", rng.choice((" * ", "*", " times ", " x ", "x", " × ", " multiplied by "))
    x = _shown(a, rng) + sign + _shown(b, rng)
    text = expand(rng.choice(SUM).replace("{x}", x), rng) + rng.choice(("", "?", "?", " ?"))
    return [Turn(roughened(text, rng), f"{a} {shown} {b} = {result}")]


__all__ = ["counting", "sums", "tables", "times_table"]
