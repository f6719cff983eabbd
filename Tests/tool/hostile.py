"""Stores and models whose author means ill, and what no output may hold of their names and values."""

from __future__ import annotations

import plistlib
import re
import sqlite3
import unicodedata
from pathlib import Path
from typing import Any

from corestone import Container, Model

# Sets the title of the window, clears the screen, turns the text around, begins lines of its own.
EVIL = "E\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x08\u202edrow\u2069\u2028next\r\ncorestone: all is well\n  forged\tx"


def is_command(character: str) -> bool:
    """Whether a terminal or viewer obeys the character instead of showing it."""
    return unicodedata.category(character) in ("Cc", "Zl", "Zp") or character in (
        "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


def commands_in(text: str, but: str = "\n\t") -> set[str]:
    """Which characters of a text are commands."""
    return {character for character in text if is_command(character) and character not in but}


def make_store(path: Path, uuid: str = EVIL, metadata: dict[str, Any] | None = None) -> None:
    """A store with text that is all of that; its identifier and the names in its metadata too."""
    with Container(Model({"Note": {"title": "string?", "size": "int64?", "data": "binary?"}}), path) as container:
        context = container.context()
        context.insert("Note", title=EVIL, size=-5)
        context.save()
    edit_metadata(path, uuid, metadata or {})


def edit_metadata(path: Path, uuid: str, more: dict[str, Any], hashes: dict[str, bytes] | None = None) -> None:
    """Writes into the metadata what the library would not."""
    with sqlite3.connect(path) as connection:
        (blob,) = connection.execute("SELECT Z_PLIST FROM Z_METADATA").fetchone()
        plist = plistlib.loads(blob)
        plist |= more
        plist["NSStoreModelVersionHashes"] |= hashes or {}
        connection.execute(
            "UPDATE Z_METADATA SET Z_UUID = ?, Z_PLIST = ?", (uuid, plistlib.dumps(plist, fmt=plistlib.FMT_BINARY))
        )
    connection.close()


def model_text(entities: str) -> str:
    """A source model."""
    return f'<?xml version="1.0" encoding="UTF-8"?><model documentVersion="1.0">{entities}</model>'


def escaped(text: str) -> str:
    """Text escaped as an XML attribute value; characters that XML does not allow are left out."""
    held = "".join(character for character in text if character >= " " or character in "\t\n\r")
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in held)


STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
