"""Generates the tests of the layout of every struct: a program in C, and a test case in Swift."""

from __future__ import annotations

from collections.abc import Iterator

from .description import Interface, Member, Struct

NOTE = "Written by scripts/generate.py from include/corestone-api.json. `make generate` writes it again."

# clang-format aligns the backslash of a macro's continuation at the end of the line.
PADDING = " " * 81

C_HEAD = f"""/* {NOTE}
 *
 * The size of every struct, and the offset and size of every member, are as in the description, which is for 64-bit
 * machines.
 *
 * SPDX-License-Identifier: MIT
 */
#include <corestone.h>
#include <stdio.h>

static int members, failures;

static void size(const char *name, size_t actual, size_t expected) {{
    if (actual == expected) return;
    failures++;
    printf("%s has %zu bytes instead of %zu\\n", name, actual, expected);
}}

static void member(const char *name, size_t at, size_t bytes, size_t expected_at, size_t expected_bytes) {{
    members++;
    if (at == expected_at && bytes == expected_bytes) return;
    failures++;
    printf("%s has %zu bytes at %zu instead of %zu at %zu\\n", name, bytes, at, expected_bytes, expected_at);
}}

#define SIZE(type, bytes) size(#type, sizeof(type), bytes)
#define MEMBER(type, name, at, bytes) {PADDING}\\
    member(#type "." #name, offsetof(type, name), sizeof(((type *)0)->name), at, bytes)

int main(void) {{
    if (sizeof(void *) != 8) {{
        printf("layout: skipped: the description is for 64-bit machines\\n");
        return 0;
    }}
"""

SWIFT_HEAD = f"""// {NOTE}

import CCorestone
import XCTest

/// Every struct of the headers has the same size and offsets in Swift as in C.
final class EveryStructTests: XCTestCase {{
    private var structs = 0
    private var members = 0

    private func size<Kind>(_ kind: Kind.Type, _ bytes: Int, line: UInt = #line) {{
        structs += 1
        XCTAssertEqual(MemoryLayout<Kind>.size, bytes, "\\(kind)", line: line)
        XCTAssertEqual(MemoryLayout<Kind>.stride, bytes, "\\(kind)", line: line)
    }}

    private func member<Kind>(_ path: PartialKeyPath<Kind>, _ offset: Int, line: UInt = #line) {{
        members += 1
        XCTAssertEqual(MemoryLayout<Kind>.offset(of: path), offset, "\\(path)", line: line)
    }}
"""


def _inner(member: Member) -> Iterator[tuple[str, Member]]:
    """Yields a member and the members of its anonymous union, each with its path."""
    yield member.name, member
    for each in member.members:
        yield f"{member.name}.{each.name}", each


def program(interface: Interface) -> str:
    """Returns the text of Tests/c/headers/layout.c."""
    lines = [f"    SIZE({each.name}, {each.size});" for each in interface.aliases]
    for struct in interface.structs:
        lines.append(f"    SIZE({struct.type}, {struct.size});")
        for member in struct.members:
            for path, each in _inner(member):
                lines.append(f"    MEMBER({struct.type}, {path}, {each.offset}, {each.size});")
    lines.append(f'    printf("layout in C: {len(interface.structs)} structs, %d members\\n", members);')
    return C_HEAD + "\n".join(lines) + "\n    return failures != 0;\n}\n"


def swift_test(interface: Interface) -> str:
    """Returns the text of Tests/swift/abi/EveryStructTests.swift."""
    lines = [SWIFT_HEAD]
    for struct in interface.structs:
        lines += [f"    private func {_method(struct)}() {{", f"        size({struct.name}.self, {struct.size})"]
        lines += [f"        member(\\{struct.name}.{each.name}, {each.offset})" for each in struct.members]
        lines += ["    }", ""]
    lines.append("    func testStructLayoutsMatchTheHeader() {")
    lines += [f"        {_method(struct)}()" for struct in interface.structs]
    lines += [
        f"        XCTAssertEqual(structs, {len(interface.structs)})",
        '        print("layout in Swift: \\(structs) structs, \\(members) members")',
        "    }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _method(struct: Struct) -> str:
    words = struct.name.removeprefix("cst_").split("_")
    name = words[0] + "".join(word.capitalize() for word in words[1:])
    return f"check{name[:1].upper()}{name[1:]}"
