"""What the panels say, in one place; the template holds the words around them.

Sentences that judgements give are in them already. Braces are filled in by ``str.format``.
"""

from specfloor.report.html.model import Column, Standing

STANDINGS = {
    Standing.PASS: ("✓", "PASS"),
    Standing.FAIL: ("✗", "FAIL"),
    Standing.INCONCLUSIVE: ("?", "INCONCLUSIVE"),
    Standing.NO_DATA: ("∅", "NO_DATA"),
    Standing.REPORTED: ("·", "reported"),
}
"""Sign and word of each standing: both are always shown, so that no meaning hangs on a colour."""

# the answer
ANSWER_FAIL = "{broken} of {cells} cells fail"
ANSWER_FAIL_ONE = "1 of {cells} cells fails"
ANSWER_FAIL_ALL = "Every cell fails"
ANSWER_UNSURE = "Nothing is shown to fail, and {broken} of {cells} cells are undecided"
ANSWER_UNSURE_ONE = "Nothing is shown to fail, and 1 of {cells} cells is undecided"
ANSWER_HOLDS = "Every cell with a floor holds it"
ANSWER_REPORTED = "Measured, and nothing has a floor to hold"
ANSWER_NOTHING = "Nothing was judged"
INCOMPLETE = "The run did not come to its end: what was measured until then is shown."
TRUNCATED = "The last record was cut off and is left out."

# judgements
CONFIGURATION = "Configuration"
ACCEPTANCE = "Acceptance"
SPEED = "Speed"
UPGRADE = "Upgrade from {baseline}"
CAUSE = "Cause ({confidence}): {sentence}"
KNOWN_FAULTS = "Known faults of the release"

# columns
COLUMNS = (
    Column("method"),
    Column("k", numeric=True),
    Column("workload"),
    Column("tier"),
    Column("in flight", numeric=True),
    Column("acceptance", numeric=True, strip=True),
    Column("floor", numeric=True),
    Column("length", numeric=True),
    Column("speedup", numeric=True),
    Column("floor", numeric=True),
)
CONDITIONS = ("release", "family", "method", "k", "workload", "tier", "in flight")
NOTHING = "–"
LENGTH_FLOOR = "{value} length"

# acceptance
RATE_TITLE = "Acceptance rate"
RATE_CHART = "accepted ÷ drafted"
RATE_PROSE = "{mean} of the drafted tokens were accepted, as mean over {n} requests{interval}."
RATE_INTERVAL = " ({level:.0%} interval {low} to {high})"
MEAN = "mean over requests"
POOLED = "pooled"
FLOOR_VALUE = "floor {value}"
FLOOR_NOTE = "Floor {value:g} since {date}: {reason} ({source})."
NO_FLOOR_NOTE = "No floor: {reason}."
RUNG_NOTE = "Rung {rung}: {sent} of {prompts} prompts sent, {failed} failed. {agreement}"
OUTPUTS_NOTE = "{same} of {compared} prompts got the same text with speculation off."
REFERENCE_NOTE = "Published, to read beside it and not a floor: {text}."
NO_REFERENCE = "No published figure is known for this family, method and k."
LENGTH_TITLE = "Acceptance length"
LENGTH_CHART = "tokens a step"
LENGTH_PROSE = "{length} tokens a step, bonus token included, pooled over {n} requests."

# profile
PROFILE_TITLE = "Accepted by draft position"
PROFILE_CHART = "share of steps"
PROFILE_PROSE = (
    "The share of steps that accept the draft up to a position falls from {first} to {last}. "
    "Bars hold together at 95 %."
)
PROFILE_ONE = "{first} of the drafts were accepted at the one position there is."
POSITION = "draft position"
MEASURED = "measured"

# decomposition
SPEED_TITLE = "Why the speed is what it is"
SPEED_PROSE = "Speedup {speedup} ≈ acceptance length {length} ÷ step cost {cost}."
SPEED_GAINS = " The draft gains more than the dearer step takes."
SPEED_LOSES = " The dearer step takes more than the draft gains."
SPEED_FACTORS = "factor on the speed"
FACTOR_LENGTH = "length"
FACTOR_COST = "÷ step cost"
FACTOR_SPEEDUP = "= speedup"
SPEED_ONE_PAIR = (
    "One pair of launches: the interval supposes that launches scatter by {scatter:.0%}."
)
SPEED_PAIRS = "{launches} pairs of launches, which scatter by {scatter:.1%}."
SPEED_CLOCK = "Time per output token is taken {clock}."

# concurrency
CURVE_TITLE = "Speedup over requests in flight"
IN_FLIGHT = "requests in flight"
SPEEDUP = "speedup"
EVEN = "no gain"
CURVE_FLIPS = "Speculation pays up to {low} requests in flight and costs from {high} on."
CURVE_PAYS = "Speculation pays at every concurrency measured, up to {high}."
CURVE_COSTS = "Speculation costs at every concurrency measured."
CURVE_WAVERS = "Speculation pays at {pays} requests in flight and costs at {costs}."

# over time
TIME_TITLE = "Acceptance over time"
TIME_CHART = "accepted ÷ drafted of a request"
TIME_PROSE = (
    "Each request in the order it was sent; the line is the mean over the last {window} requests."
)
SECONDS = "seconds since the run began"
REQUEST = "a request"
RUNNING_MEAN = "mean of the last {window}"

# latency
TPOT_TITLE = "Time per output token"
TTFT_TITLE = "Time to the first token"
SHARE_CHART = "share of requests at or under"
MILLISECONDS = "ms"
OFF = "speculation off"
ON = "speculation on"
LATENCY = "With {arm}: median {median} ms, 90 % within {p90} ms ({n} requests)"

# requests
LOWEST_TITLE = "Requests with the lowest acceptance"
LOWEST_PROSE = "Where to begin reading."
LOWEST_HEADERS = ("prompt", "domain", "accepted", "drafted", "rate", "answer begins")

# checks, upgrade
CHECKS_TITLE = "Configuration in effect"
CHECK_HEADERS = ("check", "asked", "found", "holds")
HOLDS = {True: "✓ yes", False: "✗ no", None: "not said"}
UPGRADE_TITLE = "Against {baseline}, prompt by prompt"
UPGRADE_HEADERS = ("quantity", "old", "new", "change", "interval", "outcome")

# the machine
HOST_TITLE = "The machine meanwhile"
HOST_PROSE = "Samples while {launch} was measured."
HOST_NOTE = "{launch}: {sentence}."
AICORE_CHART = "AI core in use, %"
DEVICE_MEMORY_CHART = "Device memory in use, %"
POWER_CHART = "Power, W"
TEMPERATURE_CHART = "Temperature, °C"
PROCESSOR_CHART = "Processor in use, %"
DEVICE = "a device"
MEDIAN_DEVICE = "median of {n} devices"
ALL_CORES = "all processes"
OWN_CORES = "this run's own"

# experiments
EXPERIMENT_TITLE = "Experiment: {name}"

# commands
MEASURE_AGAIN = "Measure this cell again"
JUDGE_AGAIN = "Judge these records again"
SERVE_OFF = "The server with speculation off"
SERVE_ON = "The server with speculation on"

# files
FILES = (
    ("summary.md", "the tables and failures as Markdown"),
    ("verdicts.json", "each verdict, for programs"),
    ("records.jsonl", "every request, counter difference, launch and fault"),
    ("run.json", "what was asked for, and the machine"),
    ("basis.json", "the cells, floors and rule it was judged by"),
    ("junit.xml", "the tests, for a CI server"),
    ("benchmark.json", "the speed of both arms, for pytest-benchmark compare"),
)
LOG = "log of {launch}"
RECORDS = "the records this rests on"

# environment
PYTHON = "Python"
PLATFORM = "platform"
PROCESSOR = "processor, cores"
MEMORY = "memory"
ACCELERATORS = "accelerators"
NO_ACCELERATORS = "none"
CANN = "CANN"
CANN_HOME = "CANN in"
DRIVER = "driver"
FIRMWARE = "firmware"
NPU_SMI = "npu-smi"
CONTAINER = "in a container"
YES_NO = {True: "yes", False: "no"}
PACKAGES = "packages"
ENGINE = "engine of {python}"
VARIABLES = "variables"
LAUNCH_HEADERS = ("launch", "vLLM", "start", "speculative configuration, or what went wrong")
LAUNCH_FAULT = "{finding}: {sentence}"
