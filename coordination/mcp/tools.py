"""The tools, as a model is shown them: names, words, shapes, hints.

Dots are allowed in names by the protocol, and read well; some clients refuse them, so every tool goes by a
second name with underscores.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcp.types import Tool as ListedTool
from mcp.types import ToolAnnotations
from pydantic import BaseModel

from coordination.api import schemas
from coordination.mcp import actions, json_schemas, prose, shapes, words
from intramedial.http.shapes import ProblemShape

Json = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """One tool. `run` makes the body from the validated arguments, `say` a short text from the body."""

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    answers: tuple[type[BaseModel], ...]
    run: Callable[[Any, Any], Awaitable[Json]]
    say: Callable[[Json], str]
    read_only: bool = False

    @property
    def compatible_name(self) -> str:
        """The name for clients that refuse dots."""
        return self.name.replace(".", "_")

    def listed(self, name: str) -> ListedTool:
        """The tool as `tools/list` shows it, by that name."""
        return ListedTool(
            name=name,
            title=self.title,
            description=self.description,
            input_schema=json_schemas.of_arguments(self.arguments),
            # A call that could not be answered is a problem, of the same shape everywhere.
            output_schema=json_schemas.of_answers((*self.answers, ProblemShape)),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=self.read_only,
                # A tool only ends what the calling agent itself holds or waits for.
                destructive_hint=False,
                # Asking twice does what asking once did: a lease is renewed and not doubled, what is given
                # back stays given back.
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )


@cache
def listing(compatible: bool) -> list[ListedTool]:
    """What `tools/list` shows, by the names with dots or by the compatible ones."""
    return [tool.listed(tool.compatible_name if compatible else tool.name) for tool in TOOLS]


def find(name: str) -> Tool | None:
    """The tool of that name, in either form."""
    return _BY_NAME.get(name)


TOOLS = (
    Tool(
        name="coordination.wait",
        title="See who holds and who waits",
        description=prose.WAIT,
        arguments=shapes.WaitArguments,
        answers=(schemas.Picture,),
        run=actions.wait,
        say=words.pictured,
        read_only=True,
    ),
    Tool(
        name="coordination.status",
        title="See where I stand",
        description=prose.STATUS,
        arguments=shapes.StandingArguments,
        answers=(shapes.Status,),
        run=actions.status,
        say=words.stood,
        read_only=True,
    ),
    Tool(
        name="coordination.lease.acquire",
        title="Acquire or renew a lease",
        description=prose.ACQUIRE,
        arguments=shapes.AcquireArguments,
        answers=(schemas.LeaseGranted, schemas.LeaseHeld, schemas.Deadlock),
        run=actions.acquire,
        say=words.acquired,
    ),
    Tool(
        name="coordination.lease.release",
        title="Release a lease",
        description=prose.RELEASE,
        arguments=shapes.OwnArguments,
        answers=(schemas.LeaseReleased, schemas.NotReleased),
        run=actions.release,
        say=words.released,
    ),
    Tool(
        name="coordination.lease.withdraw",
        title="Leave the queue",
        description=prose.WITHDRAW,
        arguments=shapes.StandingArguments,
        answers=(schemas.Withdrawn,),
        run=actions.withdraw,
        say=words.withdrawn,
    ),
)
_BY_NAME = {name: tool for tool in TOOLS for name in (tool.name, tool.compatible_name)}
