"""What a report says that is not in its template, in one place. ``str.format`` fills in braces.

Titles and names of fields are not here: the vendor's labels and forms read them in English.
"""

from specfloor.i18n import N_

# figures
LENGTH_MEAN = N_("acceptance length, mean over requests")
RATE_MEAN = N_("acceptance rate, mean over requests")
RATE_POOLED = N_("acceptance rate, pooled")
LENGTH_POOLED = N_("acceptance length, pooled (bonus token counted)")
COUNTS = N_("drafted, accepted tokens")
SPEEDUP = N_("speedup (time per output token, off over on)")
TIME_OFF = N_("time per output token, speculation off, median")
TIME_ON = N_("time per output token, speculation on, median")
EXPECTED = N_("at least {value:g} (floor since {date}: {reason})")
ONE_PAIR = N_("1 pair of launches")
PAIRS = N_("{launches} pairs of launches")

# prompts
BY_FALL = N_(
    "the largest fall of the acceptance rate from the good side on the same prompt, of {n} prompts "
    "measured"
)
BY_RATE = N_("the lowest acceptance rate, of {n} prompts measured")
BY_TIME = N_(
    "the longest time per output token with speculation over that without, of {n} prompts measured"
)
BY_ORDER = N_("the first that were sent, those that failed before others")
NOT_SENT = N_("no request was sent")
NOT_FOUND = N_("{error}; name the folder that has them with --workloads")
CHANGED = N_(
    "{folder} has other prompts than were sent (their fingerprints differ); name the folder that "
    "has them with --workloads"
)
NOT_SHOWN = N_("texts were asked to be left out")

# environment
WHOLE_LISTING = N_(
    "the full listing: python collect_env.py in the engine's environment, from vllm-ascend's "
    "repository; give the file with --attach"
)
DEVICES = N_("the devices: npu-smi info; give the file with --attach")
CANN = N_(
    "the version of CANN: ascend_toolkit_install.info in the toolkit's folder, $ASCEND_HOME_PATH"
)
DRIVER = N_("the version of the driver: version.info in the driver's folder")
NO_ANSWER = N_("{vllm} (the release's; no server answered)")

# logs and the ledger
NO_LOG = N_("[this log could not be read: {error}]\n")
CUT = N_("[… {lines} lines cut …]")
CHECKED = N_("{change}, {symptom} (mended in {mended_in}): {state}, {why}")
