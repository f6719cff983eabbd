"""The wheel, the source distribution and the SPDX document, from what `make build` left; without building anything.

`make check-install` installs what `make dist` made on clean systems.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "packaging/python"), str(ROOT / "scripts"), str(ROOT / "bindings/python")]

import corestone_build  # noqa: E402
import sbom  # noqa: E402
from corestone._abi import sqlite  # noqa: E402

VERSION = corestone_build.version()


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build folder with the products of this tree, in the places of `make sbom`."""
    folder = tmp_path / "build"
    (folder / "portable/lib").mkdir(parents=True)
    shutil.copy(ROOT / "build/lib/libcorestone.so.1", folder / "portable/lib/libcorestone.so.1")
    (folder / "portable/bin").symlink_to(ROOT / "build/bin")
    (folder / "share/man/man1").mkdir(parents=True)
    (folder / "share/man/man1/corestone.1.gz").write_bytes(b"page")
    (folder / "sbom").mkdir()
    (folder / "sbom/corestone.spdx.json").write_text("{}", encoding="utf-8")
    (folder / "sbom/THIRD-PARTY-NOTICES.txt").write_text("notices", encoding="utf-8")
    monkeypatch.setattr(corestone_build, "BUILD", folder)
    monkeypatch.setattr(corestone_build, "PORTABLE", folder / "portable")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764345600")
    return folder


@pytest.mark.parametrize("accelerated", [False, True])
def test_wheel_has_library_tool_headers_and_types(build: Path, tmp_path: Path, accelerated: bool) -> None:
    if accelerated and not corestone_build.ACCELERATOR.exists():
        pytest.skip("the accelerator is not built")
    name = corestone_build.write_wheel(tmp_path / "dist", accelerated)
    tag = "cp39-abi3" if accelerated else "py3-none"
    assert re.fullmatch(rf"corestone-{re.escape(VERSION)}-{tag}-manylinux_2_\d+_\w+\.whl", name)
    with zipfile.ZipFile(tmp_path / "dist" / name) as wheel:
        names = set(wheel.namelist())
        assert ("corestone/_accelerator.abi3.so" in names) == accelerated
        info = f"corestone-{VERSION}.dist-info"
        assert {
            "_corestone_command.py",
            "corestone/__init__.py",
            "corestone/__main__.py",
            "corestone/_abi/generated.py",
            "corestone/graph/context.py",
            "corestone/bin/corestone",
            "corestone/include/corestone-api.json",
            "corestone/include/corestone.h",
            "corestone/include/corestone/model.h",
            "corestone/libcorestone.so.1",
            "corestone/py.typed",
            f"{info}/licenses/THIRD-PARTY-NOTICES.txt",
            f"{info}/sboms/corestone.spdx.json",
        } <= names
        assert not [each for each in names if "sqlite3" in Path(each).name and ".so" in each]
        assert wheel.getinfo("corestone/bin/corestone").external_attr >> 16 == 0o100755
        assert b"corestone = _corestone_command:main" in wheel.read(f"{info}/entry_points.txt")
        assert f"Tag: {name[len('corestone-') + len(VERSION) + 1 : -4]}".encode() in wheel.read(f"{info}/WHEEL")
        listed = {row[0]: row for row in csv.reader(wheel.read(f"{info}/RECORD").decode().splitlines())}
        assert set(listed) == names
        for each in names - {f"{info}/RECORD"}:
            digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(each)).digest()).rstrip(b"=").decode()
            assert listed[each][1:] == [f"sha256={digest}", str(len(wheel.read(each)))]


def test_wheel_and_sdist_are_reproducible(build: Path, tmp_path: Path) -> None:
    for write in (corestone_build.write_wheel, corestone_build.write_sdist):
        first, second = tmp_path / "first", tmp_path / "second"
        name = write(first)
        assert write(second) == name
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_sdist_contains_every_file_of_a_build(build: Path, tmp_path: Path) -> None:
    name = corestone_build.write_sdist(tmp_path)
    top = name.removesuffix(".tar.gz")
    with tarfile.open(tmp_path / name) as archive:
        names = {each.removeprefix(f"{top}/") for each in archive.getnames()}
        owners = {(each.uid, each.gid, each.uname, each.mtime) for each in archive.getmembers()}
    assert {"Package.swift", "PKG-INFO", "pyproject.toml", "Makefile", "include/module.modulemap", "LICENSE"} <= names
    assert "Sources/CorestoneABI/corestone.ld" in names
    assert owners == {(0, 0, "", 1764345600)}
    assert not [each for each in names if re.search(r"__pycache__|_cache/|\.pyc$|^build/|^dist/", each)]
    folders = re.findall(r'tests\("\w+", "([\w-]+)"', (ROOT / "Package.swift").read_text(encoding="utf-8"))
    assert len(folders) > 10
    assert [
        f"Tests/swift/{folder}/Empty.swift" for folder in folders if f"Tests/swift/{folder}/Empty.swift" not in names
    ] == []


def test_backend_matches_pyproject() -> None:
    system = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert (ROOT / system["backend-path"][0] / f"{system['build-backend']}.py").samefile(corestone_build.__file__)


def test_required_glibc_is_that_of_the_newest_symbol(tmp_path: Path) -> None:
    source, program = tmp_path / "old.c", tmp_path / "old.so"
    source.write_text("#include <stdlib.h>\nvoid *f(void) { return malloc(1); }\n", encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(program)], check=True)
    assert corestone_build.needed_glibc(program) == (2, 2)
    assert corestone_build.needed_glibc(ROOT / "build/bin/corestone") <= (2, 34)


def test_library_needs_at_most_glibc_2_34() -> None:
    # Packed relocations are all that `make portable` leaves out.
    for library in ("lib/libcorestone.so.1", "bin/corestone"):
        listing = subprocess.run(
            ["objdump", "--dynamic-syms", str(ROOT / "build" / library)], check=True, capture_output=True, text=True
        ).stdout
        versions = {int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", listing)}
        assert max(versions) <= 34


SHIMS = r"""
#include "compatibility.c"
#include <stdio.h>
#include <string.h>

static int same(float x, float y) {
    const float got = hypotf(x, y);
    const double exact = hypot(x, y);
    if (isnan(exact)) return isnan(got);
    if (isinf((float)exact)) return isinf(got) && got > 0;
    return fabs(got - exact) <= exact * 1.2e-7 + 1e-45;
}

int main(void) {
    const float values[] = {0, -0.0f, 1, -3, 4, 1e-45f, 1e-38f, 3e38f, -3.4e38f, 1e19f, INFINITY, -INFINITY, NAN};
    enum { COUNT = sizeof values / sizeof *values };
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++)
            if (!same(values[i], values[j])) return printf("hypotf(%a, %a)\n", values[i], values[j]), 1;
    static unsigned char first[70000], second[70000];
    arc4random_buf(first, 0);
    arc4random_buf(first, sizeof first);
    arc4random_buf(second, sizeof second);
    if (!memcmp(first, second, sizeof first)) return puts("arc4random_buf"), 1;
    int counts[256] = {0};
    for (size_t i = 0; i < sizeof first; i++) counts[first[i]]++;
    for (int i = 0; i < 256; i++)
        if (counts[i] < 100) return puts("arc4random_buf"), 1;
    return 0;
}
"""


def test_shims_behave_like_the_c_library(tmp_path: Path) -> None:
    source, program = tmp_path / "shims.c", tmp_path / "shims"
    source.write_text(SHIMS, encoding="utf-8")
    include = ROOT / "Sources/CPlatform"
    subprocess.run(
        [
            "cc",
            "-std=c11",
            "-D_GNU_SOURCE",
            "-O1",
            "-Wall",
            "-Werror",
            f"-I{include}",
            str(source),
            "-o",
            str(program),
            "-lm",
        ],
        check=True,
    )
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_debian_packages_need_the_same_sqlite_as_the_python_package() -> None:
    control = (ROOT / "packaging/debian/control").read_text(encoding="utf-8")
    assert set(re.findall(r"libsqlite3-0 \(>= ([\d.]+)\)", control)) == {".".join(map(str, sqlite.MINIMUM[:2]))}


@pytest.mark.parametrize("package", ["libcorestone1", "corestone"])
def test_debian_packages_have_the_notices_of_linked_libraries(package: str) -> None:
    files = (ROOT / f"packaging/debian/{package}.docs").read_text(encoding="utf-8").split()
    assert {"debian/THIRD-PARTY-NOTICES.txt", "debian/corestone.spdx.json"} <= set(files)


def test_cflags_and_libs_options_build_a_c_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "corestone", "--cflags", "--libs"],
        env={"PYTHONPATH": str(ROOT / "bindings/python"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    program = tmp_path / "ten_lines"
    source = str(ROOT / "examples/c/ten_lines.c")
    subprocess.run(["cc", source, "-o", str(program), *shlex.split(done.stdout)], check=True)
    assert subprocess.run([str(program)], cwd=tmp_path, capture_output=True, check=True).stdout == b"Grace 85\n"


LLD_MAP = """\
             VMA              LMA     Size Align Out     In      Symbol
             238              238     5670     8 .dynsym
          111cb0           111cb0      100    16         /lib/x86_64-linux-gnu/libz.a(inflate.o):(.text)
          111db0           111db0      100    16         {root}/build/release/A.build/a.swift.o:(.text)
          111eb0           111eb0       10     4         /usr/lib/gcc/x86_64-linux-gnu/12/crtbeginS.o:(.data)
"""
GNU_MAP = """\
Archive member included because of file (symbol)

/lib/x86_64-linux-gnu/libm-2.36.a(e_pow.o)
Linker script and memory map

LOAD /lib/x86_64-linux-gnu/libexpat.a
 .text          0x0000000000001000      0x100 {root}/build/release/main.swift.o
 .text          0x0000000000001100      0x100 /lib/x86_64-linux-gnu/libz.a(inflate.o)
                0x0000000000001100                inflate
"""


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (LLD_MAP, {"/lib/x86_64-linux-gnu/libz.a", "/usr/lib/gcc/x86_64-linux-gnu/12/crtbeginS.o"}),
        (GNU_MAP, {"/lib/x86_64-linux-gnu/libz.a"}),
    ],
)
def test_linker_map_names_the_linked_files(tmp_path: Path, text: str, files: set[str]) -> None:
    linker_map = tmp_path / "a.map"
    linker_map.write_text(text.format(root=ROOT), encoding="utf-8")
    assert sbom.linked_files(linker_map) == files


def test_spdx_document_is_compared_with_the_linker_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    binary, linker_map = tmp_path / "libcorestone.so.1", tmp_path / "a.map"
    shutil.copy(ROOT / "build/lib/libcorestone.so.1", binary)
    linker_map.write_text(LLD_MAP.format(root=ROOT), encoding="utf-8")
    words = [str(tmp_path), f"{binary}={linker_map}"]
    sbom.main(words)
    document = json.loads((tmp_path / "corestone.spdx.json").read_text(encoding="utf-8"))
    found = {each["name"]: each["licenseDeclared"] for each in document["packages"]}
    assert found["corestone"] == "MIT"
    assert found["zlib1g-dev"] == "Zlib"
    assert "libsqlite3-0" in found
    assert "zlib1g-dev" in (tmp_path / "THIRD-PARTY-NOTICES.txt").read_text(encoding="utf-8")
    sbom.main(["--check", *words])
    more = "          112000           112000      100    16         /lib/x86_64-linux-gnu/libexpat.a(x.o):(.text)\n"
    with linker_map.open("a", encoding="utf-8") as file:
        file.write(more)
    with pytest.raises(SystemExit):
        sbom.main(["--check", *words])
    assert "libexpat.a is in the map of libcorestone.so.1, not in the document" in capsys.readouterr().err


def test_unknown_licence_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sbom.license_of("libnowhere-dev")
    assert "the licence of libnowhere-dev is not known" in capsys.readouterr().err
    assert sbom.license_of("libgcc-12-dev").startswith("GPL-3.0-or-later WITH")


def test_every_linked_library_is_documented() -> None:
    page = (ROOT / "docs/THIRD-PARTY.md").read_text(encoding="utf-8")
    maps = (ROOT / "Sources").glob("C*/module.modulemap")
    for name in {each for path in maps for each in re.findall(r'link ":(lib[\w.-]+\.a)"', path.read_text("utf-8"))}:
        assert f"`{name}`" in page
