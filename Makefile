# Corestone: `make help` lists the targets, and CONTRIBUTING.md describes them.
#
# All output goes to build/, except SwiftPM's debug builds and tests in .build/. Builds with different flags have separate
# scratch folders, so that switching between them does not rebuild anything.

SHELL := /bin/bash
.SHELLFLAGS := -e -u -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Folders of an installation, which can be overridden.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
# The folder of Python packages: the first one below PREFIX in the search path of PYTHON, or else the usual one.
PYTHONDIR ?= $(shell $(PYTHON) scripts/python_folder.py $(PREFIX))
DESTDIR ?=

# The dependencies that `make deps` installs: `all`, `packaging` for those of packaging too, or `none` if they exist.
DEPS ?= all

# The duration of `make fuzz` for each reader, in seconds.
FUZZ_SECONDS ?= 600
# The duration of `make stress-processes` in each mode, in seconds.
STRESS_SECONDS ?= 60
# The number of seeds of `make stress-reentrancy`, and with AddressSanitizer.
REENTRANCY_SEEDS ?= 20000
REENTRANCY_ASAN_SEEDS ?= 2000
# With `yes`, `make abi` records changes after which programs that were built before no longer run.
BREAK ?=

ROOT := $(CURDIR)
BUILD := $(ROOT)/build
SWIFT ?= swift
PYTHON ?= python3
VENV := $(BUILD)/venv

# This header is the one place where the version stands.
version_part = $(shell sed -n 's/^.define CST_VERSION_$(1) \([0-9]*\)$$/\1/p' include/corestone/version.h)
MAJOR := $(call version_part,MAJOR)
VERSION := $(MAJOR).$(call version_part,MINOR).$(call version_part,PATCH)
# The number of the ABI that programs link against; it changes only when a program built before no longer runs.
SONAME := libcorestone.so.1
LIBRARY := libcorestone.so.$(VERSION)

# Nothing of a build may depend on the folder or the moment: two builds are equal byte for byte.
REPRODUCIBLE := -Xswiftc -file-prefix-map -Xswiftc $(ROOT)=/corestone -Xcc -ffile-prefix-map=$(ROOT)=/corestone \
    -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen -Xlinker --build-id=none --disable-local-rpath
# `-static-stdlib` reaches the linker of a dynamic product only this way; --static-swift-stdlib is for executables.
RELEASE := $(SWIFT) build --configuration release --scratch-path $(BUILD)/swift/release -Xswiftc -static-stdlib \
    $(REPRODUCIBLE)
SONAME_FLAGS := -Xlinker -soname -Xlinker $(SONAME)
MAP_FLAG = -Xlinker -Map=$(1)

# What is published: wheel, packages and archive, for this kind of machine.
DIST := $(ROOT)/dist
PORTABLE := $(BUILD)/portable
SBOM_INPUT := $(PORTABLE)/lib/libcorestone.so.1=$(BUILD)/maps/libcorestone.map $(PORTABLE)/bin/corestone=$(BUILD)/maps/corestone.map
VENV_PACKAGING := $(BUILD)/venv-packaging
# The time of files in packages and archives: that of the commit, or of the changelog where there is no repository.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat --format=%Y CHANGELOG.md)
export SOURCE_DATE_EPOCH

export CORESTONE_LIBRARY := $(BUILD)/lib/libcorestone.so
export PYTHONPATH := $(ROOT)/bindings/python
export PYTHONDONTWRITEBYTECODE := 1

C_TESTS = $(MAKE) -C Tests/c LIB=$(BUILD)/lib INCLUDE=$(BUILD)/include
TIMED = SECONDS=0; trap 'code=$$?; echo "make $@: $$([ $$code = 0 ] && echo done || echo FAILED) in $$SECONDS seconds"' EXIT

.PHONY: help deps build library accelerator tool portable pages sbom wheel sdist deb dist check-install check-reproducible generate abi demo diagrams docs-diagrams test lint format test-asan test-leaks test-tsan stress stress-processes stress-faults stress-reentrancy check-hostile check-migration check-mapping check-history check-accelerator check-mutants check-growth fuzz bench bench-large bench-memory install clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)$$/  make \1\t\2/p' Makefile | expand -t 22

deps: ## install the Debian packages and the Python tools that are missing
	@PYTHON="$(PYTHON)" SWIFT="$(SWIFT)" DEPS="$(DEPS)" scripts/deps.sh "$(VENV)" "$(VENV_PACKAGING)"

build: library tool accelerator ## build the library, the headers with their description and the tool into build/

library: deps
	$(RELEASE) --product corestone $(SONAME_FLAGS)
	@scripts/stage.sh "$$($(RELEASE) --show-bin-path)/libcorestone.so" $(BUILD)/lib/$(LIBRARY)
	@ln -sfn $(LIBRARY) $(BUILD)/lib/$(SONAME)
	@ln -sfn $(SONAME) $(BUILD)/lib/libcorestone.so
	@scripts/copy_headers.sh $(BUILD)/include

accelerator: library
	@scripts/accelerator.sh "$(VENV)/bin/python" $(BUILD)/include bindings/python/corestone/_accelerator.abi3.so

tool: library
	@mkdir -p $(BUILD)/maps
	$(RELEASE) --product corestone-cli $(call MAP_FLAG,$(BUILD)/maps/corestone.map)
	@scripts/stage.sh "$$($(RELEASE) --show-bin-path)/corestone-cli" $(BUILD)/bin/corestone

portable: build pages ## link the library once more, for C libraries from glibc 2.34 on, into build/portable
	CORESTONE_PORTABLE=1 $(RELEASE) --product corestone $(SONAME_FLAGS) $(call MAP_FLAG,$(BUILD)/maps/libcorestone.map)
	@scripts/stage.sh "$$($(RELEASE) --show-bin-path)/libcorestone.so" $(PORTABLE)/lib/$(LIBRARY)
	@ln -sfn $(LIBRARY) $(PORTABLE)/lib/$(SONAME)
	@ln -sfn $(SONAME) $(PORTABLE)/lib/libcorestone.so
	@ln -sfn ../bin ../share $(PORTABLE)/

pages: tool ## write the manual page and the completions of the tool into build/share
	@$(PYTHON) scripts/tool_pages.py $(BUILD)/bin/corestone $(BUILD)/share

sbom: portable ## write the list of what is linked in (SPDX), and its licences, into build/sbom
	@$(PYTHON) scripts/sbom.py $(BUILD)/sbom $(SBOM_INPUT)
	@$(PYTHON) scripts/sbom.py --check $(BUILD)/sbom $(SBOM_INPUT)

wheel: ## build the Python package with library and tool into dist/, and check it with auditwheel and twine
	@$(TIMED); $(MAKE) DEPS=packaging sbom; \
	    $(PYTHON) packaging/python/corestone_build.py wheel $(DIST); \
	    $(VENV_PACKAGING)/bin/python scripts/check_wheel.py $(DIST)

sdist: ## build the source distribution of the Python package into dist/
	@$(MAKE) DEPS=packaging deps; $(PYTHON) packaging/python/corestone_build.py sdist $(DIST); \
	    $(VENV_PACKAGING)/bin/twine check --strict $(DIST)/corestone-$(VERSION).tar.gz

deb: ## build the Debian packages into dist/, and check them with lintian
	@$(TIMED); $(MAKE) DEPS=packaging sbom; scripts/build_deb.sh "$(BUILD)" "$(VERSION)" "$(DIST)"

dist: ## build everything that is published: wheel, sdist, Debian packages, archive, SBOM, SHA256SUMS
	@$(TIMED); rm -rf $(DIST); $(MAKE) wheel sdist deb; scripts/build_archive.sh "$(BUILD)" "$(VERSION)" "$(DIST)"

check-install: ## install what `make dist` built on clean systems without Swift, and run programs and tests there
	@$(TIMED); $(MAKE) DEPS=packaging deps; scripts/check_clean_systems.sh "$(BUILD)" "$(VERSION)" "$(DIST)"

check-reproducible: ## build everything once more from the sdist in another folder, and compare with dist/
	@$(TIMED); scripts/check_reproducible.sh "$(BUILD)" "$(VERSION)" "$(DIST)"

generate: deps ## write corestone-api.json from the headers, and the files that are generated from it
	@$(VENV)/bin/python scripts/generate.py

abi: deps ## record additions to the interface in abi/corestone.abi; BREAK=yes records intended breaks too
	@$(VENV)/bin/python scripts/check_abi.py --write $(if $(filter yes,$(BREAK)),--break)

demo: ## import this machine's package database from C and Python, and query it
	@$(TIMED); $(MAKE) build; scripts/demo.sh $(BUILD)

diagrams: build ## draw the demo's model and three fixtures' into build/diagrams, as SVG and PNG
	@scripts/diagrams.sh $(BUILD)

docs-diagrams: deps ## draw docs/diagrams, and the targets of Package.swift, into docs/*.svg
	@$(VENV)/bin/python scripts/draw_docs.py

test: ## everything: build, lint, checks, Swift, C and Python tests, examples, budgets
	@$(TIMED); $(MAKE) build; $(VENV)/bin/python scripts/run_suites.py

lint: deps ## formatters and type checkers, as part of `make test` runs them
	@$(VENV)/bin/python scripts/run_suites.py lint

format: deps ## rewrite the sources as `make lint` wants them
	$(SWIFT) format format --in-place --parallel --recursive Package.swift Sources Tests examples/swift
	scripts/c_files.sh | xargs --no-run-if-empty $(VENV)/bin/clang-format -i
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

test-asan: deps ## the misuse suite in C against a library with AddressSanitizer
	@$(TIMED); scripts/test_asan.sh $(BUILD)

test-leaks: build ## the tests in C with LeakSanitizer, against the release library
	@$(TIMED); scripts/test_leaks.sh $(BUILD) "$$($(RELEASE) --show-bin-path)/libcorestone.so"

test-tsan: deps ## the Swift tests and the C stress program with ThreadSanitizer
	@$(TIMED); scripts/test_tsan.sh $(BUILD)

stress: build ## many threads, 200,000 random predicates and rows, 10 million steps over a graph, then the three that follow
	@$(TIMED); $(RELEASE) --product graph-steps; \
	    scripts/stress.sh $(BUILD) "$$($(RELEASE) --show-bin-path)/graph-steps"; \
	    $(C_TESTS) seeds; $(MAKE) stress-processes stress-faults stress-reentrancy

stress-processes: build ## two processes, and eight threads of Python, on one store of each kind for STRESS_SECONDS (60) each
	@$(TIMED); set -e; \
	    for mode in "--journal wal" "--journal rollback" "--history" "--type XML" "--type Binary" \
	    "--processes 1 --threads 8" "--processes 1 --threads 8 --type Binary"; do \
	    $(VENV)/bin/python Tests/stress/processes.py --seconds $(STRESS_SECONDS) $$mode; done

stress-faults: build ## a save with each of its calls failing in every way, 1,000 processes killed, half of them in checkpoints, 40,000 damaged files
	@$(TIMED); set -e; for program in faults.py kills.py "kills.py --type SQLite --checkpoint" damage.py; do \
	    $(VENV)/bin/python Tests/faults/$$program; done

check-hostile: build ## run every command of the tool on 100 malicious files, each within 256 MB and 10 s
	@$(TIMED); $(VENV)/bin/python Tests/faults/hostile.py

check-migration: build ## migrations compared with an independent oracle, value by value, then failed, killed, cancelled and raced
	@$(TIMED); set -e; for pairs in "" "--random 300"; do $(VENV)/bin/python Tests/migration/pairs.py $$pairs; done; \
	    $(VENV)/bin/python Tests/faults/migrations.py

check-mapping: build ## mapping models executed, and compared with an interpreter of their XML; chains of five versions failed, killed and cancelled; then their memory and speed at 1,000,000 rows
	@$(TIMED); set -e; for models in "" "--inferred 160"; do $(VENV)/bin/python Tests/migration/mapping_models.py $$models; done; \
	    $(VENV)/bin/python Tests/faults/chains.py --share 0.05; \
	    $(VENV)/bin/python bench/mapping.py --gate

check-history: build ## histories: writers, consumers and a purger for 60 s; 100,000 changes replayed; the past at 200 tokens
	@$(TIMED); export CORESTONE_LIBRARY=$(BUILD)/lib/libcorestone.so PYTHONPATH=bindings/python; \
	    $(VENV)/bin/python Tests/history/stress.py && $(VENV)/bin/python Tests/history/replay.py && \
	    $(VENV)/bin/python Tests/history/past.py && \
	    $(VENV)/bin/python bench/history.py --gate

check-accelerator: build ## the accelerator with AddressSanitizer; a million random operations in Python with and without it; then the Python tests without it
	@$(TIMED); scripts/test_accelerator_asan.sh $(BUILD) && \
	    $(VENV)/bin/python bench/budgets.py && $(VENV)/bin/python Tests/accelerator/accelerator_fuzz.py --operations 1000000 --rounds 250 && \
	    CORESTONE_ACCELERATOR=0 $(VENV)/bin/python -m pytest -n 2 --dist loadfile -p no:cacheprovider bindings/python/tests

check-mutants: deps ## wrong changes of Tests/mutants, one at a time: which tests notice them (MUTANTS)
	@$(TIMED); $(VENV)/bin/python Tests/mutants/run.py $(MUTANTS)

stress-reentrancy: build ## random calls from within callbacks: 20,000 seeds (REENTRANCY_SEEDS), 2,000 with AddressSanitizer
	@$(TIMED); scripts/stress_reentrancy.sh $(BUILD) $(REENTRANCY_SEEDS) $(REENTRANCY_ASAN_SEEDS)

fuzz: deps ## libFuzzer on each reader of foreign files, FUZZ_SECONDS (600) each
	@$(TIMED); $(VENV)/bin/python scripts/fuzz.py --seconds $(FUZZ_SECONDS)

check-growth: build ## every operation of a context at 1,000 to 1,000,000 objects: none may grow faster than n log n
	@$(TIMED); $(VENV)/bin/python bench/growth.py --results bench/results/growth-latest.json

bench: build ## the workloads of bench/, beside raw C on SQLite and the Python peers; writes docs/PERFORMANCE.md
	@$(TIMED); $(VENV)/bin/python bench/run.py; \
	    $(VENV)/bin/python bench/document.py --run bench/results/latest.json --calls bench/results/calls-latest.json

bench-large: build ## operations on a store of ten million rows, beside raw C on SQLite: time and peak memory
	@$(TIMED); $(VENV)/bin/python bench/large.py

bench-memory: build ## the bytes of an inserted, fetched and faulted object, by owner
	@$(TIMED); $(VENV)/bin/python bench/owners.py --results bench/results/owners-latest.json

install: build pages ## install library, headers, tool with its pages, Python package, pkg-config and CMake files (PREFIX, DESTDIR)
	@scripts/install.sh "$(BUILD)" "$(VERSION)" "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)" "$(INCLUDEDIR)" "$(BINDIR)" \
	    "$(PYTHONDIR)"

clean: ## remove what was built, the Python tools too
	rm -rf build dist .build examples/swift/.build bindings/python/corestone/_accelerator.abi3.so \
	    bindings/python/corestone/_accelerator.abi3.so.command
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
