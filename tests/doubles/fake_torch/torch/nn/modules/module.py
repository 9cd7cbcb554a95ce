"""Modules that hold modules; PyTorch 2, or 1 (FAKE_TORCH=1), which has no hooks for exceptions."""

import os
from collections import OrderedDict

_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
if os.environ.get("FAKE_TORCH") != "1":
    _global_forward_hooks_always_called = OrderedDict()


class Module:
    def __init__(self):
        self.__dict__["_modules"] = OrderedDict()

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self._modules[name] = value
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        try:
            return self.__dict__["_modules"][name]
        except KeyError:
            raise AttributeError(name) from None

    def _wrapped_call_impl(self, *args):
        return self._call_impl(*args)

    def _call_impl(self, *args):
        if not _global_forward_hooks and not _global_forward_pre_hooks:
            return self.forward(*args)
        told = set()

        def inner():
            for hook in (*_global_forward_pre_hooks.values(),):
                assert hook(self, args) is None
            result = self.forward(*args)
            for key, hook in (*_global_forward_hooks.items(),):
                told.add(key)
                assert hook(self, args, result) is None
            return result

        try:
            return inner()
        except Exception:
            for key in globals().get("_global_forward_hooks_always_called", ()):
                if key not in told:
                    assert _global_forward_hooks[key](self, args, None) is None
            raise

    __call__ = _wrapped_call_impl
