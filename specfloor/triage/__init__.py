"""From verdicts to findings a person can act on."""
