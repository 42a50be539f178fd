"""What each hostile submission does, and what the harness must answer: one line an attack.

A submission is right everywhere but where it attacks. So the checks named here break, with this
fault at this call, and every other check of its suite holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SUBMISSIONS = HERE / "submissions"

SUM, ONE, ADD = "total-is-the-sum", "one-number-is-its-own-total", "add-gives-the-sum-so-far"
ZERO, ALONE, TEXT = "nothing-is-zero", "the-list-is-left-alone", "a-text-is-refused"
TALLY = frozenset({SUM, ONE, ADD, ZERO, ALONE, TEXT})
DOUBLED, LONE = "every-element-is-doubled", "a-lone-number-is-doubled"
TRUE = "truth-values-are-compared-as-such"
TWICE = frozenset({DOUBLED, LONE, TRUE})

WRONG, RAISED, CRASHED, HUNG = "wrong answer", "raised", "crashed", "hung"
MEMORY, FLOODED = "out of memory", "flooded output"
PROTOCOL, LEAKS, NOT_IMPORTABLE = (
    "broke the protocol",
    "state leaks between calls",
    "not importable",
)
BOTH = ("local", "docker")


@dataclass(frozen=True)
class Attack:
    """One submission. `faults` are the names it may be given; none when it must be found right."""

    name: str
    faults: tuple[str, ...] = ()
    got: str = ""  # a pattern in what the finding says came
    at: str = "total([2, 3])"  # where the last line of the script begins
    breaks: frozenset[str] = frozenset({SUM})
    problem: str = "tally"
    backends: tuple[str, ...] = BOTH

    @property
    def level(self) -> str:
        """What a file gets whose plainly wrong answers break the same checks."""
        if self.breaks in (TALLY, TWICE):
            return "Strong no hire"
        if self.breaks & {SUM, ONE, ADD, DOUBLED, TRUE}:
            return "No hire"
        return "Hire" if self.breaks else "Strong hire"

    def source(self) -> bytes:
        parts = [
            HERE / "pack" / "solutions" / self.problem / "reference.py",
            HERE / "tools.py",
            SUBMISSIONS / f"{self.name}.py",
        ]
        return "\n\n".join(part.read_text() for part in parts).encode()

    def __str__(self) -> str:
        return self.name


def at_import(name: str, fault: str, got: str) -> Attack:
    """One that is found out while it is imported: every check breaks, and there is no script."""
    return Attack(name, (fault,), got, at="", breaks=TALLY)


def harmless(name: str, problem: str = "tally") -> Attack:
    """One that is right, whatever it does beside: every check holds."""
    return Attack(name, breaks=frozenset(), problem=problem)


def later(name: str, got: str, *faults: str) -> Attack:
    """One that answers right and is found out at the next call, which is not to blame alone."""
    return Attack(name, (LEAKS, *faults), got, at="total(")


def tensor(name: str, fault: str, got: str) -> Attack:
    """One of the problem with tensors."""
    at = "twice(torch.tensor([2.0, 3.0]))"
    return Attack(name, (fault,), got, at, frozenset({DOUBLED}), "twice")


ATTACKS = [
    # ends, and exceptions that end things
    at_import("exits_at_import", CRASHED, "exited with status 0 while it was imported"),
    Attack("exits_in_a_call", (CRASHED,), "exited with status 0"),
    Attack("exits_in_a_constructor", (CRASHED,), "status 0", "Tally()", frozenset({ADD})),
    Attack("exits_in_the_middle_of_a_reply", (CRASHED,), "exited with status 0"),
    later("exits_after_a_right_reply", "exited with status 0", CRASHED),
    Attack("exits_with_the_status_of_a_memory_kill", (CRASHED,), "exited with status 137"),
    Attack("fails_at_a_line_it_does_not_have", (RAISED,), "ValueError: there"),
    Attack("system_exit", (RAISED,), "SystemExit: 0"),
    Attack("keyboard_interrupt", (RAISED,), "KeyboardInterrupt"),
    Attack("generator_exit", (RAISED,), "GeneratorExit"),
    Attack("skips_like_a_test", (RAISED,), "SkipTest: not today"),
    Attack("unsatisfied_assumption", (RAISED,), "UnsatisfiedAssumption"),
    Attack("asks_for_input", (RAISED,), "EOFError"),
    # signals
    Attack("kills_itself", (CRASHED,), "signal 9"),
    Attack("segfaults", (CRASHED,), "signal 11"),
    Attack("aborts", (CRASHED,), "signal 6"),
    Attack("kills_its_parent", (CRASHED, HUNG), "whole sandbox|no answer within 1 s"),
    Attack("stops_its_parent", (HUNG,), "no answer within 1 s"),
    Attack("kills_all_it_may", (CRASHED,), "whole sandbox", backends=("docker",)),
    Attack("stops_itself", (HUNG,), "no answer within 1 s"),
    Attack("ignores_every_signal", (HUNG,), "no answer within 1 s"),
    # time
    at_import("loops_at_import", HUNG, "no answer within 1 s while it was imported"),
    Attack("holds_the_interpreter", (HUNG,), "no answer within 1 s"),
    Attack("never_answers", (HUNG,), "no answer within 1 s"),
    # memory, output, disk, processes
    at_import("parses_for_ever", NOT_IMPORTABLE, "SyntaxError: too many nested parentheses"),
    Attack("recurses", (RAISED,), "RecursionError"),
    Attack("recurses_without_a_limit", (MEMORY, CRASHED, HUNG)),
    Attack("one_huge_allocation", (MEMORY,), "more than its memory limit"),
    Attack("memory_by_and_by", (MEMORY, HUNG), "more than its memory limit|no answer within 1 s"),
    Attack("floods_its_output", (FLOODED,), "printed more than its limit"),
    Attack("floods_its_stream", (PROTOCOL,), "channel 120 does not exist"),
    later("floods_its_stream_with_frames", "other question|no answer|a header", PROTOCOL, HUNG),
    harmless("floods_its_disk"),
    Attack("forks_and_forks", (HUNG,), "no answer within 1 s"),
    harmless("starts_many_threads"),
    harmless("leaves_a_daemon"),
    Attack("leaves_a_daemon_and_goes", (CRASHED,), "exited with status 0"),
    # on a slow machine its helper may still hold the stream when the time of the call is up
    later("answers_from_a_helper", "exited with status 0|no answer within", CRASHED),
    harmless("runs_at_exit"),
    Attack("closes_every_descriptor", (PROTOCOL,), "it closed its stream"),
    harmless("closes_its_output"),
    harmless("leaves_traps_in_its_folder"),
    # answers that are no values, or other ones
    Attack("claims_to_be_equal_to_everything", (WRONG,), "^<Anything>$", "a = total([2, 3])"),
    Attack("claims_to_be_a_number", (WRONG,), "^<Liar>$", "a = total([2, 3])"),
    Attack("has_every_attribute", (WRONG,), "^<Anything>$", "a = total([2, 3])"),
    Attack("a_number_that_lies", (WRONG,), "^6$"),
    Attack("a_list_that_lies", (WRONG,), r"^\[5\]$"),
    Attack("a_text_that_lies", (WRONG,), "^'6'$"),
    Attack("true_for_one", (WRONG,), "^True$", "total([1])", frozenset({ONE})),
    Attack("not_a_number", (WRONG,), "^nan$"),
    Attack("a_whole_float", (WRONG,), r"^5\.0$"),
    Attack("a_huge_number", (WRONG,), "^<a whole number of 100,001 bits>$"),
    Attack("a_huge_text", (WRONG,), "^<an answer too large to send>$"),
    Attack("a_long_text", (WRONG,), "^<a str of 1,048,576>$"),
    Attack("an_endless_value", (WRONG,), "nested more than 24 levels deep"),
    Attack("a_generator", (WRONG,), "^<generator>$", "a = total([2, 3])"),
    Attack("a_coroutine", (WRONG,), "^<coroutine>$", "a = total([2, 3])"),
    # frames
    later("answers_twice", "it answered another question", PROTOCOL),
    later("answers_the_next_call_early", "it answered another question", PROTOCOL),
    later("an_answer_with_bytes_after_it", "channel 97 does not exist", PROTOCOL),
    Attack("answers_another_question", (PROTOCOL,), "it answered another question"),
    Attack("answers_another_call", (PROTOCOL,), "other calls than it was asked"),
    Attack("answers_half", (HUNG,), "no answer within 1 s"),
    Attack("skips_the_call", (PROTOCOL,), "a call was skipped that needed no failed one"),
    Attack("says_loaded", (PROTOCOL,), "it answered another question"),
    Attack("speaks_for_its_parent", (PROTOCOL,), "a frame for another reader"),
    Attack("says_that_it_ended_well", (PROTOCOL,), "a frame for another reader"),
    Attack("claims_four_gibibytes", (PROTOCOL,), "a header of 4,294,967,295 bytes"),
    Attack("fills_the_judge", (PROTOCOL,), "314,572,800 bytes of tensors, room for 268,435,456"),
    Attack("keys_that_collide", (PROTOCOL,), "more than 32 keys of one hash"),
    Attack("nests_without_an_end", (PROTOCOL,), "not a message of this protocol"),
    Attack("no_message", (PROTOCOL,), "not a message of this protocol"),
    Attack("a_key_twice", (PROTOCOL,), "a key stands twice"),
    Attack("an_error_longer_than_a_report", (PROTOCOL,), "not a message of this protocol"),
    # what ends up in reports
    Attack("prints_success", (CRASHED,), "exited with status 0"),
    Attack("an_error_that_commands", (RAISED,), "forged"),
    Attack("an_answer_that_commands", (WRONG,), "alert"),
    Attack("an_object_that_commands", (WRONG,), "error::x", "a = total([2, 3])"),
    Attack("an_error_that_cannot_be_read", (RAISED,), "could not be read: KeyboardInterrupt"),
    Attack("an_error_that_never_ends", (HUNG,), "no answer within 1 s"),
    Attack("an_error_that_exits", (CRASHED,), "exited with status 0"),
    Attack("an_error_without_a_name", (RAISED,), "Bad: x"),
    # the worker, taken apart
    at_import("patches_builtins", PROTOCOL, "not a message of this protocol"),
    later("patches_the_worker", "^5, |^5;", WRONG),
    Attack("patches_the_comparison", (WRONG,), "^'wrong'$"),
    harmless("empties_the_modules"),
    harmless("looks_like_another_module"),
    harmless("walks_to_the_suite"),
    harmless("reads_its_parents_memory"),
    harmless("has_no_secrets_around_it"),
    harmless("has_no_network"),
    harmless("raises_its_limits"),
    # another behaviour at another time
    later("wrong_on_the_fifth_call", "another answer"),
    later("right_only_the_first_time", "another answer"),
    Attack("behaves_once_it_was_caught", (WRONG,), "^6$"),
    Attack("behaves_where_it_is_replayed", (WRONG,), "^6$"),
    Attack("cannot_be_imported_again", (LEAKS,), "^6; "),
    Attack("wrong_by_chance", (WRONG, LEAKS), "[0-9]", at="total("),
    Attack("wrong_by_the_clock", (WRONG,), "^6$"),
    Attack("keeps_the_list", (WRONG,), "other values", "total([30, 10, 20])", frozenset({ALONE})),
    Attack("says_it_raised_a_type_error", (WRONG,), "TypeError", "total('12')", frozenset({TEXT})),
    # tensors
    tensor("tensor_of_another_dtype", WRONG, "torch.float16"),
    tensor("tensor_elsewhere", WRONG, "on meta"),
    tensor("tensor_of_another_shape", WRONG, r"shape \[1, 2\]"),
    harmless("tensor_with_odd_strides", "twice"),
    tensor("tensor_that_overlaps", WRONG, "wanted 6, got 4"),
    tensor("tensor_of_ten_gigabytes", WRONG, "10,737,418,240 elements, above the limit"),
    tensor("tensor_that_is_too_large", MEMORY, "more than its memory limit"),
    tensor("tensor_of_nan", WRONG, "got nan"),
    tensor("tensor_that_lies", WRONG, "wanted 4, got 0"),
    harmless("tensor_subclass_that_is_right", "twice"),
    tensor("tensor_that_is_sparse", WRONG, "torch.sparse_coo"),
    tensor("tensor_of_a_million_dimensions", PROTOCOL, "not a short list of whole numbers"),
    tensor("tensor_of_a_terabyte", PROTOCOL, "strides where elements are wanted"),
    tensor("tensor_outside_its_bytes", PROTOCOL, "outside the bytes"),
    Attack("truth_that_is_neither", (PROTOCOL,), "neither 0 nor 1", "is_large(", frozenset({TRUE}),
           "twice"),
    Attack("patches_torch", (WRONG,), "", "", TWICE, "twice"),
    harmless("threads_of_torch", "twice"),
]  # fmt: skip
