"""Arithmetic on a typed expression: numbers, operators and a few functions, and nothing else that Python knows."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from localspec.base.errors import InputError

_MOST_CHARS = 500
_MOST_DEPTH = 50
_MOST_BITS = 10_000
"""The largest whole number; a power that would be larger is refused before it is computed."""

_ALLOWED = "Write numbers with + - * / // % ** and parentheses."
_SMALLER = "Calculate with other numbers."
_MOST_DIGITS = 50
"""Python computes a power of ten with as many digits as a number is rounded to."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "cos": math.cos,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "max": max,
    "min": min,
    "round": lambda value, digits=0: round(value, max(-_MOST_DIGITS, min(digits, _MOST_DIGITS))),
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
}
_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e}


def calculate(expression: str) -> str:
    """The value of an expression such as ``2 * (3 + sqrt(16))``; ``^`` is a power, too.

    Raises InputError for anything but arithmetic, and for a result that is no number or too large.
    """
    if len(expression) > _MOST_CHARS:
        raise InputError(f"The expression is longer than {_MOST_CHARS} characters.", "Calculate a part of it.")
    try:
        value = _value(ast.parse(expression.strip().replace("^", "**"), mode="eval").body, 0)
    except InputError:
        raise
    except ZeroDivisionError:
        raise InputError("The expression divides by zero.", "Divide by something else.") from None
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        raise InputError("This is no expression that can be calculated.", _ALLOWED) from None
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _value(node: ast.expr, depth: int) -> int | float:
    if depth > _MOST_DEPTH:
        raise InputError("The expression is nested too deeply.", "Calculate a part of it.")
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _bounded(_UNARY[type(op)](_value(operand, depth + 1)))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left, depth + 1), _value(right, depth + 1))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left, depth + 1), _value(right, depth + 1)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*(_value(each, depth + 1) for each in arguments)))
    raise InputError("There is something else in the expression.", _ALLOWED)


def _power(base: int | float, exponent: int | float) -> int | float:
    if isinstance(base, int) and isinstance(exponent, int) and abs(exponent) * base.bit_length() > _MOST_BITS:
        raise InputError("The result would be too large.", _SMALLER)
    return _bounded(base**exponent)


def _bounded(value: object) -> int | float:
    if isinstance(value, complex) or not isinstance(value, int | float):
        raise InputError("The result is no number.", _SMALLER)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise InputError("The result would be too large.", _SMALLER)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError("The result is no number.", _SMALLER)
    return value
