"""Reads the headers with libclang. Other scripts do not parse C; they use its description.

The marks (CST_OWNED, CST_ANY_THREAD, …) are defined as annotations, so that libclang reports them with the declarations
that have them. Any diagnostic of libclang is an error.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from clang import cindex  # type: ignore[import-untyped]

from .description import (
    Alias,
    Callback,
    Constant,
    Declaration,
    Enumeration,
    Function,
    Interface,
    Macro,
    Member,
    Parameter,
    Section,
    Struct,
)

THREADS = ("any_thread", "on_queue", "one_thread")
OWNERSHIPS = ("owned", "borrowed")
_MARK_MACROS = {f"CST_{mark.upper()}" for mark in THREADS + OWNERSHIPS}
_TITLE = re.compile(r"^/\* =+ (.+?) =+ \*/$", re.MULTILINE)
_COMMENT_AT_END = re.compile(r"(/\*(?:(?!\*/).)*\*/)[ \t]*\n[ \t]*\Z", re.DOTALL)
_COMMENT_AT_START = re.compile(r"\s*(/\*(?:(?!\*/).)*\*/)[ \t]*(\n[ \t]*\n|\n[ \t]*/\*|\n)?", re.DOTALL)
_COMMENT_ON_LINE = re.compile(r"[ \t]*(/\*(?:(?!\*/).)*\*/)[ \t]*$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"\(?(?:\(\w+\))?\s*(-?)\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)?")
_WIDTHS = {"(size_t)": 64, "(cst_key)": 32}


class HeaderError(Exception):
    """The headers cannot be read, or violate a rule. The message has one line for each problem."""


def parse(include: Path) -> Interface:
    """Returns the interface that `#include <corestone.h>` declares, with `include` as the folder of the headers."""
    return _Reader(include).read()


def _compiler_includes() -> str:
    """Returns the folder of stddef.h and similar headers, which the libclang of PyPI does not contain."""
    for command in (["gcc", "-print-file-name=include"], ["clang", "-print-file-name=include"]):
        try:
            found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            continue
        if (Path(found) / "stddef.h").is_file():
            return found
    raise HeaderError("stddef.h is missing; install gcc or clang (`make deps`)")


def _prose(comment: str | None) -> str:
    """Returns the text of a comment, with one line for each paragraph."""
    if not comment:
        return ""
    # The parser joins a heading and the comment after it; only the latter describes the declaration.
    comment = re.split(r"\*/\s*/\*", comment)[-1]
    comment = comment.removeprefix("/*").removesuffix("*/")
    lines = [re.sub(r"^\s*\*?\s?", "", line).strip() for line in comment.split("\n")]
    paragraphs = re.split(r"\n{2,}", "\n".join(lines).strip())
    return "\n".join(" ".join(each.split()) for each in paragraphs)


def _spelled(kind: Any) -> str:
    return re.sub(r"\b_Bool\b", "bool", str(kind.spelling))


class _Reader:
    def __init__(self, include: Path) -> None:
        self.include = include.resolve()
        self.interface = Interface()
        self.texts: dict[str, str] = {}
        self.titles: dict[str, list[tuple[int, str]]] = {}
        self.problems: list[str] = []
        # The previous declaration, for shared comments: its header, its end, its name and its comment.
        self.previous = ("", 0, "", "")

    def read(self) -> Interface:
        marks = [f'-DCST_{mark.upper()}=__attribute__((annotate("{mark}")))' for mark in THREADS + OWNERSHIPS]
        options = ["-x", "c", "-std=c11", "-isystem", _compiler_includes(), f"-I{self.include}"]
        unit = cindex.Index.create().parse(
            "interface.c",
            [*options, "-Wall", "-Wextra", "-fparse-all-comments", *marks],
            unsaved_files=[("interface.c", "#include <corestone.h>\n")],
            options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
        )
        if unit.diagnostics:
            raise HeaderError("\n".join(self._message(each) for each in unit.diagnostics))
        macros = []
        for cursor in unit.cursor.get_children():
            kind = cursor.kind.name
            if kind == "MACRO_INSTANTIATION" or not self._is_ours(cursor):
                continue
            if kind == "MACRO_DEFINITION":
                macros.append(cursor)
            elif handle := getattr(self, f"_{kind.lower()}", None):
                handle(cursor)
        # libclang lists all macros before all declarations.
        for cursor in macros:
            self._macro(cursor)
        parts = {each.name: each.value for each in self.interface.macros}
        self.interface.version = ".".join(str(parts.get(f"CST_VERSION_{each}")) for each in ("MAJOR", "MINOR", "PATCH"))
        if self.problems:
            raise HeaderError("\n".join(self.problems))
        return self.interface

    # Places and comments

    def _message(self, diagnostic: Any) -> str:
        file = diagnostic.location.file
        path = Path(file.name) if file else Path()
        name = path.relative_to(self.include) if path.is_relative_to(self.include) else path
        return f"{name}:{diagnostic.location.line}: {diagnostic.spelling}"

    def _is_ours(self, cursor: Any) -> bool:
        file = cursor.location.file
        return file is not None and Path(file.name).is_relative_to(self.include)

    def _header(self, cursor: Any) -> str:
        path = Path(cursor.location.file.name)
        header = path.relative_to(self.include).as_posix()
        if header not in self.texts:
            text = path.read_bytes().decode("utf-8")
            # libclang counts bytes; in Latin-1, each byte is one character.
            self.texts[header] = text.encode("utf-8").decode("latin-1")
            self.titles[header] = [(match.start(), match.group(1)) for match in _TITLE.finditer(self.texts[header])]
        return header

    def _section(self, header: str, offset: int) -> str:
        """Returns the section at an offset, and adds it to the interface if it is new."""
        doc, name = "", ""
        text = self.texts[header]
        if header.startswith("corestone/"):
            name = Path(header).stem
            opening = _COMMENT_AT_START.match(text)
        else:
            before = [each for each in self.titles[header] if each[0] < offset]
            if not before:
                return ""
            start, name = before[-1]
            opening = _COMMENT_AT_START.match(text, text.index("\n", start))
            if opening and opening.group(2) and not opening.group(2).startswith("\n\n"):
                opening = None  # the comment of the first declaration
        if not any(each.name == name for each in self.interface.sections):
            doc = _prose(_utf8(opening.group(1))) if opening else ""
            self.interface.sections.append(Section(name, header, doc))
        return name

    def _place(self, cursor: Any, name: str) -> dict[str, Any]:
        """Returns the fields of `Declaration` for a cursor."""
        header = self._header(cursor)
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        text = self.texts[header]
        doc, doc_of = self._comment(cursor, text, start), ""
        line = text.rfind("\n", 0, start) + 1
        former, former_end, former_name, former_doc = self.previous
        if not doc and former_doc and former == header and text.count("\n", former_end, line) == 1:
            doc, doc_of = former_doc, former_name
        section = self._section(header, start)
        self.previous = (header, end, doc_of or name, doc)
        return {"name": name, "header": header, "section": section, "doc": doc, "doc_of": doc_of}

    def _comment(self, cursor: Any, text: str, start: int) -> str:
        """Returns the comment of a declaration, which is directly above it or after it on the same line."""
        raw = cursor.raw_comment
        if not raw or _TITLE.match(raw):
            return ""
        found = text.rfind(raw.encode("utf-8").decode("latin-1"), 0, start)
        if found >= 0 and re.search(r"\n[ \t]*\n", text[found + len(raw.encode("utf-8")) : start]):
            return ""
        return _prose(raw)

    # Declarations

    def _marks(self, cursor: Any) -> list[str]:
        return [each.spelling for each in cursor.get_children() if each.kind == cindex.CursorKind.ANNOTATE_ATTR]

    def _ownership(self, cursor: Any, owner: str) -> str:
        found = [mark for mark in self._marks(cursor) if mark in OWNERSHIPS]
        if len(found) > 1:
            self.problems.append(f"{owner} has several ownership marks: {', '.join(found)}")
        return "".join(found[:1])

    def _parameters(self, cursor: Any, owner: str) -> list[Parameter]:
        return [
            Parameter(each.spelling, _spelled(each.type), self._ownership(each, f"{owner}: {each.spelling}"))
            for each in cursor.get_children()
            if each.kind == cindex.CursorKind.PARM_DECL
        ]

    def _function_decl(self, cursor: Any) -> None:
        name = cursor.spelling
        place = self._place(cursor, name)
        owner = f"{place['header']}: {name}"
        threads = [mark for mark in self._marks(cursor) if mark in THREADS]
        function = Function(
            **place,
            returns=_spelled(cursor.result_type),
            ownership=self._ownership(cursor, owner),
            thread="+".join(threads),
            parameters=self._parameters(cursor, owner),
        )
        if cursor.storage_class == cindex.StorageClass.STATIC:
            self.interface.inline_functions.append(function)
        else:
            self.interface.functions.append(function)

    def _typedef_decl(self, cursor: Any) -> None:
        name, kind = cursor.spelling, cursor.underlying_typedef_type
        declared = kind.get_declaration()
        if declared.kind in (cindex.CursorKind.STRUCT_DECL, cindex.CursorKind.ENUM_DECL):
            if declared.is_definition():
                return  # read at its definition
            place = self._place(cursor, name)
            self.interface.handles.append(Declaration(**place))
            return
        place = self._place(cursor, name)
        pointee = kind.get_pointee()
        if pointee.kind in (cindex.TypeKind.FUNCTIONPROTO, cindex.TypeKind.FUNCTIONNOPROTO):
            self.interface.callbacks.append(
                Callback(
                    **place,
                    returns=_spelled(pointee.get_result()),
                    parameters=self._parameters(cursor, f"{place['header']}: {name}"),
                )
            )
        else:
            self.interface.aliases.append(Alias(**place, type=_spelled(kind), size=kind.get_size()))

    def _struct_decl(self, cursor: Any) -> None:
        if not cursor.is_definition():
            return
        name, kind = cursor.spelling, cursor.type
        struct = Struct(
            **self._place(cursor, name),
            # Each struct of the interface is also a type with the same name, except those of Arrow.
            type=name if name.startswith("cst_") else f"struct {name}",
            size=kind.get_size(),
            alignment=kind.get_align(),
        )
        struct.members = self._members(cursor, name, 0)
        self.interface.structs.append(struct)

    def _members(self, cursor: Any, owner: str, base: int) -> list[Member]:
        members = []
        text = self.texts[self._header(cursor)]
        for each in cursor.get_children():
            if each.kind != cindex.CursorKind.FIELD_DECL:
                continue
            member = Member(
                name=each.spelling,
                type=_spelled(each.type),
                offset=base + each.get_field_offsetof() // 8,
                size=each.type.get_size(),
                doc=self._comment(each, text, each.extent.start.offset),
            )
            declared = each.type.get_declaration()
            pointee = each.type.get_pointee()
            if declared.kind == cindex.CursorKind.UNION_DECL and declared.is_anonymous():
                member.type = "union"
                member.members = self._members(declared, f"{owner}.{each.spelling}", member.offset)
            elif pointee.kind == cindex.TypeKind.FUNCTIONPROTO:
                member.returns = _spelled(pointee.get_result())
                member.parameters = self._parameters(each, f"{owner}.{each.spelling}")
            members.append(member)
        return members

    def _enum_decl(self, cursor: Any) -> None:
        header = self._header(cursor)
        former, former_end, former_name, _ = self.previous
        line = self.texts[header].rfind("\n", 0, cursor.extent.start.offset) + 1
        follows = former == header and self.texts[header].count("\n", former_end, line) == 1
        alias = follows and any(each.name == former_name for each in self.interface.aliases)
        place = self._place(cursor, former_name if alias else "")
        text = self.texts[header]
        constants = [
            Constant(each.spelling, each.enum_value, self._comment(each, text, each.extent.start.offset))
            for each in cursor.get_children()
        ]
        self.interface.enumerations.append(Enumeration(**place, constants=constants))

    def _macro(self, cursor: Any) -> None:
        name = cursor.spelling
        header = self._header(cursor)
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        whole = self.texts[header][start + len(name) : end]
        body = " ".join(re.sub(r"\\\n", " ", _utf8(whole)).split())
        if not body or name in _MARK_MACROS or name == "CST_EXPORT":
            return
        parameters: list[str] = []
        if whole.startswith("("):
            inside, _, body = body[1:].partition(")")
            parameters = [each.strip() for each in inside.split(",")]
            body = body.strip()
        text = self.texts[header]
        line = text.rfind("\n", 0, start) + 1
        comment = _COMMENT_ON_LINE.match(text, end) or _COMMENT_AT_END.search(text[max(0, line - 4000) : line])
        doc = "" if comment is None or _TITLE.match(comment.group(1)) else _prose(_utf8(comment.group(1)))
        macro = Macro(name, header, self._section(header, start), doc, text=body, parameters=parameters)
        if number := _NUMBER.fullmatch(body):
            value = int(number.group(2), 0) * (-1 if number.group(1) else 1)
            width = next((bits for cast, bits in _WIDTHS.items() if cast in body), None)
            macro.value = value if width is None else value % (1 << width)
        self.interface.macros.append(macro)


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode("utf-8")


def rule_problems(interface: Interface) -> list[str]:
    """Lists the functions without exactly one thread mark, or outside of any section."""
    marks = ", ".join(f"CST_{mark.upper()}" for mark in THREADS)
    problems = []
    for each in interface.functions:
        if each.thread not in THREADS:
            found = " and ".join(f"CST_{mark.upper()}" for mark in each.thread.split("+") if mark) or "no thread mark"
            problems.append(f"{each.header}: {each.name} has {found}; write one of {marks}")
        if not each.section:
            problems.append(f"{each.header}: {each.name} is not in a section; write it below a title")
    return problems
