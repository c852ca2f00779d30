# The tasks of a contributor. `just` lists them; each is a command that works without just, too.

_list:
    @just --list --unsorted

# a virtual environment with all that development needs
setup:
    python3 -m venv .venv
    .ci/install .venv/bin/python dev
    .venv/bin/pip install --quiet --no-deps --no-build-isolation --editable .

# all that a change must pass
ci:
    .ci/run

# the linter and the type checker
lint:
    .ci/run lint_and_types

# the tests, or some of them: just test tests/test_rules.py -k wildcard
test *ARGS:
    pytest -n auto --dist worksteal {{ARGS}}

# a new rule, with examples that the laws hold
rule NAME:
    python tools/new_rule.py {{NAME}}

# the pages and indexes that are made from rules and commands
pages:
    python tools/make_rule_pages.py
    python tools/make_command_pages.py
    python tools/make_module_page.py
    python tools/make_api.py

# the site, at a local address
docs:
    mkdocs serve

# slips put into the lines that differ from a revision: which of them does no test notice?
mutate REVISION="origin/main":
    python tools/mutate.py --against {{REVISION}}

# how fast it is beside other tools
bench *ARGS:
    python benchmarks/run.py {{ARGS}}

# the locked packages, after a change of dependencies
lock:
    python tools/lock.py
