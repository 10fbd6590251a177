// WebSockets: what a client says is what the actor does.

import { type AlarmInfo, StatefulActor } from "@telnyx/edge-runtime";

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1_000));

export class A extends StatefulActor {
  async webSocket(ws: any, request: Request) {
    const url = new URL(request.url);
    const how = url.searchParams.get("how");
    ws.on("message", (data: any, isBinary: boolean) => this._said(ws, data, isBinary));
    ws.on("error", () => this._note("error"));
    ws.on("close", (code: number) => this._note(`close ${code}`));
    await this._note("open");
    if (how === "throws") {
      ws.send("sent before");
      throw new Error("boom");
    }
    if (how === "headers") {
      const names = [...request.headers.keys()].sort().join(",");
      ws.send(`${request.method} ${url.pathname} ${names} ${ws.protocol}`);
    }
    if (how === "slow") await sleep(40);
    if (how === "nap") await sleep(10);
  }

  async _said(ws: any, data: any, isBinary: boolean) {
    const [what, ...words] = (isBinary ? "binary" : data).split(" ");
    const rest = words.join(" ");
    await this._note(what.slice(0, 10));
    if (what === "throws") {
      ws.send("sent before");
      throw new Error("boom");
    }
    if (what === "binary") ws.send(data);
    if (what === "count") ws.send(`${this.ctx.count()} ${this.ctx.sockets().length}`);
    if (what === "all") ws.send(`to ${this.ctx.broadcast(rest)}`);
    if (what === "nap") {
      await sleep(10);
      await this._note("rested");
    }
    if (what === "slow") await sleep(40);
    if (what === "close") {
      if (rest) ws.close(Number(rest), "said so");
      else ws.close();
      ws.send("too late");
    }
    if (what === "echo") ws.send(rest);
  }

  async _note(what: string) {
    const seen = (await this.ctx.storage.get<string[]>("seen")) ?? [];
    await this.ctx.storage.put("seen", [...seen, what]);
  }

  async note(what: string) {
    await this._note(what);
  }

  async arm(in_ms: number) {
    await this.ctx.storage.setAlarm(Date.now() + in_ms);
  }

  async alarm(_info: AlarmInfo) {
    await this._note("alarm");
    this.ctx.broadcast("alarm");
  }
}

export class B extends StatefulActor {
  async note(what: string) {
    await this.ctx.storage.put("noted", what);
  }
}

export default {
  async fetch(request: Request, env: any) {
    if (request.headers.get("upgrade") !== "websocket") {
      return new Response("a WebSocket, please", { status: 426 });
    }
    const { pathname } = new URL(request.url);
    if (pathname === "/nobody") return new Response("who are you?", { status: 401 });
    const [, kind, name] = decodeURIComponent(pathname).split("/");
    return await env[kind].idFromName(name).fetch(request);
  },
};
