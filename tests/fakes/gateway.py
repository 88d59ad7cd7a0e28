"""A gateway in front of a server: passes everything on and renames its metrics.

As a program: ``python gateway.py UPSTREAM PORT``.
"""

import sys

import aiohttp
from aiohttp import web

PREFIX = "acme_gateway_vllm_"
"""What ``vllm:`` becomes."""


def gateway(upstream: str) -> web.Application:
    """Return an application that stands before ``upstream``."""

    async def handle(request: web.Request) -> web.StreamResponse:
        session = request.app[_SESSION]
        body = await request.read()
        headers = {"Content-Type": request.headers.get("Content-Type", "application/json")}
        async with session.request(
            request.method, f"{upstream}{request.path_qs}", data=body or None, headers=headers
        ) as answer:
            if request.path == "/metrics":
                text = (await answer.text()).replace("vllm:", PREFIX)
                return web.Response(text=text, status=answer.status)
            response = web.StreamResponse(status=answer.status)
            response.content_type = answer.content_type
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            return response

    async def with_session(app: web.Application):
        async with aiohttp.ClientSession() as session:
            app[_SESSION] = session
            yield

    app = web.Application()
    app.cleanup_ctx.append(with_session)
    app.router.add_route("*", "/{path:.*}", handle)
    return app


_SESSION = web.AppKey("session", aiohttp.ClientSession)

if __name__ == "__main__":
    web.run_app(gateway(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), print=None)
