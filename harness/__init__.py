"""An autograded coding round: a candidate's file in, a panel's scorecard out."""

__version__ = "0.1.0"
