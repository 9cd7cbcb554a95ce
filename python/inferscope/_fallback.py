"""What the package offers where the agent cannot load: the same names, recording nothing."""


class Scope:
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = str.__str__(name)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return None

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, value, traceback):
        return None

    def __call__(self, function):
        if isinstance(function, type) or not callable(function):
            raise TypeError("scope() decorates functions, not %r" % (function,))
        return function

    def __repr__(self):
        return "<inferscope.scope %r>" % (self.name,)


def scope(*name, **metadata):
    _check("scope", name)
    return Scope(name[0])


def mark_event(*name, **metadata):
    _check("mark_event", name)


def counter(*args):
    if len(args) != 2 or not isinstance(args[0], str) or not isinstance(args[1], (int, float)):
        raise TypeError("counter() takes a name, a str, and a number, an int or a float")


def is_recording():
    return False


def _check(function, name):
    if len(name) != 1 or not isinstance(name[0], str):
        raise TypeError(
            "%s() takes one name, a str, and metadata as key=value" % function
        )
