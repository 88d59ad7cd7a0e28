"""What a report says that is not in its template, in one place. ``str.format`` fills in braces.

Titles and names of fields are not here: the vendor's labels and forms read them in English.
"""

# figures
LENGTH_MEAN = "acceptance length, mean over requests"
RATE_MEAN = "acceptance rate, mean over requests"
RATE_POOLED = "acceptance rate, pooled"
LENGTH_POOLED = "acceptance length, pooled (bonus token counted)"
COUNTS = "drafted, accepted tokens"
SPEEDUP = "speedup (time per output token, off over on)"
TIME_OFF = "time per output token, speculation off, median"
TIME_ON = "time per output token, speculation on, median"
EXPECTED = "at least {value:g} (floor since {date}: {reason})"
ONE_PAIR = "1 pair of launches"
PAIRS = "{launches} pairs of launches"

# prompts
BY_FALL = (
    "the largest fall of the acceptance rate from the good side on the same prompt, of {n} prompts "
    "measured"
)
BY_RATE = "the lowest acceptance rate, of {n} prompts measured"
BY_TIME = (
    "the longest time per output token with speculation over that without, of {n} prompts measured"
)
BY_ORDER = "the first that were sent, those that failed before others"
NOT_SENT = "no request was sent"
NOT_FOUND = "{error}; name the folder that has them with --workloads"
CHANGED = (
    "{folder} has other prompts than were sent (their fingerprints differ); name the folder that "
    "has them with --workloads"
)
NOT_SHOWN = "texts were asked to be left out"

# environment
WHOLE_LISTING = (
    "the full listing: python collect_env.py in the engine's environment, from vllm-ascend's "
    "repository; give the file with --attach"
)
DEVICES = "the devices: npu-smi info; give the file with --attach"
CANN = "the version of CANN: ascend_toolkit_install.info in the toolkit's folder, $ASCEND_HOME_PATH"
DRIVER = "the version of the driver: version.info in the driver's folder"
NO_ANSWER = "{vllm} (the release's; no server answered)"

# logs and the ledger
NO_LOG = "[this log could not be read: {error}]\n"
CUT = "[… {lines} lines cut …]"
CHECKED = "{change}, {symptom} (mended in {mended_in}): {state}, {why}"
