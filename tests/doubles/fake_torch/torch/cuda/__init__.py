"""What torch.cuda holds that tells whether it is in use; tests set it."""

_initialized = False
default_generators = ()


def _lazy_init(devices=1):
    global _initialized, default_generators
    default_generators = ("generator",) * devices
    _initialized = True
