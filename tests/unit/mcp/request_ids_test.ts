import fc from "fast-check";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { assert, assertEquals } from "@std/assert";
import { RequestIds } from "../../../mcp/office/request_ids.ts";

const request = (id: string | number): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
});

const cancellation = (requestId: string | number): JSONRPCMessage => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId, reason: "enough" },
});

const idOf = (message: JSONRPCMessage | undefined) =>
  message && "id" in message && message.id !== undefined ? message.id : "";

Deno.test("RequestIds gives each request an id of its own, and each answer the client's", () => {
  const someId = fc.oneof(
    fc.constantFrom<string | number>(0, 1, "1", '"', "1:1"),
    fc.string(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  fc.assert(fc.property(fc.array(someId), (clients) => {
    const ids = new RequestIds();
    const taken = clients.flatMap((id) => ids.take(request(id)));
    assertEquals(new Set(taken.map(idOf)).size, clients.length);
    const answers = taken.toReversed().map((message) =>
      ids.giveBack({ jsonrpc: "2.0", id: idOf(message), result: {} })
    );
    const given = JSON.parse(JSON.stringify(answers.toReversed().map(idOf)));
    assertEquals(given, JSON.parse(JSON.stringify(clients)));
    for (const id of clients) assertEquals(ids.take(cancellation(id)), []);
  }));
});

Deno.test("RequestIds makes of a cancellation one for each request of its id that has no answer", () => {
  const ids = new RequestIds();
  const [first, second, third, other] = [1, 1, 1, "1"]
    .flatMap((id) => ids.take(request(id)));
  ids.giveBack({ jsonrpc: "2.0", id: idOf(second), result: {} });
  const cancel = (id: string | number) =>
    ids.take(cancellation(id)).map((message) =>
      "params" in message ? message.params : undefined
    );
  const reason = "enough";
  assertEquals(cancel(1), [
    { requestId: idOf(first), reason },
    { requestId: idOf(third), reason },
  ]);
  assertEquals(cancel(1), []);
  assertEquals(cancel("1"), [{ requestId: idOf(other), reason }]);
});

Deno.test("RequestIds passes what is no request of the client, and puts its id back into changes of a stream", () => {
  const ids = new RequestIds();
  const passing: JSONRPCMessage[] = [
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 7, result: {} },
  ];
  for (const message of passing) assertEquals(ids.take(message), [message]);
  const question: JSONRPCMessage = {
    jsonrpc: "2.0",
    id: "1:1",
    method: "elicitation/create",
  };
  assertEquals(ids.giveBack(question), question);
  const [listen] = ids.take(request("stream"));
  assert(listen);
  const key = "io.modelcontextprotocol/subscriptionId";
  const changed = (id: string | number): JSONRPCMessage => ({
    jsonrpc: "2.0",
    method: "notifications/tools/list_changed",
    params: { _meta: { [key]: id } },
  });
  assertEquals(ids.giveBack(changed(idOf(listen))), changed("stream"));
  assertEquals(ids.giveBack(changed("1:no JSON")), changed("1:no JSON"));
  const end = { resultType: "complete", _meta: { [key]: idOf(listen) } };
  assertEquals(
    ids.giveBack({ jsonrpc: "2.0", id: idOf(listen), result: end }),
    {
      jsonrpc: "2.0",
      id: "stream",
      result: { resultType: "complete", _meta: { [key]: "stream" } },
    },
  );
});
