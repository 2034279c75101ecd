/**
 * The views that sign-ins get: equal choices share one, and those of one person take none from others.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { officeMcp } from "../../../../mcp/mod.ts";
import { ERAS, sdkClient } from "../../../support/mcp/clients.ts";
import { INITIALIZE, post } from "../../../support/mcp/post.ts";
import {
  bySignIn,
  signedIn,
  signInGateway,
} from "../../../support/mcp/sign_ins.ts";
import { OFFICE, startOffice } from "../../../support/office.ts";
import type { ComputerChoice } from "../../../../shared/computer_choice.ts";

const TOOL = {
  name: "echo",
  description: "",
  params_schema: { type: "object" },
  return_schema: null,
};

/** A Computer with one tool, which answers with the Computer's name. */
const answering = (name: string) => (event: string) => {
  switch (event) {
    case "client:get_tools":
      return { tools: [TOOL], req_id: "1" };
    case "client:tool_call":
      return { content: [{ type: "text", text: name }] };
    default:
      return { inputs: null, servers: {} };
  }
};

Deno.test("a flood of sign-ins takes views neither from other people nor from keys", async () => {
  const ids = Array.from({ length: 40 }, (_, at) => `ann${at}`);
  const choices = Object.fromEntries(
    ids.map((id) => [id, { only: ["pc", id] }]),
  );
  await using office = await startOffice({
    server: {
      gateway: signInGateway(
        { ...choices, bob: { only: ["pc"] } },
        {},
        (id) => id.slice(0, 3),
      ),
    },
  });
  await office.agent.leave();
  await office.addScriptedComputer("pc", answering("pc"));
  const url = new URL("/mcp/north", office.url);
  const open = (id: string, query = "") =>
    post(new URL(query, url), { body: INITIALIZE, headers: signedIn(id) });
  // Views without a session give way.
  for (const id of ids) {
    await using client = await sdkClient(bySignIn(url, id), "2026");
    assertEquals((await client.listTools()).tools.length, 1);
  }
  const statuses: number[] = [];
  for (const id of ids) statuses.push((await open(id)).status);
  assertEquals(
    statuses.map((status) => status === 200),
    ids.map((_, at) => at < 20),
  );
  assertStringIncludes((await open("ann39")).body, "Too many different");
  // Of a view that is there any number of clients has a session.
  assertEquals((await open("ann0")).status, 200);
  assertEquals((await open("bob")).status, 200);
  for (const query of ["", "?tools=search", "?lenient=1"]) {
    assertEquals((await open("nobody", query)).status, 200, query);
  }
});

const NAMES = ["a", "b", "c", "d e", "ü"];

const names = fc.uniqueArray(fc.constantFrom(...NAMES, "never"));
const choice: fc.Arbitrary<ComputerChoice> = fc.oneof(
  names.map((only) => ({ only })),
  names.map((except) => ({ except })),
);
const query = fc.record({
  computer: fc.option(fc.constantFrom(...NAMES, "never")),
  tools: fc.option(fc.constantFrom("search", "all")),
  include: fc.option(fc.constantFrom("*", "a__*", "never")),
  "desktop-tools": fc.option(fc.constantFrom("1")),
}).map((given) =>
  new URLSearchParams(
    Object.entries(given).flatMap(([name, value]) =>
      value === null ? [] : [[name, value]]
    ),
  )
);

for (const era of ERAS) {
  Deno.test(`${era}: whatever Computers are chosen and there, and whatever is asked, a client sees and reaches those that are both`, async () => {
    await using office = await startOffice();
    await using mcp = officeMcp(office.agent);
    const computers = new Map(
      await Promise.all(
        NAMES.map(async (name) =>
          [
            name,
            await office.addScriptedComputer(name, answering(name)),
          ] as const
        ),
      ),
    );
    const there = new Set(NAMES);
    /** Lets those Computers be in the office, and no other. */
    const become = async (members: readonly string[]) => {
      for (const [name, computer] of computers) {
        const isIn = members.includes(name);
        if (isIn === there.has(name)) continue;
        const seen = Promise.withResolvers<void>();
        const off = office.agent.on("tools", ({ computer, tools }) => {
          if (computer === name && (tools !== undefined) === isIn) {
            seen.resolve();
          }
        });
        await (isIn ? computer.join(OFFICE) : computer.leave());
        await seen.promise;
        off();
        if (isIn) there.add(name);
        else there.delete(name);
      }
    };
    let count = 0;
    const property = fc.asyncProperty(
      choice,
      query,
      fc.subarray(NAMES),
      async (computers, query, members) => {
        await become(members);
        const grant = { id: `${count++}`, computers };
        const asked = `${query}`;
        await using client = await sdkClient({
          url: new URL(`http://office/mcp${asked && `?${asked}`}`),
          fetch: (input, init) =>
            mcp.handle(new Request(input, init), { principal: "ann", grant }),
        }, era);
        const isChosen = (name: string) =>
          "only" in computers
            ? computers.only.includes(name)
            : !computers.except.includes(name);
        const only = query.get("computer");
        const expected = members.filter((name) =>
          isChosen(name) && (only ?? name) === name
        );
        const { resources } = await client.listResources();
        assertEquals(
          resources.map(({ name }) => name).toSorted(),
          expected.map((name) => `desktop of ${name}`).toSorted(),
        );
        const patterns = { "*": expected, "a__*": ["a"], never: [] };
        const include = query.get("include") ?? "*";
        const own = Reflect.get(patterns, include) as string[];
        const isShown = (name: string) =>
          expected.includes(name) && own.includes(name) &&
          (include === "*" || only === null);
        const call = (name: string, args: object) =>
          client.callTool({ name, arguments: { ...args } }).then(
            ({ content }) => JSON.stringify(content),
            (error) => `${error.message}`,
          );
        for (const name of NAMES) {
          const prefix = /^\w$/.test(name) ? `${name}__` : undefined;
          if (prefix === undefined) continue; // others have a hash in their names
          const tool = only === null ? `${prefix}echo` : "echo";
          const text = query.get("tools") === "search"
            ? await call("call_tool", { name: tool })
            : await call(tool, {});
          const isReached = text.includes(`"text":"${only ?? name}"`);
          assertEquals(isReached, isShown(only ?? name), `${tool}: ${text}`);
        }
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });
}
