"""Finding the library, and the errors if it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Run

import corestone
from corestone import LibraryNotFoundError
from corestone._abi import library as loading


def test_library_and_package_versions_match() -> None:
    assert corestone.library_version().startswith("0.1")
    assert corestone.__version__ == "0.1.0"


def test_environment_variable_with_a_missing_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORESTONE_LIBRARY", "/nowhere/libcorestone.so")
    with pytest.raises(LibraryNotFoundError, match=r"CORESTONE_LIBRARY is /nowhere/libcorestone\.so.*unset it"):
        loading.find_library()


def test_environment_variable_with_an_unreadable_path_reports_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CORESTONE_LIBRARY", str(tmp_path / "file" / "libcorestone.so"))
    with pytest.raises(LibraryNotFoundError, match=r"which cannot be read: Not a directory; set it to"):
        loading.find_library()


def test_environment_variable_may_name_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CORESTONE_LIBRARY", str(tmp_path))
    with pytest.raises(LibraryNotFoundError, match="does not exist or cannot be read"):
        loading.find_library()
    library = tmp_path / loading._file_names()[0]
    library.touch()
    assert loading.find_library() == str(library)


def test_locations_are_searched_in_order() -> None:
    places = [Path(place) for place in loading.candidates()]
    package = Path(corestone.__file__).resolve().parent
    assert places[0].parent == package
    is_source_tree = (package.parents[2] / "include/corestone.h").exists()
    in_build = [place for place in places if place.parent.name == "lib" and place.parent.parent.name == "build"]
    assert bool(in_build) == is_source_tree


def test_missing_library_error_suggests_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORESTONE_LIBRARY", raising=False)
    monkeypatch.setattr(loading, "candidates", lambda: iter(["/nowhere/libcorestone.so"]))
    monkeypatch.setattr(loading, "_is_known_to_the_system", lambda name: False)
    for trees, commands in (([Path("/nowhere")], "`make build` or `make install`"), ([], "`make install`")):
        monkeypatch.setattr(loading, "_source_trees", lambda trees=trees: trees)
        with pytest.raises(LibraryNotFoundError, match=rf"/nowhere/.*Run {commands} in .*CORESTONE_LIBRARY"):
            loading.find_library()


def test_system_library_is_found_by_its_soname(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORESTONE_LIBRARY", raising=False)
    monkeypatch.setattr(loading, "candidates", lambda: iter([]))
    monkeypatch.setattr(loading, "_is_known_to_the_system", lambda name: name == "libcorestone.so.1")
    assert loading.find_library() == "libcorestone.so.1"


def test_dynamic_linker_lookup_finds_system_libraries() -> None:
    assert loading._is_known_to_the_system("libc.so.6")
    assert not loading._is_known_to_the_system("libnowhere.so.1")


def test_first_use_fails_when_the_library_cannot_be_loaded(run_python: Run, tmp_path: Path) -> None:
    broken = tmp_path / "libcorestone.so"
    broken.write_text("not a library", encoding="utf-8")
    program = (
        f"import os; os.environ['CORESTONE_LIBRARY'] = {str(broken)!r}\n"
        "import corestone; print(corestone.__version__)\n"
        "corestone.Container"
    )
    done = run_python(program)
    assert (done.returncode, done.stdout) == (1, "0.1.0\n")
    assert "cannot load the Corestone library" in done.stderr
    assert str(broken) in done.stderr
