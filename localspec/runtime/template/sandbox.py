"""The sandbox for templates: Jinja's own, with marks on what is input and a budget for the work.

Only the template's own constants, and what its caller says is no input, are without a mark. Loops, calls, filters,
tests, operators and texts are paid for as they come; nothing is computed while a template is compiled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from string import Formatter
from typing import Any

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator, Frame, operators
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import do_format, do_indent, make_attrgetter
from jinja2.nodes import EvalContext
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from markupsafe import Markup

from localspec.runtime.template.budget import WIDEST, Budget, TooMuchWork, check_number, check_product, check_whole
from localspec.runtime.template.marked_text import MarkedText, derived, marked

_BARRED = ("filesizeformat", "forceescape", "pprint", "random", "striptags", "urlize", "wordwrap", "xmlattr")
"""Filters for web pages, which no chat template uses and whose work is hard to bound."""
_SHALLOW = {"attr", "count", "d", "default", "first", "items", "last", "length", "list", "map", "reverse", "safe"}
_SHALLOW |= {"reject", "rejectattr", "select", "selectattr"}
"""Filters that do not look into the parts of what they are applied to."""
_BY_CHARACTER = ("batch", "groupby", "list", "slice", "sort", "unique")
"""Filters that make a list of the characters of a text."""
_GROWING = ("append", "pop")
"""Methods by which a template may change a list that it made."""
_BARRED_METHODS = ("encode", "from_bytes", "to_bytes", "translate")
"""Methods of texts and numbers that no chat template uses and whose work is hard to bound."""
_BY_PAIR = ("lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip")
"""Methods of texts whose work may grow with the product of two lengths."""
_PAIRS_PER_STEP = 4096
_COMPARING = {"eq", "equalto", "ge", "greaterthan", "gt", "in", "le", "lessthan", "lt", "ne"}
_CALL = 4
"""Steps that a call takes, or a filter."""
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""The characters at which ``str.splitlines`` splits."""
_WIDE = re.compile(r"\d{5}|\*")
"""A width in a format of 10,000 characters and more, or of as many as a value says."""


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """The environment of one template. ``budget`` is that of the rendering under way."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "**", "%"))

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, optimized=False, extensions=[loopcontrols, GenerationBlock]
        )
        self.code_generator_class = _MarkingCode
        self.budget = Budget(0, 0, lambda: None)
        self._constants: dict[str, MarkedText] = {}
        filters: dict[str, Callable[..., Any]] = {name: self.filters[name] for name in {*self.filters} - {*_BARRED}}
        filters |= {"tojson": self._to_json, "join": self._join, "safe": lambda value: value}
        filters |= {"format": self._format, "indent": self._indent, "replace": self._replace, "trim": self._trim}
        self.filters = {name: self._paid_filter(name, function) for name, function in filters.items()}
        self.tests = {name: self._paid_test(name, self.tests[name]) for name in self.tests}
        del self.globals["lipsum"]

    # What the code of a template calls

    def own(self, text: str) -> MarkedText:
        """A constant of the template."""
        known = self._constants.get(text)
        if known is None:
            known = self._constants[text] = MarkedText.own(text)
        return known

    def text(self, value: Any) -> MarkedText:
        """A value as it is written out."""
        if isinstance(value, MarkedText):
            return value
        self.budget.spend_whole(value)
        return marked(value)

    def concat(self, parts: Iterable[Any]) -> MarkedText:
        """All of the parts as one text: for every output, and for ``~``."""
        return self._joined("", parts)

    def counted(self, values: Any) -> Iterator[Any]:
        """The items of a loop, each counted."""
        return self.budget.counted(values)

    def paid(self, value: Any) -> Any:
        """A value that was put together, or is to be compared."""
        if not isinstance(value, str):
            self.budget.spend_whole(value)
        return value

    def sliced(self, value: Any) -> Any:
        """A part of a value; of a list it costs little, as its items are no copies."""
        if isinstance(value, str):
            self.budget.spend_text(len(value))
        return value

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 -- as Jinja has it
        self, function = __self, __obj
        self.budget.spend(_CALL)
        if isinstance(function, LoopContext):
            args = tuple(map(self.counted, args))
        text = getattr(function, "__self__", None)
        if isinstance(text, list | tuple) and any(isinstance(value, list | tuple | dict) for value in args):
            raise SecurityError("a list is put into a list, or looked for in one")  # it might hold itself
        if not isinstance(text, str):
            if not isinstance(function, Macro | LoopContext):  # which pay for what they do with it
                for value in (function, *args, *kwargs.values()):
                    self.paid(value)  # it may be compared, or written into an error
            return super().call(__context, function, *args, **kwargs)
        name = function.__name__
        if name == "join" and len(args) == 1:
            return self._joined(text, args[0])
        given = (text, *args, *kwargs.values())
        self._check_text_method(name, given)
        return self._result(super().call(__context, function, *args, **kwargs), given)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return super().getitem(obj, self.paid(argument))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        self.budget.spend()
        if operator == "%" and isinstance(left, str):
            self._check_format(left, right)
        elif operator in ("*", "**"):
            check_product(operator, left, right)
            self._check_copies(left, right)
            self._check_copies(right, left)
        elif operator == "+" and isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
            self._spend_length(left, len(left) + len(right))
        result = super().call_binop(context, operator, left, right)
        return self.paid(result) if operator == "*" else self._result(result, (left, right))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if attr in _BARRED_METHODS or (isinstance(obj, MarkedText) and not hasattr(str, attr)):
            return False
        return (type(obj) is list and attr in _GROWING) or super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        text, name = getattr(value, "__self__", None), getattr(value, "__name__", "")
        if not callable(value) or not isinstance(text, str) or name not in ("format", "format_map"):
            return None
        if name == "format":
            return lambda *args, **kwargs: _MarkingFormatter(self).written(marked(text), args, kwargs)
        return lambda values: _MarkingFormatter(self).written(marked(text), (), values)

    # Filters and tests

    def _paid_filter(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def paid(*args: Any, **kwargs: Any) -> Any:
            self.budget.spend(_CALL)
            given = [
                value
                for value in (*args, *kwargs.values())
                if not isinstance(value, Context | EvalContext | Environment)
            ]
            for value in given[1:] if name in _SHALLOW else given:
                self.budget.spend_whole(value)
            for value in given[1:]:
                check_number(value)
            if name in _BY_CHARACTER and isinstance(given[0], str):
                self.budget.spend(len(given[0]))
            if name == "sum" and any(isinstance(value, list | tuple) for value in given[1:]):
                raise TooMuchWork("it adds up lists")
            return self._result(function(*args, **kwargs), given)

        return paid

    def _paid_test(self, name: str, function: Any) -> Callable[..., Any]:
        compares = name in _COMPARING or not name.isalpha()

        @wraps(function)
        def paid(*args: Any, **kwargs: Any) -> Any:
            self.budget.spend(_CALL)
            if compares:
                for value in args:
                    self.paid(value)
            return function(*args, **kwargs)

        return paid

    def _to_json(self, value: Any, **options: Any) -> str:
        """Unlike Jinja's own filter, without escapes for HTML: models were not trained on those."""
        options.setdefault("ensure_ascii", False)
        if isinstance(value, Iterator):
            value = list(self.counted(value))
        chunks = []
        length = 0
        for chunk in json.JSONEncoder(**options).iterencode(value):
            length += len(chunk)
            self.budget.check_length(length)
            chunks.append(chunk)
        return "".join(chunks)

    def _join(self, value: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> MarkedText:
        if attribute is not None:
            value = map(make_attrgetter(self, attribute), value)
        return self._joined(self.text(d), map(self.text, value))

    def _format(self, value: Any, *args: Any, **kwargs: Any) -> str:
        text = self.text(value)
        self._check_format(text, kwargs or args)
        return do_format(text, *args, **kwargs)

    def _indent(self, value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
        if isinstance(value, str):
            indention_n = len(width) if isinstance(width, str) else max(width, 0)
            lines_n = 1 + sum(map(value.count, _LINE_ENDS))
            self.budget.spend_text(len(value) + lines_n * indention_n)
        return do_indent(value, width, first, blank)

    def _replace(self, value: Any, old: Any, new: Any, count: int | None = None) -> MarkedText:
        text, old, new = map(self.text, (value, old, new))
        self._check_replaced(text, old, new)
        return text.replace(old, new, -1 if count is None else count)

    def _trim(self, value: Any, chars: Any = None) -> MarkedText:
        text = self.text(value)
        self._check_text_method("strip", (text, chars))
        return text.strip(chars)

    def _joined(self, separator: str, parts: Iterable[Any]) -> MarkedText:
        texts = []
        length = 0
        for part in parts:
            if separator and not isinstance(part, str):
                raise TypeError(f"{type(part).__name__} cannot be joined to text")
            texts.append(text := self.text(part))
            length += len(text) + len(separator)
            self.budget.spend()
            self.budget.check_length(length)
        self.budget.spend_text(length)
        return marked(separator).join(texts)

    # Limits

    def _check_text_method(self, name: str, given: Sequence[Any]) -> None:
        """Raises TooMuchWork before a method of a text takes too long, or makes something too large for memory."""
        for value in given[1:]:
            check_number(value)
            if name in _BY_PAIR and isinstance(value, str):
                self.budget.spend(len(given[0]) * len(value) // _PAIRS_PER_STEP)
        match name, *given:
            case "replace", str(text), str(old), str(new), *_:
                self._check_replaced(text, old, new)
            case "expandtabs", str(text), int(width), *_:
                self.budget.spend_text(len(text) + text.count("\t") * max(width, 0))
            case "split" | "rsplit", str(text), str(separator), *_:
                self.budget.spend(text.count(separator))
            case "split" | "rsplit" | "splitlines", str(text), *_:
                self.budget.spend(len(text))

    def _check_replaced(self, text: str, old: str, new: str) -> None:
        self.budget.spend_text(len(text) + text.count(old) * len(new))

    def _check_format(self, text: str, values: Any) -> None:
        """Pay for a text into which ``values`` are to be put by ``%``: by their names each may be put in often."""
        self.budget.spend_text(len(text))
        if _WIDE.search(text):
            raise TooMuchWork("it asks for too much room in a text")
        self.budget.spend_whole(values)
        if isinstance(values, dict):
            longest = max((len(self.text(value)) for value in values.values()), default=0)
            self.budget.spend_text(text.count("%") * longest)

    def _check_copies(self, value: Any, n: Any) -> None:
        if isinstance(value, str | list | tuple) and isinstance(n, int):
            self._spend_length(value, len(value) * max(n, 0))

    def _spend_length(self, value: Any, length: int) -> None:
        if isinstance(value, str):
            self.budget.spend_text(length)
        elif length > WIDEST:
            raise TooMuchWork(f"it makes a list of more than {WIDEST:,} values")
        else:
            self.budget.spend(length)

    def _result(self, result: Any, sources: Sequence[Any]) -> Any:
        """The result of a function, marked and paid for."""
        if isinstance(result, str):
            self.budget.spend_text(len(result))
            if not isinstance(result, MarkedText | Markup):
                return derived(result, sources)
        elif isinstance(result, list | tuple):
            self.budget.spend(len(result))
        elif isinstance(result, int):
            check_whole(result)
        return result


class _MarkingCode(CodeGenerator):
    """Code in which constants are the template's own, and loops, values and comparisons are paid for."""

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:  # noqa: N802
        if isinstance(node.value, str):
            self.write(f"environment.own({node.value!r})")
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:  # noqa: N802
        self.write(f"environment.own({node.data!r})")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.concat((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802
        counted = nodes.EnvironmentAttribute("counted", lineno=node.lineno)
        node.iter = nodes.Call(counted, [node.iter], [], None, None, lineno=node.lineno)
        super().visit_For(node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        if isinstance(node.arg, nodes.Slice):
            self.write("environment.sliced(")
            super().visit_Getitem(node, frame)
            self.write(")")
        else:
            super().visit_Getitem(node, frame)

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802
        self._paid(super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self._paid(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802
        if node.ctx == "load":
            self._paid(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        self.write("(")
        self._paid(self.visit, node.expr, frame)
        for operand in node.ops:
            self.write(f" {operators[operand.op]} ")
            self._paid(self.visit, operand.expr, frame)
        self.write(")")

    def _paid(self, visit: Callable[..., Any], node: nodes.Node, frame: Frame) -> None:
        self.write("environment.paid(")
        visit(node, frame)
        self.write(")")

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if not isinstance(node, nodes.TemplateData):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return f"environment.own({''.join(group)!r})"

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write("environment.text(")


class _MarkingFormatter(SandboxedFormatter):
    """``str.format`` that keeps the marks of what it puts in."""

    _env: TemplateSandbox

    def written(self, text: MarkedText, args: Sequence[Any], values: Mapping[str, Any]) -> MarkedText:
        mark = self._env.own if text.is_own else MarkedText.given
        parts: list[MarkedText] = []
        unnamed_n = 0
        for literal, field, spec, conversion in Formatter.parse(self, text):
            parts.append(mark(literal))
            if field is None:
                continue
            if not field:
                field, unnamed_n = str(unnamed_n), unnamed_n + 1
            parts.append(self._field(field, spec or "", conversion, args, values))
        return self._env.concat(parts)

    def _field(
        self, name: str, spec: str, conversion: str | None, args: Sequence[Any], values: Mapping[str, Any]
    ) -> MarkedText:
        value, _ = self.get_field(name, args, values)
        if conversion is None and not spec:
            return self._env.text(value)
        if "{" in spec or _WIDE.search(spec):
            raise TooMuchWork("it asks for too much room in a text")
        self._env.budget.spend_whole(value)
        return derived(format(self.convert_field(value, conversion), spec), (value,))


class GenerationBlock(Extension):
    """The tag ``generation``, which marks what training counts; here it is only what it encloses."""

    tags = {"generation"}  # noqa: RUF012 -- as Jinja declares it

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)
