#!/usr/bin/env bash
# What the Action does, in one script: make the results of the base and of the change, compare them,
# and leave a comment, JUnit XML and an exit code (0 kept, 3 a budget is broken, else not compared).
# Settings come as INPUT_* from the environment, never as text of a command, but for INPUT_COMMAND.
set -euo pipefail

work="$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/novarag.XXXXXX")"
tree="$work/base"
tidy() {
  git worktree remove --force "$tree" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap tidy EXIT

fail() { # LINE
  printf 'novarag compare: %s\n' "$1" >&2
  exit 2
}
lines() { # TEXT: its lines, without empty ones and spaces around them
  printf '%s\n' "$1" | sed -e 's/\r$//' -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d'
}

cd "$(git rev-parse --show-toplevel)"
base="${INPUT_BASE:-HEAD^}"
out="${INPUT_OUT:-novarag-compare}"

# A clone of one commit does not have the base.
commit_of() { git rev-parse --verify --quiet --end-of-options "$1^{commit}"; }
commit="$(commit_of "$base" || true)"
if [ -z "$commit" ]; then
  git fetch --quiet --no-tags --depth=1 -- origin "$base" || fail "there is no commit '$base'"
  commit="$(commit_of FETCH_HEAD)" || fail "there is no commit '$base'"
fi

results=()
while IFS= read -r line; do
  case "/$line/" in
    //*/ | */../*) fail "'$line' is no path from the root of the repository" ;;
  esac
  results+=("./$line")
done < <(lines "${INPUT_RESULTS:-}")
[ ${#results[@]} -gt 0 ] || fail "no results are named"

words=()
while IFS= read -r line; do words+=(--budget "$line"); done < <(lines "${INPUT_BUDGETS:-}")
while IFS= read -r line; do # a flag, and what is left of the line as its value
  words+=("${line%%[[:space:]]*}")
  [ "$line" = "${line%%[[:space:]]*}" ] || words+=("$(lines "${line#*[[:space:]]}")")
done < <(lines "${INPUT_OPTIONS:-}")
[ "${INPUT_STRICT:-false}" != true ] || words+=(--strict)

novarag="${INPUT_NOVARAG:-}"
if [ -z "$novarag" ]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/python" -m pip install --quiet "$GITHUB_ACTION_PATH"
  novarag="$work/venv/bin/novarag"
fi

if [ -n "${INPUT_COMMAND:-}" ]; then # the base first, so that what a command installs is the change's
  git worktree add --quiet --detach "$tree" "$commit"
  (cd "$tree" && bash -eo pipefail -c "$INPUT_COMMAND") || fail "the command fails at the base, $commit"
  bash -eo pipefail -c "$INPUT_COMMAND" || fail "the command fails at the change"
  for one in "${results[@]}"; do words+=(--with "$tree/$one"); done
else
  words+=(--commit "$commit")
fi

code=0
"$novarag" compare ${words[@]+"${words[@]}"} --out "$out" -- "${results[@]}" || code=$?

printf 'code=%s\n' "$code" >>"${GITHUB_OUTPUT:-/dev/null}"
if [ "$code" -eq 0 ] || [ "$code" -eq 3 ]; then
  printf 'comment=%s\njunit=%s\n' "$out/comment.md" "$out/junit.xml" >>"${GITHUB_OUTPUT:-/dev/null}"
  cat "$out/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
exit "$code"
