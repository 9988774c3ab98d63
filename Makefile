# make demo     the whole story on a fresh machine
# make grind    an agent that learns from 80 tasks, in a brain of its own: ARGS="FOLDER --report grind.html"
# make test     what the tests need, then pytest, and beside it the linters: before each commit
# make campaigns  what takes minutes: kills, power cuts, fuzzing, escapes: SEED=7 BUDGET=900 (seconds)
# make lint     ruff, mypy, import-linter, and the rules of tests/house_rules.py
# make lock     the versions that all of these install, raised to the newest allowed
# make mutation  which changes of the code no test notices: GROUP=verify SEED=7 COUNT=20; see tests/README.md
# make bench    side by side with git and b3sum: SIZES="100 10000" REPEATS=5 LAYOUTS="directory" ROWS="…"
# make docs     the reference of commands, and of the JSON that they print, in build/docs

PYTHON  ?= python3
VENV    ?= .venv
BIN     := $(VENV)/bin
SIZES   ?= 100 10000 100000
LAYOUTS ?= directory flat category
REPEATS ?= 5
ROWS    ?=
WORK    ?= .bench
OUT     ?= docs/performance.md
SEED    ?=
BUDGET  ?= 900
GROUP   ?=
COUNT   ?=
ARGS    ?=
# One more than processors: tests that wait for a process or a timeout leave one idle.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) + 1)

PIP     := -m pip --disable-pip-version-check --quiet
# What is installed stands in the lock, each file with its hash; the project goes on top of it.
LOCKED  := $(PIP) install --require-hashes --no-deps
EDITABLE := $(PIP) install --no-deps --no-build-isolation --editable .
COMPILE := $(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command "make lock" pyproject.toml -
APT     := DEBIAN_FRONTEND=noninteractive apt-get --quiet --quiet

LINTERS := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && \
	$(BIN)/lint-imports --no-logo && $(BIN)/python -m tests.house_rules

.PHONY: demo grind test campaigns lint lock mutation bench docs clean
.DELETE_ON_ERROR:
# Packages of Python and of npm are installed at the same time.
MAKEFLAGS += --jobs=2

demo: $(VENV)/installed
	@$(BIN)/brain demo

grind: $(VENV)/installed $(VENV)/sandbox
	@BRAIN=$(BIN)/brain examples/grind/run $(ARGS)

# The same each time: each file in its order on one process, hashes of text without chance.
# The linters run beside the tests; what they say is printed at once when they end. Tests whose
# assertions are rewritten are kept as bytecode, which halves the time that reading them takes.
test: $(VENV)/tools $(VENV)/test
	@unset PYTHONDONTWRITEBYTECODE; \
	( said=$$({ $(LINTERS); } 2>&1); status=$$?; echo "$$said"; exit $$status ) & linters=$$!; \
	PYTHONHASHSEED=0 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile \
		--no-loadscope-reorder $(ARGS); status=$$?; \
	wait $$linters || { echo "The linters found faults, printed above." >&2; exit 1; }; \
	exit $$status

campaigns: $(VENV)/tools $(VENV)/test
	@unset PYTHONDONTWRITEBYTECODE; $(BIN)/python -m tests.campaigns \
		$(if $(SEED),--seed $(SEED)) --budget $(BUDGET) --workers $(WORKERS) $(ARGS)

mutation: $(VENV)/tools $(VENV)/test
	@$(BIN)/python $(LOCKED) -r requirements/mutation.txt
	@$(BIN)/python -m tests.mutation $(if $(GROUP),--group $(GROUP)) $(if $(SEED),--seed $(SEED)) \
		$(if $(COUNT),--count $(COUNT)) $(ARGS)

lint: $(VENV)/test
	@$(LINTERS)

# Measured as a user has it: a plain install, no editable finder at start-up.
bench: $(VENV)-bench/bin/python
	@rm -rf build
	@$< $(LOCKED) -r requirements/base.txt -r requirements/bench.txt
	@$< $(PIP) install --force-reinstall --no-deps --no-build-isolation .
	@$< -m tests.bench --sizes $(SIZES) --layouts $(LAYOUTS) --repeats $(REPEATS) \
		--work $(WORK) --out $(OUT) $(if $(ROWS),--rows $(ROWS)) $(ARGS)

docs: $(VENV)/installed
	@$(BIN)/python -m tests.reference build/docs

# Users of the wheel have the ranges of pyproject.toml; these are the versions that pass the tests.
# A file holds what those before it lack on some machine. None names a registry: each machine asks
# its own.
lock: $(VENV)-lock/bin/python
	@$< $(PIP) install uv
	@cd $(VENV)-lock && bin/python -c "$$BUILD" <$(CURDIR)/pyproject.toml >build.in
	@$(COMPILE) --upgrade --extra test --extra bench --extra mutation \
		--output-file $(VENV)-lock/all.txt <$(VENV)-lock/build.in
	@: >$(VENV)-lock/had; for name in base test bench mutation; do \
		$(COMPILE) --constraint $(VENV)-lock/all.txt $$(test $$name = base || echo --extra $$name) \
			$$(cat $(VENV)-lock/had) --output-file requirements/$$name.txt \
			<$(VENV)-lock/build.in || exit 1; \
		test $$name = bench || sed -n 's/^\([^ =#]*\)==[^;]*$$/--no-emit-package \1/p' \
			requirements/$$name.txt >>$(VENV)-lock/had; \
	done
	@cd tests/npm && npm update --package-lock-only --omit-lockfile-registry-resolved \
		--silent --no-audit --no-fund

define BUILD
import sys, tomllib
print(*tomllib.load(sys.stdin.buffer)["build-system"]["requires"], sep="\n")
endef
export BUILD

clean:
	rm -rf $(VENV) $(VENV)-bench $(VENV)-lock build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache

$(VENV)/installed: pyproject.toml requirements/base.txt | $(BIN)/python
	@$(BIN)/python $(LOCKED) -r requirements/base.txt
	@$(BIN)/python $(EDITABLE)
	@touch $@

# Of what the tests need, most modules are never imported: those that are get their bytecode then.
$(VENV)/test: pyproject.toml requirements/base.txt requirements/test.txt | $(BIN)/python
	@$(BIN)/python $(LOCKED) --no-compile -r requirements/base.txt -r requirements/test.txt
	@$(BIN)/python $(EDITABLE)
	@$(BIN)/python $(PIP) check
	@touch $(VENV)/installed $@

# The tests drive these programs: fault injection, the oracle for merges, the oracle for hashes,
# what runs the compiler of contracts, what the sandbox of skills is made of, and the servers that
# agents share experience by; the tests start their own on sockets in temporary folders.
$(VENV)/tools: $(VENV)/node | $(BIN)/python
	@touch $@

# The compiler of contracts, a node of Ethereum to run them on, the inspector of the protocol that
# agents are served by, and what the implementation of the format in JavaScript needs: versions
# that node 18 runs. Nothing of it is for users.
$(VENV)/node: tests/npm/package.json tests/npm/package-lock.json | $(VENV)/programs
	@mkdir -p $@ && cp $^ $@
	@npm ci --prefix $@ --silent --no-audit --no-fund || { rm -rf $@; \
		echo "The tests need packages of npm that could not be installed: is there a network?" >&2; \
		exit 1; }
	@touch $@

# What stands in $$missing is installed where that can be done, else named.
define INSTALL_MISSING
if [ -n "$$missing" ]; then \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing$$missing"; \
		$(APT) update && $(APT) install --yes $$missing >/dev/null; \
	else \
		echo "This needs$$missing: install them, on Debian with" \
			"'sudo apt-get install$$missing'." >&2; exit 1; \
	fi; \
fi
endef

# What the sandbox of skills and tasks is made of.
$(VENV)/sandbox: | $(BIN)/python
	@missing=; if [ "$$(uname)" = Linux ]; then \
		command -v bwrap >/dev/null || missing="$$missing bubblewrap"; \
		command -v setpriv >/dev/null && command -v prlimit >/dev/null || \
			missing="$$missing util-linux"; \
		$(BIN)/python -c 'import ctypes.util as u, sys; sys.exit(not u.find_library("seccomp"))' || \
			missing="$$missing libseccomp2"; \
	fi; \
	$(INSTALL_MISSING)
	@touch $@

$(VENV)/programs: $(VENV)/sandbox | $(BIN)/python
	@missing=; for tool in strace git b3sum; do \
		command -v $$tool >/dev/null || missing="$$missing $$tool"; \
	done; \
	command -v node >/dev/null || missing="$$missing nodejs"; \
	command -v npm >/dev/null || missing="$$missing npm"; \
	if [ "$$(uname)" = Linux ]; then \
		command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
			missing="$$missing postgresql"; \
	fi; \
	$(INSTALL_MISSING)
	@touch $@

%/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is missing or older than 3.11: name another with PYTHON=…" >&2; exit 1; }
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing python3-venv"; \
			$(APT) update && $(APT) install --yes python3-venv >/dev/null; \
		else \
			echo "$(PYTHON) cannot make virtual environments (no ensurepip):" \
				"install it, on Debian with 'sudo apt-get install python3-venv'." >&2; exit 1; \
		fi; \
	fi
	@$(PYTHON) -m venv $*
