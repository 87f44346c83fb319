"""Against a server that allows so many requests per second: how close, and how many refusals?

The first half of the time is for finding the limit; the second is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from novarag.llm.chat import ChatLLM
from novarag.web.endpoint import parse_endpoint
from novarag.web.sending import Patience
from tests.support.chaos.server import Settings, start


async def measured(
    rate: float, burst: float, seconds: float, latency: float
) -> tuple[float, float]:
    server, kitchen = await start(Settings(rate=rate, burst=burst, latency=latency))
    port = server.sockets[0].getsockname()[1]
    endpoint = parse_endpoint(f"http://127.0.0.1:{port}=chaos")
    ends = time.monotonic() + seconds

    async def worker(llm: ChatLLM, number: int) -> None:
        turn = 0
        while time.monotonic() < ends:
            await llm.complete(f"question {number} {turn}")
            turn += 1

    async with ChatLLM([endpoint], patience=Patience(concurrency=64, attempts=50)) as llm:
        workers = [asyncio.create_task(worker(llm, i)) for i in range(256)]
        await asyncio.sleep(seconds / 2)
        bill = kitchen.bill
        total, refused, began = (
            bill.total,
            sum(h == "429" for h in bill.attempts.values()),
            time.monotonic(),
        )
        await asyncio.sleep(seconds / 2 - 1)
        spent = time.monotonic() - began
        total, refused = (
            bill.total - total,
            sum(h == "429" for h in bill.attempts.values()) - refused,
        )
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    server.close()
    return (total - refused) / spent / rate, refused / max(total, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    bad = False
    for rate, burst, latency in ((50, 50, 0.1), (200, 200, 0.1), (200, 10, 0.02), (500, 500, 0.05)):
        reached, refused = asyncio.run(measured(rate, burst, options.seconds, latency))
        print(
            f"{rate} a second, burst {burst}, latency {latency} s: {reached:.1%} of the allowed rate, {refused:.2%} refused"
        )
        bad = bad or reached < 0.95 or refused > 0.01
    sys.exit(bad)


if __name__ == "__main__":
    main()
