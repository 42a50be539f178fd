"""For authors: the claims of a suite, the wrong answers of a problem, and the proof of both."""
