"""What runs found, over time: an index beside the runs, lines in it, and where a line steps.

A line is one quantity of one cell over releases and runs, under one set of conditions. Runs made on
other hardware, other prompts or other settings are on other lines, since their difference would
read as a change of the release.
"""
