"""Wrapping functions of every kind in a scope; called by the agent for ``@scope("name")``."""

import functools
import inspect


def wrap(scope, function):
    if inspect.isclass(function) or not callable(function):
        raise TypeError("scope() decorates functions, not %r" % (function,))
    again = scope._again
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(again, function)
    elif inspect.iscoroutinefunction(function):

        async def wrapper(*args, **kwargs):
            with again():
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function):

        def wrapper(*args, **kwargs):
            with again():
                return (yield from function(*args, **kwargs))

    else:

        def wrapper(*args, **kwargs):
            with again():
                return function(*args, **kwargs)

    return functools.wraps(function)(wrapper)


def _async_generator(again, function):
    """There is no ``yield from`` for async generators: pass on what is sent and thrown."""

    async def wrapper(*args, **kwargs):
        with again():
            generator = function(*args, **kwargs)
            step = generator.__anext__()
            try:
                while True:
                    try:
                        value = await step
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        step = generator.athrow(error)
                    else:
                        step = generator.asend(sent)
            finally:
                await generator.aclose()

    return wrapper
