"""What a route needs beside its parameters: the resources, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from app.service.asking import Ask
from app.service.resources import Resources

bearer = HTTPBearer(
    auto_error=False, description="The key that the service or an administrator gave out."
)


def get_resources(request: Request) -> Resources:
    """What `app.main` opened."""
    resources: Resources = request.app.state.resources
    return resources


def get_ask(request: Request, _documented: Annotated[object, Depends(bearer)]) -> Ask:
    """Who asks, as `Route` found before it read the body."""
    ask: Ask = request.state.ask
    return ask


ResourcesHere = Annotated[Resources, Depends(get_resources)]
AskHere = Annotated[Ask, Depends(get_ask)]
