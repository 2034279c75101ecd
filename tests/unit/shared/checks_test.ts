import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type GetDesktopOptions,
  SmcpAgent,
  type SmcpAgentOptions,
} from "../../../agent/mod.ts";
import {
  s3Resolver,
  type S3ResolverOptions,
  ToolHost,
  type ToolHostOptions,
} from "../../../computer/mod.ts";
import { mcpGateway, officeMcp } from "../../../mcp/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { nearestWord } from "../../../shared/checks.ts";

/** Values that a program without types may pass, and how an error shows them. */
const WRONG = {
  'the text "5"': "5",
  'the text "PT5S"': "PT5S",
  "null": null,
  "a value of type object": [5],
  "a value of type boolean": true,
  "a value of type bigint": 5n,
};

/** What types would refuse. */
const asOptions = <T>(options: object): T => options as T;

Deno.test("every request of an Agent and of a ToolHost refuses an option that is no number, before anything is sent", async () => {
  await using host = new ToolHost({
    servers: { s: { type: "stdio", server_parameters: { command: "x" } } },
  });
  const agent = new SmcpAgent({ url: "http://127.0.0.1:1", name: "a" });
  await refuseAll({
    "callTool timeoutMs": (o) => agent.callTool("pc", "t", {}, o),
    "getDpe timeoutMs": (o) => agent.getDpe("pc", "dpe://h/d", o),
    "openDocument timeoutMs": (o) => agent.openDocument("pc", "dpe://h/d", o),
    "readResource timeoutMs": (o) => agent.readResource("pc", "s", "u:1", o),
    "getPrompts timeoutMs": (o) => agent.getPrompts("pc", o),
    "getResourceTemplates timeoutMs": (o) =>
      agent.getResourceTemplates("pc", o),
    "complete timeoutMs": (o) =>
      agent.complete("pc", "s", {
        ref: { type: "ref/prompt", name: "p" },
        argument: { name: "a", value: "" },
      }, o),
    "getPrompt timeoutMs": (o) => agent.getPrompt("pc", "s", "p", o),
    "getDesktop size": (o) => agent.getDesktop("pc", o),
    "followDesktop size": (o) =>
      agent.followDesktop("pc", asOptions<GetDesktopOptions>(o)).next(),
    "getFinder offset": (o) => agent.getFinder("pc", o),
    "getFinder limit": (o) => agent.getFinder("pc", o),
  });
  await refuseAll({
    "callTool timeoutMs": (o) => host.callTool("t", {}, o),
    "getDpe timeoutMs": (o) => host.getDpe("dpe://h/d", o),
    "readResource timeoutMs": (o) => host.readResource("s", "u:1", o),
    "getPrompts timeoutMs": (o) => host.getPrompts(o),
    "getPrompt timeoutMs": (o) => host.getPrompt("s", "p", o),
    "getDesktop size": (o) => host.getDesktop(o),
    "getFinder offset": (o) => host.getFinder(o),
    "getFinder limit": (o) => host.getFinder(o),
  });
});

Deno.test("constructors refuse an option that is no number, nested ones too", () => {
  const host = (option: object) =>
    new ToolHost(asOptions<ToolHostOptions>({ servers: {}, ...option }));
  const agent = new SmcpAgent(
    asOptions<SmcpAgentOptions>({ url: "http://127.0.0.1:1", name: "a" }),
  );
  const s3 = { endpoint: "https://s3.example", bucket: "b", region: "auto" };
  const gateway = (option: object) => officeMcp(agent, option);
  const resolver = (option: object) =>
    s3Resolver(asOptions<S3ResolverOptions>({ ...s3, ...option }));
  const rows: [make: (option: object) => unknown, ...paths: string[]][] = [
    [
      host,
      ...["startTimeoutMs", "maxMessageBytes", "restart.minDelayMs"],
      ...["restart.maxDelayMs", "restart.jitter", "restart.healthyMs"],
      ...["uploads.maxBytes", "uploads.maxConcurrent", "uploads.idleTimeoutMs"],
      ...["blobStore.maxBytes", "blobStore.memoryBytes"],
    ],
    [resolver, "expiresInMs"],
    [
      gateway,
      ...["nameLimit", "callTimeoutMs", "heartbeatMs", "callsPerSecond"],
      ...["maxCalls", "maxBodyBytes", "maxSessions", "sessionIdleMs"],
      "abandonedMs",
    ],
    [mcpGateway, "seatIdleMs", "maxOffices"],
    [
      createSmcpServer,
      ...["maxMessageBytes", "maxConnectBytes", "requestTimeoutMs"],
      ...["trustedProxies", "handshakeTimeoutMs", "connectTimeoutMs"],
      ...["headerTimeoutMs", "minUploadRate", "heartbeat.intervalMs"],
      ...["heartbeat.timeoutMs", "limits.eventsPerSecond"],
      "limits.connectionsPerAddress",
    ],
  ];
  for (
    const [make, path] of rows.flatMap(([make, ...paths]) =>
      paths.map((path) => [make, path] as const)
    )
  ) {
    for (const [text, value] of Object.entries(WRONG)) {
      if (value === null) continue; // the same as absent, in some of them
      const error = assertThrows(() => make(nest(path, value)), TypeError);
      const says = `Cannot use ${path}: expected a number, got ${text}`;
      assertEquals(error.message, says);
    }
  }
});

/** @param requests by their name and that of the option */
async function refuseAll(
  requests: Record<string, (option: object) => Promise<unknown>>,
): Promise<void> {
  for (const [name, request] of Object.entries(requests)) {
    const [, option = ""] = name.split(" ");
    for (const [text, value] of Object.entries(WRONG)) {
      const error = await assertRejects(
        () => request({ [option]: value }),
        TypeError,
      );
      assertEquals(
        error.message,
        `Cannot use ${option}: expected a number, got ${text}`,
        name,
      );
    }
  }
}

/** Makes `{a: {b: value}}` of `a.b`. */
const nest = (path: string, value: unknown): object =>
  path.split(".").reduceRight<unknown>(
    (inner, key) => ({ [key]: inner }),
    value,
  ) as object;

Deno.test("nearestWord() finds misspelled words, and no different ones", () => {
  const known = ["forbidden_tools", "disabled", "args", "env", "vrl"];
  const rows: [word: string, meant: string | undefined][] = [
    ["forbiden_tools", "forbidden_tools"],
    ["forbidden-tools", "forbidden_tools"],
    ["FORBIDDENTOOLS", "forbidden_tools"],
    ["forbidden_tool", "forbidden_tools"],
    ["disalbed", "disabled"],
    ["agrs", "args"],
    ["evn", "env"],
    ["vr", "vrl"],
    ["headers", undefined],
    ["x", undefined],
    ["", undefined],
    ["a".repeat(100_000), undefined],
  ];
  for (const [word, meant] of rows) {
    assertEquals(nearestWord(word, known), meant);
  }
});

Deno.test("nearestWord() compares a bounded number of words of bounded length", () => {
  const many = (word: string) => [...Array(5_000).fill("other"), word];
  assertEquals(nearestWord("servres", ["servers"]), "servers");
  assertEquals(nearestWord("servres", many("servers")), undefined);
  assertEquals(nearestWord("a", ["-".repeat(1_000_000) + "a"]), undefined);
});
