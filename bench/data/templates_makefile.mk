# {{project_name}}: {{description}}
# The targets are listed by `make help`.

CARGO   ?= cargo
BIN     := {{snake_case project_name}}
PREFIX  ?= /usr/local
VERSION := {{version}}
{{#if features}}
FLAGS   := --features {{join features ","}}
{{else}}
FLAGS   :=
{{/if}}

.DEFAULT_GOAL := all
.PHONY: all check format lint build build-release run clean install uninstall help{{#if has_tests}} test{{/if}}{{#if has_benchmarks}} bench{{/if}}

## all: format, lint{{#if has_tests}}, test{{/if}} and build
all: format lint{{#if has_tests}} test{{/if}} build

## check: compiles without linking
check:
	$(CARGO) check --all-targets $(FLAGS)

## format: rewrites the sources
format:
	$(CARGO) fmt --all

## format-check: fails where the sources are not formatted
format-check:
	$(CARGO) fmt --all -- --check

## lint: warnings are errors
lint:
	$(CARGO) clippy --all-targets $(FLAGS) -- -D warnings

{{#if has_tests}}
## test: unit and integration tests of {{project_name}}
test:
	$(CARGO) test $(FLAGS)

## coverage: as HTML, in target/coverage
coverage:
	$(CARGO) llvm-cov --html --output-dir target/coverage $(FLAGS)

{{/if}}
{{#if has_benchmarks}}
## bench: the benchmarks
bench:
	$(CARGO) bench $(FLAGS)

{{/if}}
## build: target/debug/$(BIN)
build:
	$(CARGO) build $(FLAGS)

## build-release: target/release/$(BIN)
build-release:
	$(CARGO) build --release $(FLAGS)

## run: with ARGS="..."
run:
	$(CARGO) run $(FLAGS) -- $(ARGS)

## docs: the documentation of {{project_name}} {{version}}
docs:
	$(CARGO) doc --no-deps --open

## install: to $(PREFIX)/bin
install: build-release
	install -D -m 755 target/release/$(BIN) $(DESTDIR)$(PREFIX)/bin/$(BIN)

## uninstall: removes it from there
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/$(BIN)

## clean: removes target/
clean:
	$(CARGO) clean
	rm -f {{snake_case project_name}}-{{version}}.tar.gz

## dist: the sources as an archive
dist:
	git archive --prefix={{project_name}}-{{version}}/ -o {{project_name}}-{{version}}.tar.gz HEAD

{{#each features}}
## build-{{this}}: only the feature {{this}}
build-{{this}}:
	$(CARGO) build --no-default-features --features {{this}}

{{/each}}
## help: this list
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)
