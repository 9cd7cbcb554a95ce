import time

from .utils import guard_failures


class SkipFrame(Exception):
    pass


def _compile(code, skips, failures=(), seconds=0):
    def name():  # puts the argument into a cell
        return code.co_name

    if failures:
        guard_failures[code].extend(failures)
    time.sleep(seconds)
    if skips:
        raise SkipFrame(name())
    return name()
