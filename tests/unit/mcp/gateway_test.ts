import { assertEquals } from "@std/assert";
import { OfficeGateway } from "../../../mcp/gateway.ts";
import { type Admitted, resolveGatewayOptions } from "../../../mcp/options.ts";

/** A gateway whose requests and calls end when the test says so. */
function startGateway() {
  let endCall: Admitted | Promise<Admitted>;
  const answers: PromiseWithResolvers<Response>[] = [];
  const gateway = new OfficeGateway(
    {
      limits: { eventsPerSecond: 100, callsPerAgent: 10 },
      maxMessageBytes: 1000,
      connect: () => {
        throw new Error("nothing takes the seat");
      },
      agentOf: () => Promise.resolve(undefined),
      attribute: () => () => {},
    },
    resolveGatewayOptions({}),
    (_, { admit }) => ({
      handle() {
        endCall ??= admit?.({ reqId: "1", computer: "pc" });
        const answer = Promise.withResolvers<Response>();
        answers.push(answer);
        return answer.promise;
      },
      refresh: () => Promise.resolve(),
      close: () => Promise.resolve(),
    }),
  );
  return {
    /** Begins a request; returns what answers it. */
    begin(principal: string) {
      const request = new Request("http://localhost/mcp/north");
      const response = gateway.handle(request, { office: "north", principal });
      const answer = answers.at(-1);
      return async () => {
        answer?.resolve(new Response());
        await response;
      };
    },
    makeWay: (principal: string) => gateway.makeWay("north", principal),
    endCall: async () => (await endCall)?.(),
    [Symbol.asyncDispose]: () => gateway.close(),
  };
}

Deno.test("makeWay() refuses an Agent when a request has begun while it waited for a call", async () => {
  await using gateway = startGateway();
  await gateway.begin("ann")();
  const way = gateway.makeWay("ann");
  const answer = gateway.begin("ann");
  await gateway.endCall();
  assertEquals(
    await way,
    '"mcp" has it for MCP clients, until their calls have ended: 1 in flight',
  );
  await answer();
  assertEquals(await gateway.makeWay("ann"), undefined);
});

Deno.test("makeWay() refuses an Agent when somebody else has used the seat while it waited for a call", async () => {
  await using gateway = startGateway();
  await gateway.begin("ann")();
  const way = gateway.makeWay("ann");
  await gateway.begin("bob")();
  await gateway.endCall();
  assertEquals(
    await way,
    '"mcp" has it for MCP clients with other credentials, until 60 seconds after their last request or stream',
  );
});
