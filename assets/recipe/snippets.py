"""Tiny Python functions: the code, what it does in a sentence, and an example of its use."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from phrasing import expand, order, question, roughened
from turns import Style, Turn
from wordings_tasks import WORDINGS


@dataclass(frozen=True)
class Snippet:
    """One function; `does` completes \"a function that ...\" and `names` are what it is called."""

    names: tuple[str, ...]
    does: tuple[str, ...]
    code: str
    note: str
    example: str


SNIPPETS = (
    Snippet(
        ("add", "sum of two numbers", "addition"),
        ("[adds|to add|sums] two numbers", "returns the sum of two numbers", "adds a and b"),
        "def add(a, b):\n    return a + b",
        "It returns the sum of its two arguments.",
        "add(2, 3)  # 5",
    ),
    Snippet(
        ("subtract", "difference of two numbers", "subtraction"),
        ("subtracts [two numbers|one number from another]", "returns the difference of two numbers"),
        "def subtract(a, b):\n    return a - b",
        "It returns the first argument less the second.",
        "subtract(7, 4)  # 3",
    ),
    Snippet(
        ("multiply", "product of two numbers", "multiplication"),
        ("multiplies two numbers", "returns the product of two numbers"),
        "def multiply(a, b):\n    return a * b",
        "It returns the product of its two arguments.",
        "multiply(3, 4)  # 12",
    ),
    Snippet(
        ("divide", "division"),
        ("divides two numbers[| safely]", "divides one number by another"),
        "def divide(a, b):\n    if b == 0:\n        return None\n    return a / b",
        "It divides, but gives None instead of failing when the divisor is zero.",
        "divide(8, 2)  # 4.0",
    ),
    Snippet(
        ("factorial", "n!", "the factorial"),
        ("[computes|calculates|returns|finds] the factorial[| of a number| of n]",),
        "def factorial(n):\n    result = 1\n    for i in range(2, n + 1):\n        result *= i\n    return result",
        "It multiplies all whole numbers from 2 to n.",
        "factorial(5)  # 120",
    ),
    Snippet(
        ("fibonacci", "the fibonacci numbers", "the fibonacci sequence", "fib"),
        (
            "[computes|calculates|returns|generates|prints] [the |]fibonacci[| numbers| sequence]",
            "returns the nth fibonacci number",
        ),
        "def fibonacci(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a",
        "It starts with 0 and 1 and adds the last two numbers n times.",
        "fibonacci(10)  # 55",
    ),
    Snippet(
        ("is_even", "even", "even numbers"),
        ("[checks|tests|tells|says] [if|whether] a number is even", "returns true for even numbers"),
        "def is_even(n):\n    return n % 2 == 0",
        "A number is even if dividing it by 2 leaves no remainder.",
        "is_even(4)  # True",
    ),
    Snippet(
        ("is_odd", "odd", "odd numbers"),
        ("[checks|tests|tells|says] [if|whether] a number is odd", "returns true for odd numbers"),
        "def is_odd(n):\n    return n % 2 == 1",
        "A number is odd if dividing it by 2 leaves 1.",
        "is_odd(4)  # False",
    ),
    Snippet(
        ("is_prime", "prime", "prime numbers", "a prime check"),
        ("[checks|tests|tells] [if|whether] a number is [prime|a prime|a prime number]", "finds out if n is prime"),
        "def is_prime(n):\n    if n < 2:\n        return False\n    for i in range(2, int(n ** 0.5) + 1):\n        if n % i == 0:\n            return False\n    return True",
        "It looks for a divisor up to the square root of n.",
        "is_prime(13)  # True",
    ),
    Snippet(
        ("reverse", "reverse a string", "string reversal", "reversing a string"),
        ("reverses [a string|text|a text|a word]", "turns a string around", "[returns|gives back] a string backwards"),
        "def reverse(text):\n    return text[::-1]",
        "The slice walks through the text with a step of minus one.",
        "reverse(\"abc\")  # 'cba'",
    ),
    Snippet(
        ("palindrome", "is_palindrome", "a palindrome check"),
        ("[checks|tests|tells] [if|whether] a [string|word|text] is a palindrome", "detects palindromes"),
        "def is_palindrome(text):\n    return text == text[::-1]",
        "It compares the text with itself read backwards.",
        'is_palindrome("level")  # True',
    ),
    Snippet(
        ("maximum", "max of a list", "the largest element", "max"),
        (
            "[finds|returns|gets] the [largest|biggest|maximum|highest] [number|element|value|item] [in|of] a list",
            "[finds|returns] the max of a list",
        ),
        "def maximum(items):\n    best = items[0]\n    for item in items:\n        if item > best:\n            best = item\n    return best",
        "It keeps the largest item seen so far.",
        "maximum([3, 9, 2])  # 9",
    ),
    Snippet(
        ("minimum", "min of a list", "the smallest element", "min"),
        (
            "[finds|returns|gets] the [smallest|lowest|minimum|least] [number|element|value|item] [in|of] a list",
            "[finds|returns] the min of a list",
        ),
        "def minimum(items):\n    best = items[0]\n    for item in items:\n        if item < best:\n            best = item\n    return best",
        "It keeps the smallest item seen so far.",
        "minimum([3, 9, 2])  # 2",
    ),
    Snippet(
        ("hello world", "a hello world program", "hello"),
        ("prints hello world", "says hello world", "prints hello"),
        'print("Hello, world!")',
        "It is the traditional first program: it prints one line.",
        'print("Hello, Python!")',
    ),
    Snippet(
        ("greet", "a greeting"),
        (
            "greets [someone|a person|a user|people][| by name]",
            "says hello to [someone|a name|a person]",
            "takes a name and [greets|says hello]",
        ),
        'def greet(name):\n    return f"Hello, {name}!"',
        "It puts the name into a greeting.",
        "greet(\"Ada\")  # 'Hello, Ada!'",
    ),
    Snippet(
        ("fizzbuzz", "FizzBuzz", "fizz buzz"),
        ("[plays|prints|does|solves] fizzbuzz", "prints fizz and buzz"),
        'def fizzbuzz(n):\n    for i in range(1, n + 1):\n        if i % 15 == 0:\n            print("FizzBuzz")\n        elif i % 3 == 0:\n            print("Fizz")\n        elif i % 5 == 0:\n            print("Buzz")\n        else:\n            print(i)',
        "Multiples of 3 become Fizz, multiples of 5 Buzz, multiples of both FizzBuzz.",
        "fizzbuzz(15)",
    ),
    Snippet(
        ("total", "sum of a list", "the sum of a list"),
        (
            "[sums|adds up|totals] [a list|the numbers in a list|all elements of a list|a list of numbers]",
            "[computes|returns] the [sum|total] of a list",
        ),
        "def total(numbers):\n    result = 0\n    for number in numbers:\n        result += number\n    return result",
        "It adds one number after the other.",
        "total([1, 2, 3])  # 6",
    ),
    Snippet(
        ("average", "mean", "the average", "the mean of a list"),
        (
            "[computes|calculates|returns|finds] the [average|mean][| of a list| of numbers| of some numbers]",
            "averages a list",
        ),
        "def average(numbers):\n    return sum(numbers) / len(numbers)",
        "It divides the sum by the count.",
        "average([2, 4, 6])  # 4.0",
    ),
    Snippet(
        ("count_vowels", "vowels", "vowel count"),
        (
            "counts [the |]vowels[| in a string| in a text| in a word]",
            "[finds|tells] how many vowels [a text|a string|a word] has",
        ),
        'def count_vowels(text):\n    return sum(1 for letter in text.lower() if letter in "aeiou")',
        "It looks at each letter and counts those among a, e, i, o and u.",
        'count_vowels("banana")  # 3',
    ),
    Snippet(
        ("count_words", "word count", "words"),
        (
            "counts [the |]words[| in a string| in a text| in a sentence]",
            "[finds|tells] how many words [a text|a sentence] has",
        ),
        "def count_words(text):\n    return len(text.split())",
        "It splits the text at white space and counts the pieces.",
        'count_words("to be or not")  # 4',
    ),
    Snippet(
        ("square", "squaring", "the square of a number"),
        ("squares a number", "returns the square of a number", "multiplies a number by itself"),
        "def square(n):\n    return n * n",
        "It multiplies the number by itself.",
        "square(9)  # 81",
    ),
    Snippet(
        ("cube", "the cube of a number"),
        ("cubes a number", "returns the cube of a number"),
        "def cube(n):\n    return n ** 3",
        "It raises the number to the third power.",
        "cube(3)  # 27",
    ),
    Snippet(
        ("power", "exponentiation"),
        ("raises a number to a power", "computes powers", "computes x to the power of n"),
        "def power(x, n):\n    result = 1\n    for _ in range(n):\n        result *= x\n    return result",
        "It multiplies x by itself n times.",
        "power(2, 10)  # 1024",
    ),
    Snippet(
        ("gcd", "greatest common divisor", "the greatest common divisor"),
        ("[computes|finds|returns] the [gcd|greatest common divisor][| of two numbers]",),
        "def gcd(a, b):\n    while b:\n        a, b = b, a % b\n    return a",
        "This is Euclid's algorithm: replace the pair by the smaller number and the remainder.",
        "gcd(12, 18)  # 6",
    ),
    Snippet(
        ("unique", "removing duplicates", "remove duplicates"),
        ("removes duplicates[| from a list]", "[returns|keeps|finds] the unique [elements|items|values] of a list"),
        "def unique(items):\n    return list(dict.fromkeys(items))",
        "A dictionary keeps each key once and remembers the order.",
        "unique([1, 2, 1])  # [1, 2]",
    ),
    Snippet(
        ("sort", "sorting a list", "bubble sort"),
        ("sorts a list[| of numbers]", "[puts|brings] a list in order", "orders a list"),
        "def sort(items):\n    items = list(items)\n    for end in range(len(items) - 1, 0, -1):\n        for i in range(end):\n            if items[i] > items[i + 1]:\n                items[i], items[i + 1] = items[i + 1], items[i]\n    return items",
        "This is bubble sort: the largest item rises to the end, again and again.",
        "sort([3, 1, 2])  # [1, 2, 3]",
    ),
    Snippet(
        ("swap", "swapping"),
        ("swaps two [values|variables|numbers]", "exchanges two values"),
        "def swap(a, b):\n    return b, a",
        "It returns both values in the other order.",
        "swap(1, 2)  # (2, 1)",
    ),
    Snippet(
        ("celsius", "celsius to fahrenheit", "temperature conversion"),
        (
            "converts celsius to fahrenheit",
            "converts [temperatures|a temperature|degrees]",
            "turns celsius into fahrenheit",
        ),
        "def to_fahrenheit(celsius):\n    return celsius * 9 / 5 + 32",
        "It scales by nine fifths and shifts by 32.",
        "to_fahrenheit(20)  # 68.0",
    ),
    Snippet(
        ("is_leap", "leap year", "leap years", "a leap year check"),
        ("[checks|tests|tells] [if|whether] a year is a leap year", "finds leap years"),
        "def is_leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
        "Every fourth year is a leap year, except full centuries not divisible by 400.",
        "is_leap(2024)  # True",
    ),
    Snippet(
        ("binary search", "binary_search"),
        ("does a binary search", "[searches|finds an item in] a sorted list", "[does|implements] binary search"),
        "def binary_search(items, wanted):\n    low, high = 0, len(items) - 1\n    while low <= high:\n        middle = (low + high) // 2\n        if items[middle] == wanted:\n            return middle\n        if items[middle] < wanted:\n            low = middle + 1\n        else:\n            high = middle - 1\n    return -1",
        "It halves the range until the item is found, or gives -1.",
        "binary_search([1, 3, 5], 5)  # 2",
    ),
    Snippet(
        ("countdown", "counting down"),
        ("counts down[| from n| to zero| from ten]", "does a countdown"),
        "def countdown(n):\n    while n > 0:\n        print(n)\n        n -= 1",
        "It prints n and makes it smaller by one until it is zero.",
        "countdown(3)",
    ),
    Snippet(
        ("count to n", "a counting loop", "a for loop"),
        (
            "[prints|counts] [the |]numbers [from 1 to 10|from one to ten|from 1 to n|up to n]",
            "counts [to|up to] [ten|10|n]",
        ),
        "def count(n):\n    for i in range(1, n + 1):\n        print(i)",
        "The range ends before n + 1, so the last number printed is n.",
        "count(10)",
    ),
    Snippet(
        ("absolute value", "abs", "absolute"),
        ("[returns|computes|gives] the absolute value[| of a number]", "makes a number positive"),
        "def absolute(n):\n    return -n if n < 0 else n",
        "It turns the sign of negative numbers.",
        "absolute(-4)  # 4",
    ),
    Snippet(
        ("length", "length of a list", "len"),
        ("[returns|finds|computes|counts] the [length|size] of a list", "counts the [elements|items] [of|in] a list"),
        "def length(items):\n    count = 0\n    for _ in items:\n        count += 1\n    return count",
        "It adds one for each item.",
        "length([4, 5, 6])  # 3",
    ),
    Snippet(
        ("upper", "uppercase a string"),
        (
            "[makes|converts|turns] [a string|text|a text] [upper case|uppercase|into upper case|to uppercase|into capitals]",
            "shouts a text",
        ),
        "def shout(text):\n    return text.upper()",
        "It gives the text in capital letters.",
        "shout(\"hi\")  # 'HI'",
    ),
    Snippet(
        ("area of a circle", "circle area"),
        ("[computes|calculates|returns|finds] the area of a circle",),
        "import math\n\n\ndef circle_area(radius):\n    return math.pi * radius ** 2",
        "It multiplies pi by the square of the radius.",
        "circle_area(1)  # 3.14...",
    ),
    Snippet(
        ("evens", "filter even numbers", "the even numbers of a list"),
        ("[filters|keeps|returns|finds|selects] [the |only |all |]even numbers [in|of|from] a list",),
        "def evens(numbers):\n    return [n for n in numbers if n % 2 == 0]",
        "A list comprehension keeps what leaves no remainder.",
        "evens([1, 2, 3, 4])  # [2, 4]",
    ),
    Snippet(
        ("digits", "sum of digits", "digit sum"),
        ("[sums|adds|adds up] the digits[| of a number]", "computes the [digit sum|sum of digits]"),
        "def digit_sum(n):\n    return sum(int(digit) for digit in str(n))",
        "It reads the number as text and adds its digits.",
        "digit_sum(123)  # 6",
    ),
)
THAT = (
    "write [me |]a [|python |small |tiny |short |simple |little ][|python ]function [that|which] {d}",
    "[can you |]write [|some ]python [|code ]that {d}",
    "[|a ][python |]function that {d}",
    "[show|give] me a [python |]function [that|which] {d}",
    "I need [a|some] [python |][function|code] [that|which] {d}",
    "[code|implement|make|create|define|program] a [|python |small ]function [that|which] {d}",
    "python: a function [that|which] {d}",
    "how [do I write|would you write|can I write|does one write] a [python |]function that {d}",
    "what does a [python |]function that {d} look like",
    "python code that {d}",
    "write [a|some] [code|program|script|snippet] that {d}[| in python]",
    "I want a function that {d}",
    "help me write a function that {d}",
    "is there a function that {d}",
    *WORDINGS["snippets.THAT"],
)
NAMED = (
    "write [|the ][|python ]function {n}",
    "write {n} in python",
    "{n} in python",
    "python {n}",
    "[show|give] me {n} in python",
    "[implement|code|program|define] {n}[| in python| for me]",
    "[a |]python function [for|called|named] {n}",
    "write a [|python |small |tiny ]function for {n}",
    "[python |]code for {n}",
    "how do I [write|implement|code|do|program] {n} in python",
    "python function {n}",
    "[write|show me] a [python |]function [for|to do|to compute] {n}",
    "I need {n} in python",
    "function {n}",
    "{n} function",
    "{n} function in python",
    "def {n}",
    *WORDINGS["snippets.NAMED"],
)
TO = (
    "write [me |]a [|python |small |tiny ]function to {v}",
    "[a |][python |]function to {v}",
    "how do I {v} in python",
    "python code to {v}",
    "[write|show me|give me|I need] [python |]code to {v}",
    "{v} in python",
    "how can I {v} [using|with|in] python",
    "[show|teach] me how to {v} in python",
    "use python to {v}",
    "[write|code] a [script|program] to {v} in python",
    *WORDINGS["snippets.TO"],
)
EXPLAIN = (
    "[explain|explain it|explain that|explain the code|explain this function]",
    "how does [it|that|this|the function|the code] work",
    "what does [it|that|this|the function|the code] do",
    "can you explain [it|that|the code|how it works]",
    "why does [it|that] work",
    "what is that",
    "walk me through it",
    *WORDINGS["snippets.EXPLAIN"],
)
USE = (
    "how do I [use|call|run|test] [it|that|this|the function]",
    "[give me |show me |][an|one] example[| please| of its use]",
    "[how is it|how would I] [used|use it|call it]",
    "[call|test|try] it",
    "example",
    "show me how to [use|call] it",
    "can you [call|use|test] it",
    "what does it return",
    *WORDINGS["snippets.USE"],
)


def _infinitive(phrase: str) -> str:
    """\"adds two numbers\" as \"add two numbers\"."""
    first, _, rest = phrase.partition(" ")
    special = {
        "does": "do",
        "multiplies": "multiply",
        "searches": "search",
        "exchanges": "exchange",
        "averages": "average",
        "squares": "square",
        "cubes": "cube",
        "reverses": "reverse",
        "raises": "raise",
        "computes": "compute",
        "removes": "remove",
        "divides": "divide",
        "says": "say",
        "makes": "make",
        "takes": "take",
        "solves": "solve",
        "generates": "generate",
        "calculates": "calculate",
        "finishes": "finish",
    }
    return f"{special.get(first, first.removesuffix('s') if first != 'to' else '')} {rest}".strip()


def _ask(snippet: Snippet, rng: Random) -> str:
    kind = rng.randrange(3)
    if kind == 0:
        return expand(rng.choice(NAMED), rng).replace("{n}", rng.choice(snippet.names))
    does = expand(rng.choice(snippet.does), rng)
    if kind == 1:
        return expand(rng.choice(TO), rng).replace("{v}", _infinitive(does))
    return expand(rng.choice(THAT), rng).replace("{d}", does.removeprefix("to "))


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def code(rng: Random, style: Style) -> list[Turn]:
    """A function, and perhaps how it works, how to call it, or the next one."""
    snippet = rng.choice(SNIPPETS)
    turns = [Turn(roughened(order(_ask(snippet, rng), rng), rng), fenced(snippet.code))]
    if rng.random() < 0.2:
        turns.append(Turn(question(rng.choice(EXPLAIN), rng), snippet.note))
    if rng.random() < 0.2:
        turns.append(Turn(question(rng.choice(USE), rng), fenced(snippet.example)))
    return turns


__all__ = ["SNIPPETS", "code"]
