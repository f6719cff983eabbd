"""Checks that the C and Python examples of docs/ compile and run. The examples of a page are one program, in order.

The program begins with the code of scripts/snippets/, which creates the data of the examples. In C, a function (from
`static` to the closing brace in the first column) is copied to file scope. The other lines of each example are copied
to a block of their own in main.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from project import BUILD, ROOT

SNIPPETS = ROOT / "scripts" / "snippets"
BLOCK = re.compile(r"(?<!-->\n)^```(c|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES_WITHOUT_EXAMPLES = {"README.md", "functions.md", "messages.md"}
FUNCTION = re.compile(r"^static .*?^}\n", re.DOTALL | re.MULTILINE)


def c_program(blocks: list[str]) -> str:
    functions = [function for block in blocks for function in FUNCTION.findall(block)]
    bodies = [f"{{\n{FUNCTION.sub('', block)}}}\n" for block in blocks]
    opening = "int main(void) {\nset_up();\n"
    prelude = (SNIPPETS / "company.c").read_text(encoding="utf-8")
    return prelude + "".join(functions) + opening + "".join(bodies) + "return tear_down();\n}\n"


def run_c(blocks: list[str], folder: Path) -> str:
    """Compiles and runs the examples. Returns a description of the failure, or an empty string."""
    (folder / "page.c").write_text(c_program(blocks), encoding="utf-8")
    library = BUILD / "lib"
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-variable", f"-I{BUILD / 'include'}"]
    link = [f"-L{library}", f"-Wl,-rpath,{library}", "-lcorestone"]
    return run([os.environ.get("CC", "cc"), *flags, "page.c", "-o", "page", *link], folder) or run(["./page"], folder)


def run_python(blocks: list[str], folder: Path) -> str:
    prelude = (SNIPPETS / "company.py").read_text(encoding="utf-8")
    (folder / "page.py").write_text("\n".join([prelude, *blocks]), encoding="utf-8")
    return run([sys.executable, "page.py"], folder)


def run(command: list[str], folder: Path) -> str:
    places = {"PYTHONPATH": str(ROOT / "bindings/python"), "CORESTONE_LIBRARY": str(BUILD / "lib/libcorestone.so")}
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **places}, capture_output=True, text=True, timeout=120
    )
    return "" if done.returncode == 0 else f"{command[0]} exited with {done.returncode}\n{done.stdout}{done.stderr}"


def main() -> int:
    passed = failed = 0
    for page in [ROOT / "docs" / "GUIDE.md", *sorted((ROOT / "docs" / "reference").glob("*.md"))]:
        found = BLOCK.findall(page.read_text(encoding="utf-8"))
        for language, runner in (("c", run_c), ("python", run_python)):
            blocks = [text for kind, text in found if kind == language]
            if not blocks:
                if page.name not in PAGES_WITHOUT_EXAMPLES:
                    failed += 1
                    print(f"{page.relative_to(ROOT)} does not have an example in {language}")
                continue
            with tempfile.TemporaryDirectory() as folder:
                problem = runner(blocks, Path(folder))
            if problem:
                failed += 1
                print(f"{page.relative_to(ROOT)}, {language}: {problem}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
