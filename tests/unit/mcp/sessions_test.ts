import { assertEquals } from "@std/assert";
import type { SmcpAgent } from "../../../agent/mod.ts";
import { Sessions } from "../../../mcp/http/sessions.ts";
import { openView } from "../../../mcp/office/office_view.ts";
import { createQuestionStates } from "../../../mcp/office/questions.ts";
import { callQueue } from "../../../mcp/office/turn.ts";
import { resolveOptions } from "../../../mcp/options.ts";
import { Watches } from "../../../mcp/resources/watches.ts";
import { INITIALIZE } from "../../support/mcp/post.ts";

/** Sends `initialize`; the transport of the MCP SDK refuses what does not accept both forms of an answer. */
const initialize = (sessions: Sessions, accept: string) => {
  const headers = { accept, "content-type": "application/json" };
  const request = new Request("http://x/", { method: "POST", headers });
  return sessions.serve(request, { parsedBody: JSON.parse(INITIALIZE) });
};

Deno.test("a session counts while it opens, and no more where that fails", async () => {
  const agent = Promise.withResolvers<SmcpAgent>();
  const options = resolveOptions({ maxSessions: 1 });
  const view = openView(() => agent.promise, options, new Watches());
  const [queue, states] = [callQueue(1, 1), createQuestionStates()];
  const sessions = new Sessions({ view, queue, states, options });
  const opening = initialize(sessions, "application/json");
  assertEquals(sessions.size, 1);
  const both = "application/json, text/event-stream";
  assertEquals((await initialize(sessions, both)).status, 503);
  agent.reject(new Error("The seat is taken"));
  assertEquals([(await opening).status, sessions.size], [406, 0]);
  const response = await initialize(sessions, both);
  assertEquals([response.status, sessions.size], [200, 1]);
  await response.text();
  await sessions.close();
  assertEquals(sessions.size, 0);
  view.close();
});
