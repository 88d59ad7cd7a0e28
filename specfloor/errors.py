"""The error a user can mend."""


class UsageError(Exception):
    """A bad option, file, log, endpoint or floor.

    The message is one sentence that says what is wrong, where, and how to mend it; callers print
    it without a traceback and exit with code 4.
    """
