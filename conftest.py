"""Names the plugin modules of the suite, each before those that import it; nothing else."""

pytest_plugins = (
    "fixtures.options",
    "fixtures.cells",
    "fixtures.reporting",
    "fixtures.known_fixes",
    "fixtures.measurements",
    "fixtures.numerics",
)
