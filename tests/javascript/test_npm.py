"""A project on packages of npm: hono in front, zod in an actor, date-fns on virtual time."""

import json
from pathlib import Path
from typing import Any

import pytest

from edgeemu.emulator import Emulator
from edgeemu.engines.port import PlainRequest
from edgeemu.errors import EdgeemuError
from tests.support.emulators import inst, run_with
from tests.support.script_modules import write_modules

SOURCE = """
import { StatefulActor } from "@telnyx/edge-runtime";
import { addDays, formatISO, isPast } from "date-fns";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";

const Plan = z.object({ days: z.number().int().positive(), note: z.string().default("none") });
type Plan = z.infer<typeof Plan>;

export class A extends StatefulActor {
  async plan(asked: unknown): Promise<string> {
    const plan: Plan = Plan.parse(asked);
    const due = addDays(new Date(), plan.days);
    await this.ctx.storage.put("due", due);
    await this.ctx.storage.put("note", plan.note);
    await this.ctx.storage.setAlarm(due.getTime());
    return formatISO(due);
  }

  async alarm() {
    const due = await this.ctx.storage.get<Date>("due");
    await this.ctx.storage.put("note", isPast(due!) ? "over" : "early");
  }

  async read() {
    return await this.ctx.storage.get("note");
  }
}

const app = new Hono<{ Bindings: { A: any } }>();
app.use(async (c, next) => {
  await next();
  c.header("x-seen", new URL(c.req.url).pathname);
});
app.post("/plans/:name", async (c) => {
  const stub = c.env.A.idFromName(c.req.param("name"));
  try {
    return c.json({ due: await stub.plan(await c.req.json()) }, 201);
  } catch (error) {
    throw new HTTPException(422, { message: JSON.parse((error as Error).message)[0].path[0] });
  }
});
app.get("/plans/:name", async (c) => c.text(await c.env.A.idFromName(c.req.param("name")).read()));
export default app;
"""


@pytest.mark.slow
def test_hono_zod_and_date_fns(tmp_path: Path, npm_packages: Path) -> None:
    config = write_modules(tmp_path, {"src/index.ts": SOURCE, "package.json": "{}"})
    (tmp_path / "node_modules").symlink_to(npm_packages)

    async def body(emulator: Emulator) -> None:
        async def ask(method: str, path: str, data: Any = None) -> tuple[int, str, dict[str, str]]:
            text = b"" if data is None else json.dumps(data).encode()
            fields = (("content-type", "application/json"),)
            response = await emulator.fetch(PlainRequest(method, f"http://x{path}", fields, text))
            return response.status, response.body.decode(), dict(response.headers)

        status, text, headers = await ask("POST", "/plans/a", {"days": 30})
        assert (status, json.loads(text)) == (201, {"due": "2030-01-31T00:00:00Z"})
        assert headers["x-seen"] == "/plans/a"
        assert (await ask("POST", "/plans/a", {"days": "x"}))[:2] == (422, "days")
        assert (await ask("GET", "/nowhere"))[0] == 404
        assert (await ask("GET", "/plans/a"))[1] == "none"
        moved = await emulator.clock.advance(30 * 86_400_000)
        assert moved["succeeded"] == 1
        assert (await ask("GET", "/plans/a"))[1] == "over"
        with pytest.raises(EdgeemuError) as raised:
            await emulator.call(inst("A/b"), "plan", [{"days": 1.5}])
        assert "ZodError was raised at src/index.ts:13" in raised.value.why

    run_with(config, body)
