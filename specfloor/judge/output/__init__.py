"""Whether speculation leaves the answers as they were: pure functions of the records of both arms.

A draft may not change what the target answers, so what is judged here is breakage, not quality:
answers, JSON and tool calls that are right without speculation and wrong with it, loops, garbage,
answers that end differently, and texts that part from the first words on.
"""

from specfloor.judge.output.agreement import Agreement
from specfloor.judge.output.judge import judge_output
from specfloor.judge.output.verdict import Check, CheckResult, OutputVerdict

__all__ = ["Agreement", "Check", "CheckResult", "OutputVerdict", "judge_output"]
