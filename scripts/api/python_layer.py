"""Generates the raw layer of the Python package: constants, structures, callback types and the table of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .description import Callback, Interface, Member, Parameter, Struct

HEAD = '''"""corestone.h for ctypes: constants, structures, callback types, and the types of every function.

Written by scripts/generate.py from include/corestone-api.json. `make generate` writes it again.
"""
# ruff: noqa: E501

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, Union, c_void_p
from typing import Any

'''

SCALARS = {
    "bool": "c_bool", "int": "c_int", "double": "c_double", "size_t": "c_size_t", "int8_t": "c_int8",
    "uint8_t": "c_uint8", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64",
}  # fmt: skip

# Members that the package sets and reads as addresses, as it allocates their targets itself.
ADDRESSES = {
    "cst_row.keys", "cst_row.values", "cst_row.targets", "cst_store_options.host_option_values",
}  # fmt: skip
# `as` is a keyword of Python.
RENAMED = {"cst_value.as": "payload"}
# Further members of a union: `text` keeps the bytes object alive to which it was set, `handle` is any handle.
VIEWS = {"cst_value.as": [("text", "InputString"), ("handle", "c_void_p")]}

STRINGS = '''
class String(Structure):
    """cst_string. `data` is an address; read it with `text` or `decode`, which use the size."""

    _fields_ = (("data", c_void_p), ("size", ctypes.c_size_t))


class InputString(Structure):
    """cst_string as input, with the same layout. It keeps the bytes object alive."""

    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t))
'''

_POINTER = re.compile(r"(?:const )?(?:struct )?(\w+) \*")
_POINTER_TO_POINTER = re.compile(r"(?:const )?(?:struct )?(\w+) \*(?:const )?\*")
_ARRAY = re.compile(r"(\w+)\[(\d+)\]")


def class_name(name: str) -> str:
    """Returns the name of the Python class of a struct: RenamedID for cst_renamed_id."""
    words = name.removeprefix("cst_").split("_")
    return "".join("ID" if word == "id" else word[:1].upper() + word[1:] for word in words)


def constant_name(name: str) -> str:
    return name.removeprefix("CST_")


def generate(interface: Interface) -> str:
    """Returns the text of the module, which is not formatted."""
    return _Writer(interface).module()


class _Writer:
    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.structs = {each.name: each for each in interface.structs}
        self.callbacks = {each.name: each for each in interface.callbacks}
        self.aliases = {each.name: each.type for each in interface.aliases}
        self.handles = {each.name for each in interface.handles}
        self.inputs = self._input_structs()
        self.written: set[str] = {"cst_string"}
        self.under_way: list[str] = []
        self.parts: list[str] = []

    def module(self) -> str:
        constants = [(constant_name(name), value) for name, value in self.interface.constants().items()]
        constants += [
            (constant_name(each.name), each.value) for each in self.interface.macros if each.value is not None
        ]
        lines = [f"{name} = {_number(value)}" for name, value in constants]
        for struct in self.interface.structs:
            self._write(struct.name)
        for callback in self.interface.callbacks:
            self._write(callback.name)
        names = {each.name: class_name(each.name) for each in self.interface.structs}
        structs = ["# The classes by the names of the structs in C.", "STRUCTS: dict[str, Any] = {"]
        structs += [f'    "{name}": {python},' for name, python in names.items()]
        return HEAD + "\n".join([*lines, STRINGS, *self.parts, *structs, "}", "", *self._table()]) + "\n"

    def _table(self) -> Iterator[str]:
        words: dict[str, str] = {}
        rows = []
        for function in self.interface.functions:
            types = [self.result(function.returns), *(self.parameter(each.type) for each in function.parameters)]
            for each in types:
                words.setdefault(each, _word(each))
            rows.append(" ".join([function.name, *(words[each] for each in types)]))
        yield "# The types by their names in the table."
        yield "TYPES: dict[str, Any] = {"
        for python, word in sorted(words.items(), key=lambda item: item[1]):
            yield f'    "{word}": {python},'
        yield "}\n"
        yield "# The name, the result and the parameters of each function."
        yield 'FUNCTIONS = """'
        yield from rows
        yield '"""'

    # Types

    def parameter(self, c_type: str) -> str:
        """Returns the ctypes type of a function's parameter. Values and Arrow structs are passed as addresses."""
        if c_type in ("cst_string", "cst_bytes"):
            return "InputString"
        if c_type == "const cst_string *":
            return "POINTER(InputString)"
        if c_type == "const char *const *":
            return "POINTER(ctypes.c_char_p)"
        if match := _POINTER.fullmatch(c_type):
            name = match.group(1)
            if name in ("cst_value", "uint8_t", "char") or name.startswith("Arrow"):
                return "c_void_p"
        return self.plain(c_type)

    def result(self, c_type: str) -> str:
        return "None" if c_type == "void" else self.plain(c_type)

    def plain(self, c_type: str) -> str:
        """Returns the ctypes type of a callback's parameter, a result or a member."""
        name = c_type
        while name in self.aliases:
            name = self.aliases[name]
        if name in SCALARS:
            return f"ctypes.{SCALARS[name]}"
        if name in self.callbacks:
            return f"{name.removeprefix('cst_').upper()}" if not self._is_code(name) else "c_void_p"
        if name in self.structs:
            return class_name(name)
        if match := _ARRAY.fullmatch(name):
            return f"{self.plain(match.group(1))} * {match.group(2)}"
        if _POINTER_TO_POINTER.fullmatch(name):
            return "POINTER(c_void_p)"
        if match := _POINTER.fullmatch(name):
            target = match.group(1)
            is_itself = target in self.structs and target not in self.written
            if target in self.handles or target in ("void", "char") or is_itself:
                return "c_void_p"
            if target in self.callbacks:
                return "POINTER(c_void_p)"
            return f"POINTER({self.plain(target)})"
        raise ValueError(f"`{c_type}` has no ctypes type; add it to scripts/api/python_layer.py")

    def _is_code(self, name: str) -> bool:
        """Whether a callback type is a pointer to any function, which is passed as an address."""
        return not name.endswith("_fn")

    def _function_type(self, returns: str, parameters: list[Parameter]) -> str:
        types = [self.result(returns), *(self.plain(each.type) for each in parameters)]
        return f"CFUNCTYPE({', '.join(types)})"

    def _member(self, member: Member, owner: str) -> str:
        place = f"{owner}.{member.name}"
        if place in ADDRESSES:
            return "c_void_p"
        if member.members:
            return class_name(RENAMED.get(place, member.name))
        if member.returns:
            return member.name.upper()
        if owner in self.inputs and member.type in ("cst_string", "const cst_string *"):
            return "InputString" if member.type == "cst_string" else "POINTER(InputString)"
        match = _POINTER.fullmatch(member.type)
        if match and match.group(1) in self.structs and not self._is_ready(match.group(1)):
            return "c_void_p"
        if match and match.group(1) == "uint8_t":
            return "c_void_p"
        return self.plain(member.type)

    # Order

    def _input_structs(self) -> set[str]:
        """Returns the structs that callers fill: `const` pointers in parameters, and the structs that these contain."""
        found: set[str] = set()
        waiting = [p.type for each in self.interface.functions for p in each.parameters if p.type.startswith("const ")]
        while waiting:
            match = _POINTER.fullmatch(waiting.pop())
            name = match.group(1) if match else ""
            if name in self.structs and name not in found:
                found.add(name)
                for each in self.structs[name].members:
                    waiting.append(f"const {each.type.removeprefix('const ').removesuffix(' *')} *")
        return found - {"cst_value", "cst_string"}

    def _needs(self, name: str) -> list[str]:
        """Returns the names that must be written before a struct or a callback type."""
        thing = self.structs.get(name) or self.callbacks.get(name)
        found = []
        if isinstance(thing, Callback):
            found = [each.type for each in thing.parameters]
        elif isinstance(thing, Struct):
            for member in thing.members:
                for each in member.members or [member]:
                    found += [p.type for p in each.parameters] if each.returns else []
                    found += [each.type] if not each.type.endswith("*") else []
        targets = [match.group(1) if (match := _POINTER.fullmatch(each)) else each for each in found]
        return [each for each in targets if each in self.structs or each in self.callbacks]

    def _is_ready(self, name: str) -> bool:
        """Writes a struct if necessary. Returns False if it depends on a struct that is still being written."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            each = waiting.pop()
            if each in self.under_way:
                return False
            if each not in seen and each not in self.written:
                seen.add(each)
                waiting += self._needs(each)
        self._write(name)
        return True

    def _write(self, name: str) -> None:
        if name in self.written or name in self.under_way:
            return
        self.under_way.append(name)
        for each in self._needs(name):
            self._write(each)
        if name in self.structs:
            text = self._struct(self.structs[name])
        elif self._is_code(name):
            text = ""
        else:
            callback = self.callbacks[name]
            text = f"{self.plain(name)} = {self._function_type(callback.returns, callback.parameters)}"
        self.under_way.remove(name)
        self.written.add(name)
        self.parts.append(text)

    def _struct(self, struct: Struct) -> str:
        before, functions, fields = [], [], []
        for member in struct.members:
            place = f"{struct.name}.{member.name}"
            python = self._member(member, struct.name)
            if member.members:
                inner = [(each.name, self._member(each, struct.name)) for each in member.members]
                before.append(_class(python, "Union", place, [], [*inner, *VIEWS.get(place, [])]))
            elif member.returns:
                functions.append(f"{python} = {self._function_type(member.returns, member.parameters)}")
            fields.append((RENAMED.get(place, member.name), python))
        return "\n".join([*before, _class(class_name(struct.name), "Structure", struct.name, functions, fields)])


def _class(name: str, kind: str, doc: str, constants: list[str], fields: list[tuple[str, str]]) -> str:
    lines = [f"class {name}({kind}):", f'    """{doc}"""', "", *(f"    {each}" for each in constants), ""]
    lines += ["    _fields_ = (", *(f'        ("{field}", {python}),' for field, python in fields), "    )", ""]
    return "\n".join(lines)


def _word(python: str) -> str:
    """Returns a short name for a type in the table of functions."""
    if match := re.fullmatch(r"POINTER\((.*)\)", python):
        return _word(match.group(1)) + "*"
    return {"c_void_p": "pointer", "None": "void"}.get(python, python.removeprefix("ctypes.c_"))


def _number(value: int) -> str:
    return str(value) if value < 0x10000000 else hex(value).upper().replace("0X", "0x")
