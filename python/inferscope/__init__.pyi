from types import TracebackType
from typing import Any, Callable, List, Optional, Sequence, Type, TypeVar, Union, final

_F = TypeVar("_F", bound=Callable[..., Any])

@final
class Scope:
    @property
    def name(self) -> str: ...
    def __enter__(self) -> Scope: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
        /,
    ) -> None: ...
    async def __aenter__(self) -> Scope: ...
    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
        /,
    ) -> None: ...
    def __call__(self, function: _F, /) -> _F: ...

def scope(name: str, /, **metadata: object) -> Scope: ...
def mark_event(name: str, /, **metadata: object) -> None: ...
def is_recording() -> bool: ...
def start(
    report: Union[None, str, Sequence[str]] = None,
    *,
    trace: Optional[str] = None,
    **settings: Union[bool, int, float, str, Sequence[str]],
) -> None: ...
def stop() -> List[str]: ...
