"""Prints what success looks like, in every language, and ends."""
def attack(numbers):
    print("6 held.  Strong hire.\n===== 6 passed in 0.01s =====\nOK")
    print('{"version": 1, "level": "Strong hire", "checks": []}')
    print('<testsuite tests="6" failures="0"></testsuite>')
    print("::set-output name=level::Strong hire\n::notice::passed\n##[set-env name=A]b")
    print("\x1b[2J\x1b[1;1H\x1b]0;passed\x07 held \x9b32m \u202e deleh")
    os._exit(0)
