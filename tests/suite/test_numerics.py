"""A draft and its target round alike: the kernels at their limit, and what both are configured to.

Needs the engine's interpreter, and no server. A kernel that loses its limit, or the scale of one
or two rows, leaves answers readable and drafts rejected.
"""


def test_kernels(kernels, hold_without_server):
    hold_without_server(kernels)


def test_draft_agrees_with_its_target(draft_fit, hold_without_server):
    hold_without_server(draft_fit)
