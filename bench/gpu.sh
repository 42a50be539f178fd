#!/usr/bin/env bash
# Everything about the Triton problems that only a GPU can show, in one run:
#
#     bench/gpu.sh [PYTHON] [DEVICE]
#
# The suites of all Triton problems on the device, over the reference, the other right answers and
# the wrong answers that this device can judge; then the bytes a second of the right answers beside
# those of a copy. No Docker and no network; the files run as this user (--backend local). PYTHON
# has the dependencies; the harness itself need not be installed. DEVICE cpu is a dry run in
# Triton's interpreter, without the rates. ONLY=slug takes one problem, MISTAKES=0 leaves the wrong
# answers out. Ends with 0 when every right answer held and every wrong one was caught.
set -u
python=$(command -v "${1:-python}") || { echo "there is no ${1:-python}" >&2; exit 2; }
device=${2:-cuda}
cd "$(dirname "$0")/.." || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TRITON_CACHE_DIR="$work/cache"
unset TRITON_INTERPRET
failed=0

if ! "$python" -I -c "import harness" 2>/dev/null; then
    # The worker starts isolated from this folder, so an environment that knows the way is needed.
    "$python" -m venv --without-pip "$work/venv" || exit 3
    paths=$(echo "$work"/venv/lib/python3*/site-packages)
    "$python" -c "import site, os; print(os.getcwd(), *site.getsitepackages(), sep='\n')" \
        >"$paths/harness.pth"
    python="$work/venv/bin/python"
fi

"$python" - "$device" <<'PY' || exit 3
import sys

try:
    import torch
    import triton
except ImportError as error:
    sys.exit(f"cannot start: {error}")
if sys.argv[1] == "cuda":
    if not torch.cuda.is_available():
        sys.exit("cannot start: torch sees no CUDA device")
    card = torch.cuda.get_device_properties(0)
    print(f"{card.name}, {card.total_memory / 2**30:.0f} GiB, capability {card.major}.{card.minor}")
print(f"torch {torch.__version__}, triton {triton.__version__}")
PY

check() { # SLUG FILE JSON [ONLY]: one line with what held, what broke and how long it took
    "$python" -m harness check "$1" "$2" --backend local --device "$device" --brief --json "$3" \
        ${4:+--only "$4"} >"$work/out" 2>&1
    "$python" - "$3" "$work/out" <<'PY'
import json
import sys

try:
    result = json.load(open(sys.argv[1]))
except (OSError, ValueError):
    print("could not grade")
    print(open(sys.argv[2]).read()[-1500:])
    sys.exit()
checks = result["checks"]
count = {s: sum(c["status"] == s for c in checks) for s in ("held", "broke", "not assessed")}
words = ", ".join(f"{n} {status}" for status, n in count.items() if n)
print(f"{words or 'could not grade'}  ({result['run']['seconds']:.0f} s)")
for c in checks:
    finding = c.get("finding") or {}
    if c["status"] == "broke":
        print(f"      broke {c['id']}: wanted {finding.get('wanted')}, got {finding.get('got')}")
    if c["status"] == "not assessed":
        print(f"      n/a   {c['id']}: {c['reason']}")
        if not c["reason"].startswith("needs a "):
            print("      could not grade all of it")
PY
}

for settings in problems/*/problem.toml; do
    grep -q '"triton"' "$settings" || continue
    slug=$(basename "$(dirname "$settings")")
    [ "${ONLY:-$slug}" = "$slug" ] || continue
    [ -e "graders/$slug.py" ] || continue
    answers=("solutions/$slug/reference.py" "solutions/$slug"/right/*.py)
    printf '\n%s\n\n' "$slug"
    for answer in "${answers[@]}"; do
        printf '  %-34s ' "$(basename "$answer")"
        check "$slug" "$answer" "$work/result.json" | tee "$work/line"
        grep -q '^      broke\|could not grade' "$work/line" && failed=1
        rm -f "$work/result.json"
    done

    if [ "${MISTAKES:-1}" = 1 ]; then
        "$python" -m bench.device_mistakes "$slug" "$device" "$work/wrong" >"$work/names" || failed=1
    else
        : >"$work/names"
    fi
    while read -r name named; do
        printf '  wrong: %-27s ' "$name"
        check "$slug" "$work/wrong/$name.py" "$work/result.json" "$named" >"$work/line"
        if grep -q "^      broke $named:" "$work/line"; then
            echo "caught by $named"
        else
            echo "NOT CAUGHT by $named: $(head -1 "$work/line")"
            failed=1
        fi
        rm -f "$work/result.json"
    done <"$work/names"

    timing="solutions/$slug/timing.py"
    [ -e "$timing" ] && [ "$device" = cuda ] || continue
    for answer in "${answers[@]}"; do
        printf '\n  %s\n' "$(basename "$answer")"
        "$python" -m bench.kernel_rates "$answer" "$timing" || failed=1
    done
done

[ "$failed" = 0 ] && printf '\nno complaint\n'
exit "$failed"
