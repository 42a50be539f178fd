"""Answers with a coroutine that would give the right number."""
async def later():
    return 5
def attack(numbers):
    return later()
