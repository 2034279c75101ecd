import { assert, assertEquals, assertRejects } from "@std/assert";
import { shareSeat } from "../../../agent/cli/shared_seat.ts";
import {
  SEAT_SHARED,
  SHARE_SEAT,
  SHARED_PROGRESS,
  SHARED_REQUEST,
} from "../../../protocol/shared_seat.ts";

/** A request as the Server gets it, or its answer's messages. */
type Fields = Record<string, unknown>;

const HELD = { method: SEAT_SHARED, params: { max_payload: 10_000 } };

/** An answer of events, one for each message; other texts than JSON are written as they are. */
const events = (...messages: (Fields | string)[]) =>
  new Response(lines(messages), {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
  });

const lines = (messages: readonly (Fields | string)[]) =>
  messages.map((each) =>
    typeof each === "string" ? each : `data: ${JSON.stringify(each)}\n\n`
  ).join("");

/** An answer that begins with messages, and goes on until `end` or the client leaves. */
function open(...messages: Fields[]) {
  const { promise: left, resolve } = Promise.withResolvers<void>();
  let end = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(lines(messages)));
      end = () => controller.close();
    },
    cancel: () => resolve(),
  });
  const headers = { "content-type": "text/event-stream" };
  return { response: new Response(body, { headers }), left, end: () => end() };
}

/** A Server that holds the seat, and answers further requests by a function. */
function start(
  answer: (params: Fields, signal: AbortSignal) => Response | Promise<Response>,
  held = open(HELD),
) {
  const requests: Fields[] = [];
  const stop = new AbortController();
  const server = Deno.serve(
    {
      port: 0,
      hostname: "127.0.0.1",
      onListen: () => {},
      signal: stop.signal, // a test that fails leaves streams open
    },
    async (request) => {
      const { method, params } = await request.json();
      const { pathname } = new URL(request.url);
      const { _meta: _, ...rest } = params;
      requests.push({ method, params: rest, pathname });
      return method === SHARE_SEAT
        ? held.response
        : await answer(rest, request.signal);
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const share = (path?: string, signal = new AbortController().signal) =>
    shareSeat(
      { url, name: "a", ...(path !== undefined && { path }) },
      "my office",
      signal,
    );
  return {
    requests,
    held,
    share,
    /** Shares the seat, and opens the connection of an Agent. */
    async connect(path?: string) {
      const connection = await share(path);
      assert(connection);
      const received: unknown[] = [];
      const closed = Promise.withResolvers<unknown[]>();
      const end = connection.open({}, {
        receive: (...args) => received.push(args),
        closed: (...args) => closed.resolve(args),
      });
      return {
        connection,
        received,
        closed: closed.promise,
        end,
        /** Sends a request; rejects where the connection ends before the answer. */
        ask: (event: string, payload: Fields) =>
          Promise.race([
            new Promise<unknown>((resolve) =>
              end.send(event, payload, ([answer]) => resolve(answer))
            ),
            closed.promise.then(([reason]) => {
              throw new Error(String(reason));
            }),
          ]),
      };
    },
    [Symbol.asyncDispose]: () => {
      stop.abort();
      return server.finished;
    },
  };
}

Deno.test("shareSeat() shares the seat of an office for as long as the connection is open", async () => {
  await using server = await start(() => events());
  const { connection, end, closed, ask } = await server.connect();
  assertEquals([connection.protocol, connection.maxPayload], ["0.4", 5_904]);
  assertEquals(server.requests, [
    { method: SHARE_SEAT, params: {}, pathname: "/mcp/my%20office" },
  ]);
  for (const event of ["server:join_office", "server:leave_office"]) {
    assertEquals(await ask(event, {}), true);
  }
  assertEquals(server.requests.length, 1);
  await end.close();
  await server.held.left;
  const first = await Promise.race([closed, Promise.resolve("open")]);
  assertEquals(first, "open"); // who closed it need not be notified
});

Deno.test("shareSeat() returns nothing where the Server does not share the seat", async () => {
  const other = { method: "notifications/other", params: {} };
  const rows: [name: string, Response][] = [
    ["an error", events({ error: { message: "no" } })],
    ["another message", events(other, HELD)],
    ["no message", events()],
    ["JSON", Response.json(HELD)],
    ["another status", new Response(lines([HELD]), { status: 404 })],
    ["no event", events("data: {\n\n")],
  ];
  for (const [name, response] of rows) {
    await using server = await start(() => events(), { ...open(), response });
    assertEquals(await server.share(), undefined, name);
    assertEquals(server.requests.length, 1, name);
  }
  await using server = await start(() => events());
  assertEquals(await server.share("/socket.io/"), undefined);
  assertEquals(server.requests, []);
  const { end } = await server.connect("/team/smcp/");
  await end.close();
  assertEquals(server.requests.map(({ pathname }) => pathname), [
    "/team/mcp/my%20office",
  ]);
});

Deno.test("shareSeat() lets the Server go that it does not share a seat with, and ends with its signal", async () => {
  const held = open({ method: "notifications/other" });
  await using server = await start(() => events(), held);
  assertEquals(await server.share(), undefined);
  await held.left;
  const aborted = AbortSignal.abort(new Error("cancelled"));
  await assertRejects(() => server.share(undefined, aborted), Error, "cancel");
});

Deno.test("a shared seat answers a request as the Server does, and reports the progress of calls", async () => {
  const payload = { agent: "a", computer: "pc", req_id: "1", list: [1] };
  await using server = await start(() =>
    events(
      ": a comment\n\n",
      { method: "notifications/other", params: { progress: 1 } },
      { method: SHARED_PROGRESS, params: { progress: 2, req_id: "other" } },
      { result: { answer: { content: [] } } },
      { method: SHARED_PROGRESS, params: { progress: 3 } },
    )
  );
  const { ask, received, end } = await server.connect();
  assertEquals(await ask("client:tool_call", payload), { content: [] });
  assertEquals(server.requests[1], {
    method: SHARED_REQUEST,
    params: { event: "client:tool_call", payload },
    pathname: "/mcp/my%20office",
  });
  const progress = { agent: "a", computer: "pc", req_id: "1", progress: 2 };
  assertEquals(received, [["notify:tool_call_progress", progress]]);
  await end.close();
});

Deno.test("a request that is refused is answered with the refusal of the Server, and leaves the seat shared", async () => {
  const error = { error: { message: "no" } };
  const refused = (status: number, body: unknown, after?: string) =>
    new Response(typeof body === "string" ? body : JSON.stringify(body), {
      status,
      ...(after !== undefined && { headers: { "retry-after": after } }),
    });
  const late = { details: { ran: false, retry_in_ms: 2_000 } };
  const rows: [Response, answer: Fields][] = [
    [refused(401, error), { code: 401, message: "no" }],
    [refused(413, error), { code: 400, message: "no" }],
    [refused(429, error, "2"), { code: 429, message: "no", ...late }],
    [refused(502, "<html>"), { code: 502, message: "HTTP status 502" }],
    [refused(502, "null"), { code: 502, message: "HTTP status 502" }],
    [refused(502, { error: { message: 1 } }), {
      code: 502,
      message: "HTTP status 502",
    }],
    [events(error), { code: 503, message: "no" }],
  ];
  const left = rows.map(([response]) => response);
  await using server = await start(() => left.shift() ?? events());
  const { ask, end } = await server.connect();
  for (const [, answer] of rows) {
    assertEquals(await ask("client:get_tools", { req_id: "1" }), answer);
  }
  await end.close();
});

Deno.test("a call by a shared seat is cancelled by its req_id, and by the end of the connection", async () => {
  const aborted: unknown[] = [];
  let began = Promise.withResolvers<void>();
  let ended = Promise.withResolvers<void>();
  await using server = await start(({ payload }) => {
    const { req_id } = Object(payload);
    const { response, left } = open();
    began.resolve();
    left.then(() => {
      aborted.push(req_id);
      ended.resolve();
    });
    return response;
  });
  const { end } = await server.connect();
  const call = async (req_id: string) => {
    began = Promise.withResolvers();
    ended = Promise.withResolvers();
    end.send("client:tool_call", { req_id });
    await began.promise;
  };
  await call("1");
  end.send("server:tool_call_cancel", { req_id: "unknown" });
  end.send("server:tool_call_cancel", { req_id: "1" });
  await ended.promise;
  await call("2");
  await end.close();
  await ended.promise;
  assertEquals(aborted, ["1", "2"]);
});

Deno.test("the end of what holds the seat, or of a request without an answer, closes the connection for good", async (t) => {
  await t.step("the seat", async () => {
    await using server = await start(() => events());
    const { closed } = await server.connect();
    server.held.end();
    assertEquals(await closed, ["the Server ended the connection", true]);
  });
  await t.step("a request", async () => {
    await using server = await start(() => events());
    const { closed, end } = await server.connect();
    end.send("client:get_tools", { req_id: "1" });
    assertEquals(await closed, [
      "the connection ended before the answer",
      true,
    ]);
    await server.held.left;
  });
  await t.step("an answer that is no event", async () => {
    await using server = await start(() => events("data: {\n\n"));
    const { closed, end } = await server.connect();
    end.send("client:get_tools", { req_id: "1" });
    const [reason, isFinal] = await closed;
    assert(String(reason).includes("JSON"), String(reason));
    assertEquals(isFinal, true);
  });
});
