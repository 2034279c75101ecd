/**
 * What a program has beyond its requests ends with its sign-in, and so do its calls; what other sign-ins of the same
 * person have, and her key, goes on.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { signIn } from "@a2c-smcp/server/sign-in";
import { GATEWAY_KEYS, gatewayKeys } from "../../../support/mcp/gateway.ts";
import { INITIALIZE, message, post } from "../../../support/mcp/post.ts";
import { startSlowOffice, TaskClient } from "../../../support/mcp/tasks.ts";
import { SignInVisitor } from "../../../support/server/sign_in.ts";

/** A browser and programs at a Server. */
class Visitor extends SignInVisitor {
  readonly issuer: string;

  constructor(url: string) {
    super();
    this.issuer = url;
  }

  override request(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.issuer + path, init);
  }
}

Deno.test("sign-in #34: sessions, calls and tasks of a sign-in end with it, and those of others go on", async () => {
  await using slow = await startSlowOffice({
    authenticator: gatewayKeys(),
    signIn: signIn(),
  });
  const { url } = slow;
  const visitor = new Visitor(slow.office.url);
  const enter = () =>
    visitor.enter(
      { key: GATEWAY_KEYS.ann, later: true },
      { resource: `${visitor.issuer}/mcp/north` },
    );
  const phone = await enter();
  const tablet = await enter();
  const senders: Readonly<Record<string, Record<string, string>>> = {
    phone: { authorization: `Bearer ${phone.access_token}` },
    tablet: { authorization: `Bearer ${tablet.access_token}` },
    key: { "x-api-key": GATEWAY_KEYS.ann },
  };
  const held = [];
  for (const [sender, headers] of Object.entries(senders)) {
    const tasks = new TaskClient({ url, headers });
    const { taskId } = await tasks.begin("pc__confirm");
    const opened = await post(url, { body: INITIALIZE, headers });
    const session = {
      ...headers,
      "mcp-session-id": String(opened.headers["mcp-session-id"]),
    };
    const body = message(2, "tools/call", { name: "pc__slow" });
    const called = post(url, { headers: session, body })
      .catch(() => undefined); // its connection is cut
    await slow.began("slow", held.length + 1);
    held.push({ sender, tasks, taskId, session, called });
  }
  const revoked = await visitor.post("/revoke", {
    token: phone.refresh_token,
    client_id: phone.client.id,
  });
  assertEquals([revoked.status, await revoked.text()], [200, ""]);
  assertEquals([...await slow.cancels(2)].toSorted(), ["confirm", "slow"]);
  for (const { sender, tasks, taskId, session } of held) {
    const ping = await post(url, {
      headers: session,
      body: message(3, "ping"),
    });
    if (sender === "phone") assertEquals(ping.status, 401);
    else {
      assertEquals(ping.status, 200, sender);
      assertEquals((await tasks.get(taskId)).status, "working", sender);
      slow.release("slow");
    }
  }
  const answers = await Promise.all(held.map(({ called }) => called));
  assertEquals(
    answers.map((answer) => answer?.body.includes("slow is done") ?? false),
    [false, true, true],
  );
  assertEquals((await slow.cancels(2)).length, 2);
});
