"""What the panels say, in one place; the template holds the words around them.

Sentences that judgements give are in them already. Braces are filled in by ``str.format``.
"""

from specfloor.i18n import N_
from specfloor.report.html.model import Column, Standing

STANDINGS = {
    Standing.PASS: ("✓", N_("PASS")),
    Standing.FAIL: ("✗", N_("FAIL")),
    Standing.INCONCLUSIVE: ("?", N_("INCONCLUSIVE")),
    Standing.NO_DATA: ("∅", N_("NO_DATA")),
    Standing.REPORTED: ("·", N_("reported")),
}
"""Sign and word of each standing: both are always shown, so that no meaning hangs on a colour."""

# the answer
ANSWER_FAIL = N_("{broken} of {cells} cells fail")
ANSWER_FAIL_ONE = N_("1 of {cells} cells fails")
ANSWER_FAIL_ALL = N_("Every cell fails")
ANSWER_UNSURE = N_("Nothing is shown to fail, and {broken} of {cells} cells are undecided")
ANSWER_UNSURE_ONE = N_("Nothing is shown to fail, and 1 of {cells} cells is undecided")
ANSWER_HOLDS = N_("Every cell with a floor holds it")
ANSWER_REPORTED = N_("Measured, and nothing has a floor to hold")
ANSWER_NOTHING = N_("Nothing was judged")
INCOMPLETE = N_("The run did not come to its end: what was measured until then is shown.")
TRUNCATED = N_("The last record was cut off and is left out.")

# judgements
CONFIGURATION = N_("Configuration")
ACCEPTANCE = N_("Acceptance")
SPEED = N_("Speed")
UPGRADE = N_("Upgrade from {baseline}")
CAUSE = N_("Cause ({confidence}): {sentence}")
KNOWN_FAULTS = N_("Known faults of the release")

# columns
COLUMNS = (
    Column(N_("method")),
    Column("k", numeric=True),
    Column(N_("workload")),
    Column(N_("tier")),
    Column(N_("in flight"), numeric=True),
    Column(N_("acceptance"), numeric=True, strip=True),
    Column(N_("floor"), numeric=True),
    Column(N_("length"), numeric=True),
    Column(N_("speedup"), numeric=True),
    Column(N_("floor"), numeric=True),
)
CONDITIONS = (
    N_("release"),
    N_("family"),
    N_("method"),
    "k",
    N_("workload"),
    N_("tier"),
    N_("in flight"),
)
NOTHING = "–"
LENGTH_FLOOR = N_("{value} length")

# acceptance
RATE_TITLE = N_("Acceptance rate")
RATE_CHART = N_("accepted ÷ drafted")
RATE_PROSE = N_("{mean} of the drafted tokens were accepted, as mean over {n} requests{interval}.")
RATE_INTERVAL = N_(" ({level:.0%} interval {low} to {high})")
MEAN = N_("mean over requests")
POOLED = N_("pooled")
FLOOR_VALUE = N_("floor {value}")
FLOOR_NOTE = N_("Floor {value:g} since {date}: {reason} ({source}).")
NO_FLOOR_NOTE = N_("No floor: {reason}.")
RUNG_NOTE = N_("Rung {rung}: {sent} of {prompts} prompts sent, {failed} failed. {agreement}")
OUTPUTS_NOTE = N_("{same} of {compared} prompts got the same text with speculation off.")
REFERENCE_NOTE = N_("Published, to read beside it and not a floor: {text}.")
NO_REFERENCE = N_("No published figure is known for this family, method and k.")
LENGTH_TITLE = N_("Acceptance length")
LENGTH_CHART = N_("tokens a step")
LENGTH_PROSE = N_("{length} tokens a step, bonus token included, pooled over {n} requests.")

# profile
PROFILE_TITLE = N_("Accepted by draft position")
PROFILE_CHART = N_("share of steps")
PROFILE_PROSE = N_(
    "The share of steps that accept the draft up to a position falls from {first} to {last}. "
    "Bars hold together at 95 %."
)
PROFILE_ONE = N_("{first} of the drafts were accepted at the one position there is.")
POSITION = N_("draft position")
MEASURED = N_("measured")

# decomposition
SPEED_TITLE = N_("Why the speed is what it is")
SPEED_PROSE = N_("Speedup {speedup} ≈ acceptance length {length} ÷ step cost {cost}.")
SPEED_GAINS = N_(" The draft gains more than the dearer step takes.")
SPEED_LOSES = N_(" The dearer step takes more than the draft gains.")
SPEED_FACTORS = N_("factor on the speed")
FACTOR_LENGTH = N_("length")
FACTOR_COST = N_("÷ step cost")
FACTOR_SPEEDUP = N_("= speedup")
SPEED_ONE_PAIR = N_(
    "One pair of launches: the interval supposes that launches scatter by {scatter:.0%}."
)
SPEED_PAIRS = N_("{launches} pairs of launches, which scatter by {scatter:.1%}.")
SPEED_CLOCK = N_("Time per output token is taken {clock}.")

# concurrency
CURVE_TITLE = N_("Speedup over requests in flight")
IN_FLIGHT = N_("requests in flight")
SPEEDUP = N_("speedup")
EVEN = N_("no gain")
CURVE_FLIPS = N_("Speculation pays up to {low} requests in flight and costs from {high} on.")
CURVE_PAYS = N_("Speculation pays at every concurrency measured, up to {high}.")
CURVE_COSTS = N_("Speculation costs at every concurrency measured.")
CURVE_WAVERS = N_("Speculation pays at {pays} requests in flight and costs at {costs}.")

# over time
TIME_TITLE = N_("Acceptance over time")
TIME_CHART = N_("accepted ÷ drafted of a request")
TIME_PROSE = N_(
    "Each request in the order it was sent; the line is the mean over the last {window} requests."
)
SECONDS = N_("seconds since the run began")
REQUEST = N_("a request")
RUNNING_MEAN = N_("mean of the last {window}")

# latency
TPOT_TITLE = N_("Time per output token")
TTFT_TITLE = N_("Time to the first token")
SHARE_CHART = N_("share of requests at or under")
MILLISECONDS = "ms"
OFF = N_("speculation off")
ON = N_("speculation on")
LATENCY = N_("With {arm}: median {median} ms, 90 % within {p90} ms ({n} requests)")

# requests
LOWEST_TITLE = N_("Requests with the lowest acceptance")
LOWEST_PROSE = N_("Where to begin reading.")
LOWEST_HEADERS = (
    N_("prompt"),
    N_("domain"),
    N_("accepted"),
    N_("drafted"),
    N_("rate"),
    N_("answer begins"),
)

# checks, upgrade
CHECKS_TITLE = N_("Configuration in effect")
CHECK_HEADERS = (N_("check"), N_("asked"), N_("found"), N_("holds"))
HOLDS = {True: N_("✓ yes"), False: N_("✗ no"), None: N_("not said")}
UPGRADE_TITLE = N_("Against {baseline}, prompt by prompt")
UPGRADE_HEADERS = (
    N_("quantity"),
    N_("old"),
    N_("new"),
    N_("change"),
    N_("interval"),
    N_("outcome"),
)

# the machine
HOST_TITLE = N_("The machine meanwhile")
HOST_PROSE = N_("Samples while {launch} was measured.")
HOST_NOTE = N_("{launch}: {sentence}.")
AICORE_CHART = N_("AI core in use, %")
DEVICE_MEMORY_CHART = N_("Device memory in use, %")
POWER_CHART = N_("Power, W")
TEMPERATURE_CHART = N_("Temperature, °C")
PROCESSOR_CHART = N_("Processor in use, %")
DEVICE = N_("a device")
MEDIAN_DEVICE = N_("median of {n} devices")
ALL_CORES = N_("all processes")
SPAN = N_("{low} to {high}")
OWN_CORES = N_("this run's own")

# experiments
EXPERIMENT_TITLE = N_("Experiment: {name}")

# commands
MEASURE_AGAIN = N_("Measure this cell again")
JUDGE_AGAIN = N_("Judge these records again")
SERVE_OFF = N_("The server with speculation off")
SERVE_ON = N_("The server with speculation on")

# files
FILES = (
    ("summary.md", N_("the tables and failures as Markdown")),
    ("verdicts.json", N_("each verdict, for programs")),
    ("records.jsonl", N_("every request, counter difference, launch and fault")),
    ("run.json", N_("what was asked for, and the machine")),
    ("basis.json", N_("the cells, floors and rule it was judged by")),
    ("junit.xml", N_("the tests, for a CI server")),
    ("benchmark.json", N_("the speed of both arms, for pytest-benchmark compare")),
)
LOG = N_("log of {launch}")
RECORDS = N_("the records this rests on")

# environment
PYTHON = "Python"
PLATFORM = N_("platform")
PROCESSOR = N_("processor, cores")
MEMORY = N_("memory")
ACCELERATORS = N_("accelerators")
NO_ACCELERATORS = N_("none")
CANN = "CANN"
CANN_HOME = N_("CANN in")
DRIVER = N_("driver")
FIRMWARE = N_("firmware")
NPU_SMI = "npu-smi"
CONTAINER = N_("in a container")
YES_NO = {True: N_("yes"), False: N_("no")}
PACKAGES = N_("packages")
ENGINE = N_("engine of {python}")
VARIABLES = N_("variables")
LAUNCH_HEADERS = (
    N_("launch"),
    "vLLM",
    N_("start"),
    N_("speculative configuration, or what went wrong"),
)
