import fc from "fast-check";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { parseInParts, parseLong } from "../../../agent/parse_answer.ts";
import {
  CLIENT_EVENTS,
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  ProtocolError,
} from "../../../protocol/mod.ts";

const tool = (name: unknown) => ({
  name,
  description: "",
  params_schema: { type: "object" },
});

const tools = (count: number, more: object = {}) => ({
  req_id: "1",
  tools: Array.from({ length: count }, (_, at) => tool(`t${at}`)),
  ...more,
});

Deno.test("parseInParts() parses a long list as the whole, in order, with the other members", async () => {
  const { parseAnswer } = CLIENT_EVENTS[GET_TOOLS_EVENT];
  for (const count of [0, 1, 100, 101, 350]) {
    const answer = tools(count, { extra: [1] });
    assertEquals(
      await parseInParts(GET_TOOLS_EVENT, answer),
      parseAnswer(answer),
    );
  }
});

Deno.test("parseInParts() parses members by name as the whole, whichever names they have", async () => {
  const { parseAnswer } = CLIENT_EVENTS[GET_CONFIG_EVENT];
  const server = {
    type: "stdio",
    name: "x",
    disabled: false,
    forbidden_tools: [],
    tool_meta: {},
    server_parameters: {
      command: "x",
      args: [],
      env: null,
      cwd: null,
      encoding: "utf-8",
      encoding_error_handler: "strict",
    },
  };
  const names = [...Array(250).keys()].map((at) => `s${at}`);
  const text = JSON.stringify(Object.fromEntries(
    [...names, "7", "toString"].map((name) => [name, { ...server, name }]),
  ));
  const servers = JSON.parse(
    `{"__proto__":${JSON.stringify(server)},${text.slice(1)}`,
  );
  const answer = { servers, inputs: [] };
  assertEquals(
    JSON.stringify(await parseInParts(GET_CONFIG_EVENT, answer)),
    JSON.stringify(parseAnswer(answer)),
  );
});

Deno.test("parseLong() lets the event loop turn while it parses many items, valid or not", async () => {
  const { tools: valid } = tools(5_000);
  for (const list of [valid, valid.map(() => tool(5))]) {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await parseLong(GET_TOOLS_EVENT, { req_id: "1", tools: list })
      .finally(() => clearInterval(timer));
    assert(turns > 0, "nothing else ran");
  }
});

Deno.test("parseInParts() names an invalid item by its place in the whole list", async () => {
  const { parseAnswer } = CLIENT_EVENTS[GET_TOOLS_EVENT];
  await fc.assert(
    fc.asyncProperty(fc.nat(349), async (at) => {
      const answer = tools(350);
      answer.tools[at] = tool(5);
      const expected = assertThrows(() => parseAnswer(answer), ProtocolError);
      const error = await assertRejects(
        () => parseInParts(GET_TOOLS_EVENT, answer),
        ProtocolError,
      );
      assertEquals(error.toPayload(), expected.toPayload());
    }),
    { numRuns: 20 },
  );
});

Deno.test("parseLong() leaves out invalid tools, and names them; other faults are errors", async () => {
  for (const count of [3, 350]) {
    const answer = tools(count, { problems: ["one more"] });
    answer.tools[1] = tool(5);
    answer.tools[2] = { ...tool("odd"), params_schema: null as never };
    const { tools: left, problems } = await parseLong(GET_TOOLS_EVENT, answer);
    assertEquals(left.length, count - 2);
    assertEquals(problems, [
      "one more",
      '2 tools are left out, since they are invalid: 5, "odd"',
    ]);
  }
  for (const wrong of [{ tools: {} }, { tools: [], req_id: 5 }, null]) {
    await assertRejects(() => parseLong(GET_TOOLS_EVENT, wrong), ProtocolError);
  }
});
