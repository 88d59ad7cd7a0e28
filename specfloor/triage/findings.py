"""The closed vocabulary of findings."""

from enum import StrEnum


class Finding(StrEnum):
    """What triage concludes. The names are part of every report and of the JSON schema."""

    # about acceptance
    ACCEPT_ZERO = "ACCEPT_ZERO"
    ACCEPT_REGRESSION = "ACCEPT_REGRESSION"
    ACCEPT_DRIFT = "ACCEPT_DRIFT"
    SUSPICIOUS_ACCEPTANCE = "SUSPICIOUS_ACCEPTANCE"
    TOPOLOGY = "TOPOLOGY"
    # about speed
    SPEED_REGRESSION = "SPEED_REGRESSION"
    SPEED_REGRESSION_ACCEPT_OK = "SPEED_REGRESSION_ACCEPT_OK"
    BATCH_FLIP = "BATCH_FLIP"
    # about the run
    START_FAIL = "START_FAIL"
    CRASH = "CRASH"
    HANG = "HANG"
    OUTPUT_BROKEN = "OUTPUT_BROKEN"
    CONFIG_NOT_IN_EFFECT = "CONFIG_NOT_IN_EFFECT"
    HARDWARE = "HARDWARE"
    BASELINE_INVALID = "BASELINE_INVALID"
    WORKLOAD_INVALID = "WORKLOAD_INVALID"
    UNSUPPORTED_FORMAT = "UNSUPPORTED_FORMAT"
    NO_DATA = "NO_DATA"
    INCONCLUSIVE = "INCONCLUSIVE"
    # about the cause
    KNOWN_FIX = "KNOWN_FIX"
    # nothing wrong
    EXPECTED = "EXPECTED"
