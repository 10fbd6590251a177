"""`python -m benchmarks.floor`: serve the application, or advance its virtual clock and end."""

import argparse
import asyncio
from pathlib import Path

from benchmarks.floor.host import Connection, Host


async def serve(host: Host, port: int) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(host), "127.0.0.1", port)
    await asyncio.gather(
        server.serve_forever(), host.fire_as_time_passes(), host.reload_on_change()
    )


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floor")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--app", type=Path, default=Path(__file__).with_name("app.py"))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--start-ms", type=int, default=None)
    parser.add_argument("--advance-ms", type=int, default=None)
    options = parser.parse_args()
    host = Host(options.state, options.app, options.start_ms)
    if options.advance_ms is None:
        asyncio.run(serve(host, options.port))
    else:
        print(asyncio.run(host.advance(options.advance_ms)))


if __name__ == "__main__":
    main()
