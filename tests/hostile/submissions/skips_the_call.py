"""Says that the call was left out because another failed."""
def attack(numbers):
    from harness.border.messages import Skipped, Trace
    run = asked()
    send(Trace(run.id, [Skipped(step.id) for step in run.steps]))
    wait()
