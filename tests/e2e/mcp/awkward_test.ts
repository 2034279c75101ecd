import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";

const SCHEMAS = {
  "with space": { type: "object", properties: { text: { type: "string" } } },
  ["x".repeat(85)]: { type: "object" },
  ref: {
    type: "object",
    $defs: { name: { type: "string", minLength: 1 } },
    properties: { text: { $ref: "#/$defs/name" } },
  },
  choice: {
    type: "object",
    oneOf: [{ required: ["text"] }, { required: ["other"] }],
  },
  "dots.and/slashes": { type: "object" },
};

/** Says that its results have what they do not. */
const unfaithful = {
  name: "unfaithful",
  inputSchema: { type: "object" },
  outputSchema: {
    type: "object",
    properties: { count: { type: "integer" } },
    required: ["count"],
  },
};

const awkward = () =>
  fixture({
    only: ["big"],
    extraTools: [
      ...Object.entries(SCHEMAS).map(([name, inputSchema]) => ({
        name,
        inputSchema,
      })),
      unfaithful,
    ],
  });

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: tools with awkward names and schemas are listed whole, and called`, async () => {
    await using office = await serveOffice({ servers: { odd: awkward() } });
    await using client = await connect(office);
    const tools = await client.tools();
    const names = tools.map(({ name }) => name);
    assert(names.every((name) => /^[\w-]{1,48}$/.test(name)), String(names));
    assertEquals(new Set(names).size, names.length);
    const schemas = Object.values(SCHEMAS);
    assertEquals(
      tools.slice(1, 1 + schemas.length).map(({ inputSchema }) =>
        JSON.parse(JSON.stringify(inputSchema))
      ),
      schemas,
    );
    assertMatch(names[1] ?? "", /^pc__with_space_[0-9a-v]{6}$/);
    for (const name of names.slice(1, 1 + schemas.length)) {
      const { content } = await client.call(name, { text: name });
      assertEquals(content, [{ type: "text", text: name }]);
    }
  });

  Deno.test(`${kind}: a result that does not keep its schema fails at the client, unless the office is lenient`, async () => {
    await using strict = await serveOffice({ servers: { odd: awkward() } });
    await using client = await connect(strict);
    await client.tools();
    await assertRejects(
      () => client.call("pc__unfaithful", { text: "x" }),
      Error,
      "has an output schema but did not return structured content",
    );
    await using lenient = await serveOffice({
      servers: { odd: awkward() },
      mcp: { lenient: true },
    });
    await using other = await connect(lenient);
    await other.tools();
    const { content } = await other.call("pc__unfaithful", { text: "x" });
    assertEquals(content, [{ type: "text", text: "x" }]);
  });

  Deno.test(`${kind}: a result of 4 MB comes whole, one of 12 MB is a failure that says so`, async () => {
    await using office = await serveOffice({ servers: { odd: awkward() } });
    await using client = await connect(office);
    const large = await client.call("pc__big", { bytes: 4_000_000 });
    assertEquals(String(large.content[0]?.text).length, 4_000_000);
    const tooLarge = await client.call("pc__big", { bytes: 12_000_000 });
    assertEquals(tooLarge.isError, true);
    assertMatch(
      String(tooLarge.content[0]?.text),
      /its result cannot be sent: it has 12\d{6} bytes/,
    );
  });
}
