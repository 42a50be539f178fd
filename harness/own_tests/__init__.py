"""The candidate's own tests: run in the sandbox against right and wrong answers, and counted."""
