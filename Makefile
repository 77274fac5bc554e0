# A thin front: scripts/setup installs what is missing, CMakePresets.json says how to build.
# `make help` lists the targets.

JOBS         ?= $(shell nproc)
# Many tests wait more than they work.
TEST_JOBS    ?= $(shell expr 2 \* $(JOBS))
PREFIX       ?= /usr/local
DESTDIR      ?=
FUZZ_SECONDS ?= 60
ARGS         ?=
RELEASE      ?=

# Each target is a sequence of its own and uses every core itself; an outer -j would only mix the output.
.NOTPARALLEL:

# cmake starts makes of its own, which must not take this one for their parent (job server, options).
alone = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL
build = $(alone) cmake --preset $(1) --log-level=WARNING && \
	$(alone) cmake --build --preset $(1) --parallel $(JOBS)

.PHONY: all test run example conformance bench install check analyze format asan tsan coverage fuzz valgrind tidy windows test-windows \
	fresh-check clean help

## all (the default): build/release/toolwire
all:
	scripts/setup build
	$(call build,release)

## test: every test, in a debug build where warnings are errors
test:
	scripts/setup build test
	$(call build,dev)
	scripts/run-tests dev $(TEST_JOBS)

## run: the hub, on http://127.0.0.1:7410 unless ARGS or a toolwire.json says otherwise; prints how agents are told of it
run: all
	@build/release/toolwire up $(ARGS)

## example: two commands as MCP tools, used as an agent would
example: all
	examples/tools/run.sh build/release/toolwire

## conformance: the official MCP conformance suites against our server and client, with exact counts
conformance:
	scripts/setup build test
	$(call build,dev) --target conformance_server conformance_client toolwire
	scripts/run-conformance build/dev/tests/conformance/conformance_server build/dev/tests/conformance/conformance_client \
	    build/dev/toolwire

## bench: the benchmarks, one after another, beside other libraries
bench:
	scripts/setup build bench
	$(call build,bench)
	scripts/run-bench

## install: program, library and manual, under $DESTDIR$PREFIX
install: all
	DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

## check: format, layers and source rules
check:
	scripts/setup check
	scripts/check-format
	scripts/check-layers
	scripts/check-source

## analyze: our own code by our own analyser; fails if a function is over our limits (`make test` does the same)
analyze: all
	scripts/check-complexity build/release/toolwire

## format: rewrites C files as .clang-format says
format:
	scripts/setup check
	scripts/check-format --fix

## asan, tsan: the tests that run our code, with the address, undefined and leak sanitizers; those with threads, with the thread sanitizer
asan tsan:
	scripts/setup build test
	$(call build,$@)
	scripts/run-tests $@ $(TEST_JOBS)

## coverage: lines executed by the tests, per layer
coverage:
	scripts/setup coverage
	$(call build,coverage)
	find build/coverage -name '*.gcda' -delete
	scripts/run-tests coverage $(TEST_JOBS)
	scripts/coverage

## fuzz: every fuzz target for FUZZ_SECONDS (60)
fuzz:
	scripts/setup fuzz
	$(call build,fuzz)
	scripts/fuzz $(FUZZ_SECONDS)

## valgrind: the unit tests under memcheck
valgrind:
	scripts/setup valgrind
	$(call build,valgrind)
	scripts/run-valgrind $(JOBS)

## tidy: clang-tidy on every file, as .clang-tidy says
tidy:
	scripts/setup tidy
	$(call build,tidy)

## windows: build/windows/toolwire.exe, by mingw-w64
windows:
	scripts/setup windows
	scripts/windows-deps
	$(call build,windows)

## test-windows: its tests, under Wine
test-windows: windows
	tests/windows/run.sh build/windows

## fresh-check: `make test` and `make run` on a new minimal Debian 12, then on a Debian 13; RELEASE=bookworm or trixie: on that (root)
fresh-check:
	scripts/setup fresh
	scripts/fresh-check $(RELEASE)

## clean: removes build/
clean:
	rm -rf build

## help: this list
help:
	@sed -n 's/^## /  make /p' Makefile
