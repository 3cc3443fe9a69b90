"""llama.cpp's converter of JSON Schemas, as its Python binding has it, mended."""

from __future__ import annotations

import json
from typing import Any

from llama_cpp import llama_grammar

_binding: Any = llama_grammar
"""It has no types."""
_CHARACTER = r'[^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])'
"""Of a JSON string. The converter's own lets line breaks through, which JSON does not."""


class Converter(_binding.SchemaConverter):  # type: ignore[misc]
    """With backslashes of JSON kept from meaning something in GBNF, and a rule for each ``$ref``."""

    def __init__(self) -> None:
        super().__init__(prop_order={}, allow_fetch=False, dotall=False, raw_pattern=False)
        self._shared: dict[str, str] = {}

    def _format_literal(self, literal: str) -> str:
        return str(super()._format_literal(literal.replace("\\", "\\\\")))

    def _generate_constant_rule(self, value: object) -> str:
        return f"{self._format_literal(json.dumps(value, ensure_ascii=False))} space"

    def _add_primitive(self, name: str, rule: Any) -> str:
        character = rule is _binding.PRIMITIVE_RULES["char"]
        return str(super()._add_primitive(name, _binding.BuiltinRule(_CHARACTER) if character else rule))

    def visit(self, schema: dict[str, Any], name: str) -> str:
        # What may occur n times is n brackets within each other to the converter; GBNF can count.
        if body := self._counted(schema, name):
            return str(self._add_rule(f"{name}-" if name in _binding.RESERVED_NAMES else name or "root", body))
        return str(super().visit(schema, name))

    def _counted(self, schema: dict[str, Any], name: str) -> str | None:
        if schema.get("type") == "string" and ("minLength" in schema or "maxLength" in schema):
            character = self._add_primitive("char", _binding.PRIMITIVE_RULES["char"])
            body = _times(character, schema.get("minLength", 0), schema.get("maxLength"))
            return rf'"\"" {body} "\"" space'
        if schema.get("type", "array") == "array" and "items" in schema:
            item = self.visit(schema["items"], f"{name}{'-' if name else ''}item")
            return f'"[" space {_listed(item, schema.get("minItems", 0), schema.get("maxItems"))} "]" space'
        return None

    def _resolve_ref(self, ref: str) -> str:
        # The converter goes by the last part of a reference, which other rules may be called too.
        if ref not in self._shared:
            name = self._shared[ref] = f"shared-{len(self._shared)}"
            self._shared[ref] = self.visit(self._refs[ref], name)
        return self._shared[ref]

    def grammar(self, schema: dict[str, Any]) -> str:
        """GBNF for a schema. Raises whatever it trips over."""
        # Beside a reference the converter does not look for more of them, such as those within ``$defs``.
        self.resolve_refs({key: part for key, part in schema.items() if key != "$ref"}, "")
        self.visit(self.resolve_refs(schema, ""), "")
        return str(self.format_grammar())


def _times(item: str, least: int, most: int | None) -> str:
    return "" if most == 0 else f"{item}{{{least},{'' if most is None else most}}}"


def _listed(item: str, least: int, most: int | None) -> str:
    """Items with commas between them."""
    if most == 0 and not least:
        return ""
    more = _times(f'("," space {item})', max(least - 1, 0), None if most is None else most - 1)
    return f"{item} {more}" if least else f"({item} {more})?"
