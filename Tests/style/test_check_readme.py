"""The check of examples: the part of a file that a page shows."""

from __future__ import annotations

import check_readme
import pytest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int a;\n", "int a;\n"),
        (
            "{\n    /* Shown in README.md: */\n    a;\n\n        b;\n    /* End of the shown part. */\n}\n",
            "a;\n\n    b;\n",
        ),
        ("# Shown in README.md: the call\na()\n# End of the shown part\nb()\n", "a()\n"),
        ("// Shown in README.md:\na()\n", "// Shown in README.md:\na()\n"),
    ],
)
def test_page_shows_the_file_or_its_marked_part(text: str, expected: str) -> None:
    assert check_readme.shown_of(text) == expected
