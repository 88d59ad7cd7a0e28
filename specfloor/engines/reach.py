"""Whether this host can start what a run needs, asked before anything is started or written."""

from collections.abc import Iterable

import msgspec

from specfloor.catalog.model import Release, Soc
from specfloor.engines.container import (
    check_devices,
    check_program,
    container_program,
    devices_of,
    image_of,
)
from specfloor.engines.local import to_build
from specfloor.engines.routes import ImageRoute, PythonRoute, Route, VenvRoute
from specfloor.host.npu import find_ascend_python, require_npu


class Way(msgspec.Struct, frozen=True):
    """A release, how its engine is reached, and the most devices that one engine of it takes."""

    release: Release
    route: Route
    cards: int = 0


def check_ways(ways: Iterable[Way], soc: Soc | None) -> None:
    """Refuse what cannot start on this host whatever is sent to it.

    Servers that somebody else has started are not asked, and environments that are built for the
    CPU neither: what they need comes with them.

    Args:
        ways: what would be started.
        soc: the class of the NPUs, where it is known.

    Raises:
        UsageError: a way has no NPU, interpreter, CANN, image, devices, or program that runs
            containers.
    """
    ways = list(ways)
    for way in ways:
        release, on_npus = way.release, way.release.platform == "ascend"
        match way.route:
            case PythonRoute(path) if release.kind == "host":
                find_ascend_python(path)
            case VenvRoute() if release.kind == "host":
                require_npu()
                to_build(release)
            case ImageRoute(image):
                if on_npus:
                    require_npu()
                image_of(release, image, soc)
                check_devices(devices_of(way.cards if on_npus else 0, soc))
    if any(isinstance(way.route, ImageRoute) for way in ways):
        check_program(container_program())
