from .module import Module  # noqa: F401, first: the next import is told when it is complete
from .leaf import Leaf  # noqa: F401
