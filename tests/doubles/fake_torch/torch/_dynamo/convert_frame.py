class SkipFrame(Exception):
    pass


def _compile(code, skips):
    def name():  # puts the argument into a cell
        return code.co_name

    if skips:
        raise SkipFrame(name())
    return name()
