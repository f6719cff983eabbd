"""The names of placeholders in the list of messages."""

from __future__ import annotations

import ast

import pytest
from placeholders import Names, python_count, python_name, singular
from swift_text import Source, Token


def inserted(text: str) -> list[list[Token]]:
    """The interpolated expressions of a Swift source, from the outside in."""
    found: list[list[Token]] = []

    def collect(tokens: list[Token]) -> None:
        for token in tokens:
            collect(token.inside)
            for part in token.parts:
                if isinstance(part, list):
                    found.append(part)
                    collect(part)

    collect(Source(text, "a.swift").tokens)
    return found


def swift_names(text: str) -> list[str]:
    """The names of the interpolated expressions of a Swift source."""
    names = Names(Source(text, "a.swift").tokens)
    return [names.count(expression) or names.of(expression) for expression in inserted(text)]


def swift_name(expression: str) -> str:
    return swift_names(f'"\\({expression})"')[0]


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("self.store.path", "store.path"),
        ("Self.manual.command", "manual.command"),
        ("row.integer(1)", "row.column 1"),
        ("row.integer(index)", "row.integer"),
        ("entity?.name", "entity.name"),
        ("try Coordinator.shown(store.path)", "store.path"),
        ("String(flags & ~mask, radix: 16)", "flags"),
        ("UInt(bitPattern: bytes.size)", "bytes.size"),
        ("SystemError(code).text", "systemError.text"),
        ("PropertyListLimits().depth", "propertyListLimits.depth"),
        ("Int32.max", "Int32.max"),
        ("reader.short(String(cString: name))", "name"),
        ("nameOfThread(current())", "nameOfThread"),
        ("obstacle(in: path)", "obstacle"),
        ("schema.table(of: entity)?.name", "schema.table.name"),
        ("RegularExpression.reason(number)", "reason"),
        ("type(of: value)", "type of value"),
        ("(error as? CoreError)?.message", "error.message"),
        ("objectIDs[0].uri", "objectID.uri"),
        ("keys[..<index]", "keys"),
        ("count - 1", "count - 1"),
        ("Int64((needed / 1_048_576).rounded(.up))", "needed"),
        ("1 << Entity.bits - 1", "Entity.bits"),
        ('names.sorted().map(\\.name).joined(separator: ", ")', "names"),
        ("names.last", "name"),
        ("path.map { $0 }", "path"),
        ("what()", "what"),
        ('counted(pages, "page")', "{pages} pages"),
        ('plural(entities.count, "entity", "entities")', "{entities.count} entities"),
    ],
)
def test_swift_expression_is_named(expression: str, name: str) -> None:
    assert swift_name(expression) == name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('names.map { "\\($0)" }', ["name"]),
        ('index.elements.map { "\\($0.property)" }', ["element.property"]),
        ('context.name.map { "\\($0)" } ?? ""', ["context.name"]),
        ('return stores.filter { $0.isOpen }.map { "\\($0.path)" }', ["store.path"]),
        ('values.map { "\\($0.key) is \\($0.value)" }', ["key", "value"]),
        ('zip(names, entities).map { "\\($0) of \\($1.name)" }', ["name", "entity.name"]),
        ('[(1, 8), (9, 4)].map { "\\($0) to \\($1)" }', ["value", "value"]),
        ('zip(names, entities).filter { $0 < $1 }.map { "\\($0)" }', ["name"]),
        ('refuse(derived, path, { "\\($0) is derived" })', ["derived"]),
        ('Staged.conflict(version) { "both lead to \\($0)" }', ["version"]),
        ('let text = { "\\($0)" }', ["value"]),
        ('keys.map { key in lines.map { "\\(key) \\($0)" } }', ["key", "line"]),
        ('a.isEmpty ? names.map { "\\($0)" } : []', ["name"]),
    ],
)
def test_closure_parameter_is_named_after_the_collection(text: str, names: list[str]) -> None:
    assert swift_names(text) == names


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("self._result_type", "result_type"),
        ("self._cst_path.format", "path.format"),
        ("shown(value)", "value"),
        ("_short(self.name)", "name"),
        ("type(store).__name__", "type of store"),
        ("', '.join(sorted(names))", "names"),
        ("', '.join(f'{each!r}' for each in names)", "names"),
        ("'.'.join(map(str, MINIMUM))", "MINIMUM"),
        ("names[0]", "name"),
        ("names[1:]", "names"),
        ("place + 1", "place + 1"),
        ("len(given)", "number of given"),
        ("described(error).removesuffix('.')", "error"),
        ("nearest(name, known)", "nearest"),
        ("name.upper()", "name"),
    ],
)
def test_python_expression_is_named(expression: str, name: str) -> None:
    assert python_name(ast.parse(expression, mode="eval").body) == name


def test_count_with_noun_is_a_number_and_a_plural() -> None:
    def count(text: str) -> str:
        return python_count(ast.parse(text, mode="eval").body)

    assert count("plural(self._count, 'row')") == "{count} rows"
    assert count("plural(len(names), 'column')") == "{count} columns"
    assert count("shown(names)") == ""


@pytest.mark.parametrize(
    ("plural", "expected"),
    [("names", "name"), ("properties", "property"), ("indices", "index"), ("classes", "class"), ("alias", "alias")],
)
def test_singular_of_a_collection(plural: str, expected: str) -> None:
    assert singular(plural) == expected
