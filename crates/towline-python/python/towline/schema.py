"""What the columns of tables are."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from . import _native
from ._size import size_bytes

#: Kinds that a rule may name, by the option of ``towline.pack`` that says the same.
KINDS = ("number", "category", "text", "ignore", "boolean")
#: Words of a rule that say how text is read; all others are rules of columns.
TEXT_WORDS = ("words", "chars", "min", "max", "tf-idf", "counts", "binary", "case")


class Schema:
    """What the columns of a table are, and what becomes of them: types, label, weight, group, missing tokens, products.

    ``Schema.of(data)`` looks at a file or a data frame; ``Schema.read(path)`` reads what ``towline schema`` or :meth:`write` has
    written. A column is changed by a rule, such as ``schema["city"] = "category, rare=5"``; see ``docs/tables.md`` for all rules. ``fit``,
    ``towline.pack`` and ``towline.cv`` take it as ``schema=``.

    >>> schema = towline.Schema.of("loans.csv", label="defaulted")
    >>> schema["purpose"] = "text, words=1-2, min=5"
    >>> model = towline.LogisticRegression().fit("loans.csv", schema=schema)
    """

    def __init__(self, columns=(), *, label=(), weight=None, group=None, missing=(), interactions=()):
        """``columns`` is a dictionary of names and rules, or a list of dictionaries as a schema file has them."""
        entries = [_column(name, rule) for name, rule in columns.items()] if isinstance(columns, Mapping) else list(columns)
        parts = {
            "label": [label] if isinstance(label, str) else list(label),
            "weight": weight,
            "group": group,
            "missing": [missing] if isinstance(missing, str) else list(missing),
            "interactions": [list(pair) for pair in products(interactions)],
            "columns": entries,
        }
        self._take(json.dumps(parts))

    def _take(self, text: str) -> None:
        self._parts = json.loads(_native.schema_check(text))

    @classmethod
    def _from_json(cls, text: str) -> Schema:
        schema = cls.__new__(cls)
        schema._take(text)
        return schema

    @classmethod
    def of(cls, data, *, memory=None, **reading) -> Schema:
        """What the columns of a file or a data frame are taken for, by looking at the first rows.

        Keywords are those of ``towline.pack``: ``label="price"``, ``category=["code"]``.
        """
        from .frames import is_frame, without_index
        from .store import paths, reading_options

        is_table = is_frame(data) or hasattr(data, "__arrow_c_stream__")
        kind, data = ("arrow", without_index(data)) if is_table else ("files", paths(data))
        text, _ = _native.schema_of(kind, data, reading_options(reading), size_bytes(memory))
        return cls._from_json(text)

    @classmethod
    def read(cls, path) -> Schema:
        """Reads a file of ``towline schema``."""
        try:
            return cls._from_json(_native.schema_from_toml(Path(path).read_text(encoding="utf-8")))
        except ValueError as problem:
            raise ValueError(f"{os.fspath(path)}: {problem}; correct the file, or let 'towline schema' write one") from None

    def write(self, path) -> None:
        """Writes a file that :meth:`read` and ``towline pack --schema`` read."""
        Path(path).write_text(self.to_toml(), encoding="utf-8")

    def to_toml(self) -> str:
        """The text of that file."""
        return _native.schema_to_toml(self.to_json())

    def to_json(self) -> str:
        """The same as JSON, in the form that stores and models have."""
        return json.dumps(self._parts)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return [column["name"] for column in self._parts["columns"]]

    @property
    def label(self) -> list[str]:
        """The column of labels, or several of targets."""
        return list(self._parts.get("label", []))

    def __getitem__(self, name: str) -> dict:
        """What is known of a column."""
        return dict(self._parts["columns"][self._place(name)])

    def __setitem__(self, name: str, rule) -> None:
        """Says what a column is: ``"category, rare=5"``, or a dictionary as a schema file has it. A rule without a kind keeps the kind."""
        columns = list(self._parts["columns"])
        if name in self.names:
            place = self._place(name)
            columns[place] = _column(name, rule, columns[place])
        else:
            columns.append(_column(name, rule))
        self._take(json.dumps({**self._parts, "columns": columns}))

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def without_label(self) -> Schema:
        """The same for tables whose labels are elsewhere: the columns of labels and weights are left out."""
        parts = dict(self._parts)
        gone = {*parts.pop("label", []), parts.pop("weight", None)}
        columns = [{"name": each["name"], "kind": "ignored"} if each["name"] in gone else each for each in parts["columns"]]
        return Schema._from_json(json.dumps({**parts, "columns": columns}))

    def __eq__(self, other) -> bool:
        return isinstance(other, Schema) and self._parts == other._parts

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __repr__(self) -> str:
        columns = (f"{column['name']!r}: {kind_name(column['kind'])!r}" for column in self._parts["columns"])
        parts = [f"{{{', '.join(columns)}}}"]
        parts += [f"{name}={self._parts[name]!r}" for name in ("label", "weight", "group") if self._parts.get(name)]
        return f"Schema({', '.join(parts)})"


def kind_name(kind) -> str:
    """The name of a kind, whatever is known of it besides."""
    return kind if isinstance(kind, str) else next(iter(kind))


def products(pairs) -> list[tuple[str, str]]:
    """Pairs of columns from ``"user*item"``, or from pairs as they are."""
    pairs = [pairs] if isinstance(pairs, str) else pairs
    found = [tuple(pair.split("*")) if isinstance(pair, str) else tuple(pair) for pair in pairs]
    for pair in found:
        if len(pair) != 2 or not all(pair):
            raise ValueError(f"{'*'.join(pair)!r} is no product of two columns; write 'user*item'")
    return found


def options_of(schema) -> dict:
    """Options of reading that say the same as ``schema=``: a :class:`Schema`, a path, or rules of single columns."""
    if isinstance(schema, Mapping):
        return _rules_as_options(schema)
    if not isinstance(schema, Schema):
        schema = Schema.read(schema)
    return {"schema": schema.to_json()}


def _rules_as_options(rules: Mapping) -> dict:
    """Rules of some columns; what others are is seen by looking."""
    options: dict = {"category": [], "number": [], "ignore": [], "text": {}, "column": {}}
    for name, rule in rules.items():
        kind, text, others = split_rule(name, rule)
        if kind == "text" or text:
            options["text"][name] = text
        elif kind == "boolean":
            raise ValueError(f"{name}: booleans are seen by looking; say it in a whole towline.Schema")
        elif kind is not None:
            options[kind].append(name)
        if others:
            options["column"][name] = others
    return {name: value for name, value in options.items() if value}


def split_rule(name: str, rule) -> tuple[str | None, str, str]:
    """The kind that a rule names, what it says of text, and what else."""
    if not isinstance(rule, str):
        raise TypeError(f"the rule of column {name!r} is {rule!r}; write it as 'category, rare=5'")
    words = [word.strip() for word in rule.split(",") if word.strip()]
    kind = words.pop(0) if words and words[0] in KINDS else None
    text = [word for word in words if word.partition("=")[0] in TEXT_WORDS]
    if text and kind not in (None, "text"):
        raise ValueError(f"{name}: {text[0]!r} is for text, and the rule says {kind!r}")
    return kind, ",".join(text), ",".join(word for word in words if word not in text)


def _column(name: str, rule, known: Mapping | None = None) -> dict:
    """A column as a schema has it. A rule that names no kind is for the column that is ``known``."""
    if isinstance(rule, Mapping):
        return {**rule, "name": name}
    kind, text, others = split_rule(name, rule)
    if kind is None and not text and known is None:
        raise ValueError(f"the rule of column {name!r} does not say what it is; begin with one of {', '.join(KINDS)}")
    if kind == "text" or text:
        column = {"name": name, "kind": {"text": json.loads(_native.schema_text(text))}}
    elif kind is not None:
        column = {"name": name, "kind": "ignored" if kind == "ignore" else kind}
    else:
        column = dict(known or {})
    return json.loads(_native.schema_column(json.dumps(column), others))
