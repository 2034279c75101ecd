import { assertEquals, assertStringIncludes } from "@std/assert";
import type { OfficeMcpOptions } from "../../../mcp/mod.ts";
import { CLIENTS, connectV1 } from "../../support/mcp/clients.ts";
import { type OfficeServed, serveOffice } from "../../support/mcp/office.ts";
import { pipeCommand } from "../../support/mcp/pipe.ts";
import { INITIALIZE, JSON_HEADERS, refusalOf } from "../../support/mcp/raw.ts";

const shown = async ({ url }: OfficeServed, query: string) => {
  await using client = await connectV1({ url: new URL(`?${query}`, url) });
  return (await client.tools()).map(({ name }) => name);
};

Deno.test("the query of the URL says what a client sees of an office, each client for itself", async () => {
  await using office = await serveOffice();
  const all = await shown(office, "");
  assertEquals(
    await shown(office, "computer=pc"),
    all.map((name) => name.replace("pc__", "")),
  );
  assertEquals(await shown(office, "include=pc__echo"), ["pc__echo"]);
  assertEquals(
    await shown(office, "exclude=pc__echo"),
    all.filter((name) => name !== "pc__echo"),
  );
  assertEquals(await shown(office, "tools=search"), [
    "search_tools",
    "call_tool",
  ]);
  assertEquals(await shown(office, "computer=other"), []);
});

Deno.test("a query that cannot be used is refused by name, and by 400", async () => {
  await using office = await serveOffice({ mcp: { computer: "pc" } });
  const wrong = {
    "exlude=x": `There is no parameter "exlude"`,
    "name-limit=1": "Cannot use nameLimit 1",
    "include=a.b": `Cannot use the pattern "a.b"`,
    "computer=other": `Cannot use computer "other": only "pc" is served here`,
  };
  for (const [query, expected] of Object.entries(wrong)) {
    const response = await fetch(new URL(`?${query}`, office.url), {
      method: "POST",
      headers: JSON_HEADERS,
      body: INITIALIZE,
    });
    const { status, message } = await refusalOf(response);
    assertEquals(status, 400);
    assertStringIncludes(String(message), expected);
  }
});

Deno.test("no query gets around what an office shows", async () => {
  const cases: [OfficeMcpOptions, string][] = [
    [{ exclude: ["pc__echo"] }, "computer=pc"],
    [{ exclude: ["pc__echo"] }, "include=pc__echo"],
    [{ exclude: ["pc__echo"] }, "name-limit=24"],
    [{ include: ["pc__slow*"] }, "include=*"],
    [{ include: ["pc__slow*"] }, "computer=pc&include=echo"],
  ];
  for (const [mcp, query] of cases) {
    await using office = await serveOffice({ mcp });
    const names = await shown(office, query);
    assertEquals(names.filter((name) => /echo$/.test(name)), [], query);
  }
});

Deno.test("views beyond the most that there can be end the one that nobody uses", async () => {
  await using office = await serveOffice();
  for (let limit = 24; limit < 128; limit++) {
    const names = await shownOnce(office, `name-limit=${limit}`);
    assertEquals(names.includes("pc__echo"), true);
  }
});

/** As {@linkcode shown}, with the session ended: it would keep the view. */
async function shownOnce({ url }: OfficeServed, query: string) {
  await using client = await connectV1({ url: new URL(`?${query}`, url) });
  const names = (await client.tools()).map(({ name }) => name);
  await client.terminate();
  return names;
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: the flags of smcp-agent mcp say what it shows`, async () => {
    await using office = await serveOffice();
    const flags = ["--computer", "pc", "--include", "echo", "--desktop-tools"];
    await using client = await connect(pipeCommand(office.url, ...flags));
    assertEquals(
      (await client.tools()).map(({ name }) => name),
      ["echo", "desktop", "find_documents", "read_document"],
    );
  });
}
