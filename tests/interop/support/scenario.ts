/**
 * The features that must work with any Agent, Server and Computer, step by step, and the known failures
 * of other SDKs.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { randomBytes } from "node:crypto";
import { type CallToolResult, resultMeta } from "../../../protocol/mod.ts";
import {
  type AgentParty,
  COMPUTER,
  type ComputerParty,
  OFFICE,
} from "./parties.ts";
import type { Sdk } from "./venv.ts";
import {
  LONG_TEXT,
  SCRIPT,
  sha256,
  WINDOW,
  type Workplace,
} from "./workplace.ts";

/** An Agent and a Computer at one Server; the Agent joins first. */
interface Office {
  /** The version of the protocol that the Agent speaks. */
  readonly sdk: Sdk;
  /** That of the Computer. */
  readonly computerSdk: Sdk;
  /** Its calls name tools as their MCP server does. */
  readonly agent: AgentParty;
  readonly computer: ComputerParty;
  /** What the Computer hosts. */
  readonly place: Workplace;
  /** Ends a party's connection, without a farewell. */
  lose(party: "agent" | "computer"): void;
}

/** One feature to test in an office. */
type Step = (office: Office) => Promise<void>;

/** The text of a result. */
export const textOf = ({ content }: CallToolResult): string =>
  content.map(({ text }) => text ?? "").join("\n");

/** Whether an MCP server is identified by its `bundle_id` in a version (protocol §13). */
const hasBundleIds = (sdk: Sdk): boolean => sdk >= "0.3";

/** The tools that are not of `fixture`. */
const OWNERS: Readonly<Record<string, string>> = {
  image: "My_Files",
  digest: "My_Files",
  locked: "Vault",
};

/** The name of a tool for Agents. */
export const exposedName = (sdk: Sdk, tool: string): string =>
  hasBundleIds(sdk) ? `${OWNERS[tool] ?? "fixture"}__${tool}` : tool;

/** Asserts that a call of `echo` succeeds. */
async function echoes(agent: AgentParty, text: string): Promise<void> {
  const result = await agent.call("echo", { text });
  assertEquals([textOf(result), result.isError ?? false], [text, false]);
}

/** Asserts that a call fails; returns its result. */
async function fails(call: Promise<CallToolResult>): Promise<CallToolResult> {
  const result = await call;
  assertEquals(result.isError, true);
  return result;
}

/** A call that is cancelled once it has begun; otherwise it would end after so many seconds. */
async function cancelled({ agent }: Office, timeout: number) {
  const result = agent.callAs("x", "slow", timeout);
  result.catch(() => {}); // reported by the await below
  assertEquals(textOf(await agent.call("slow_began")), "it began");
  await agent.cancel("x");
  return await fails(result);
}

const wasAborted = async ({ agent }: Office) =>
  assertEquals(textOf(await agent.call("slow_aborted")), "it was aborted");

const MEMBER = { office_id: OFFICE, computer: COMPUTER };
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Column of the table → its steps, in this order. */
const FLOW = {
  join: {
    join: async ({ agent, computer }) => {
      await agent.join();
      await computer.join();
      assertEquals(await agent.heard("enter_office"), MEMBER);
    },
  },
  list: {
    list: async ({ agent }) =>
      assertEquals(await agent.computers(), [COMPUTER]),
  },
  tools: {
    tools: async ({ sdk, computerSdk, agent }) => {
      const whole = exposedName(computerSdk, "echo");
      const echo = (await agent.tools()).find(({ name }) => name === whole);
      assertEquals(
        [echo?.description, echo?.params_schema, echo?.return_schema ?? null],
        ["does echo", { type: "object" }, null],
      );
      const [isNew, isNewComputer] = [sdk, computerSdk].map(hasBundleIds);
      // An older Computer may not say of which MCP server a tool is.
      const owner = !isNewComputer && echo?.bundle_id === "mcp"
        ? "mcp"
        : "fixture";
      if (isNew) assertEquals(echo?.bundle_id, owner);
      else if (!isNewComputer) assertEquals(echo?.bundle_id, undefined);
    },
    "forbidden tool": async ({ computerSdk, agent }) => {
      const pid = exposedName(computerSdk, "pid");
      const tools = await agent.tools();
      assertEquals(tools.some(({ name }) => name === pid), false);
      await fails(agent.call("pid"));
    },
  },
  call: { call: ({ agent }) => echoes(agent, "grüß dich, 你好") },
  errors: {
    "error of the tool": async ({ agent }) => {
      const result = await fails(agent.call("fail"));
      assertStringIncludes(textOf(result), "it went wrong");
    },
    "unknown tool": async ({ agent }) => {
      await fails(agent.call("nothing"));
    },
    "unknown computer": async ({ agent }) => {
      const failure = await agent.call("echo", {}, { computer: "nobody" })
        .then((result) => result.isError ? textOf(result) : "none", String);
      assertMatch(failure, /Computer (with name )?["']nobody["'] (is )?not/);
    },
  },
  cancel: {
    cancel: async (office) => {
      const result = await cancelled(office, 60);
      assertEquals(resultMeta(result).a2c_cancelled, true);
      await wasAborted(office);
    },
  },
  timeout: {
    timeout: async ({ agent }) => {
      await fails(agent.call("slow", {}, { timeout: 1 }));
      await echoes(agent, "on");
    },
  },
  authorization: {
    authorization: async ({ agent }) => {
      const result = await fails(agent.call("locked", {}, { timeout: 60 }));
      const { error_code, mcp_server } = resultMeta(result);
      assertEquals([error_code, mcp_server], [4006, "Vault"]);
      await echoes(agent, "on");
    },
  },
  desktop: {
    desktop: async ({ agent }) =>
      assertEquals(await agent.desktop(), [
        `${WINDOW}\n\ncontents of ${WINDOW}`,
      ]),
  },
  config: {
    config: async ({ sdk, agent }) => {
      const { servers } = await agent.config();
      const files = hasBundleIds(sdk) ? "My_Files" : "My Files";
      const names = Object.keys(Object(servers)).sort();
      assertEquals(names, [files, "Vault", "fixture"]);
    },
  },
  /** Of a person and of an MCP server (protocol §8.6). */
  skills: {
    "skills are listed": async ({ agent }) => {
      let skills = await agent.skills();
      // Those of an MCP server may come after the Computer's join.
      while (skills.length < 2) {
        await agent.heard("update_skills");
        skills = await agent.skills();
      }
      const found = new Map(skills.map((skill) => [skill.name, skill]));
      const greeting = "greeting";
      const haiku = "mcp:My_Files:haiku";
      assertEquals([...found.keys()].sort(), [greeting, haiku]);
      const { source, description } = found.get(greeting) ?? {};
      assertEquals([source, description], ["user", "About greeting."]);
      assertEquals(found.get(haiku)?.version, "1.2.0");
    },
    "text of a skill": async ({ agent }) => {
      const { mimeType, bytes } = await agent.skill("greeting");
      assertEquals([mimeType, text(bytes)], ["text/markdown", "# greeting\n"]);
    },
    "long text of a skill": async ({ agent }) => {
      const { bytes } = await agent.skill("greeting", "long.md");
      assertEquals(text(bytes), LONG_TEXT);
    },
    "file of a skill by its handle": async ({ agent }) => {
      const { mimeType, bytes } = await agent.skill(
        ...["greeting", "scripts/run.sh"] as const,
      );
      assertEquals([mimeType, text(bytes)], [
        "application/octet-stream",
        SCRIPT,
      ]);
    },
    "hidden file of a skill": async ({ agent }) => {
      const failure = await agent.skill("greeting", ".skillenv")
        .then(() => "no failure", String);
      assertMatch(failure, /not accessible/);
    },
    "notify update_skills": async ({ agent, place }) => {
      await place.addSkill("farewell");
      const isListed = async () =>
        (await agent.skills()).some(({ name }) => name === "farewell");
      while (!await isListed()) await agent.heard("update_skills");
    },
  },
  /** Binary content of results, which may be larger than a message (protocol §8.7). */
  image: {
    "image of 1 MiB": async ({ agent }) => {
      const params = { bytes: 2 ** 20 };
      const [digest, image] = (await agent.call("image", params)).content;
      assert(digest?.type === "text" && image?.type === "image");
      const bytes = Uint8Array.fromBase64(image.data);
      assertEquals([bytes.length, sha256(bytes)], [2 ** 20, digest.text]);
      assertEquals(image.mimeType, "image/png");
      assertEquals(Object.keys(image._meta ?? {}), []);
    },
  },
  /** Files of the Agent for the Computer (protocol §8.7). */
  upload: {
    upload: async ({ agent, place }) => {
      const bytes = new Uint8Array(randomBytes(2 ** 20));
      const path = await agent.put("../we ird.bin", bytes);
      assert(path.startsWith(place.landingRoot), path);
      assert(path.endsWith("_we_ird.bin"), path);
      const digest = textOf(await agent.call("digest", { path }));
      assertEquals(digest, sha256(bytes));
    },
  },
  notifications: {
    "notify update_config": async ({ agent, computer }) => {
      await computer.updateConfig();
      assertEquals(await agent.heard("update_config"), { computer: COMPUTER });
    },
    "notify update_tool_list": async ({ agent }) => {
      await agent.call("add_tool", { name: "fresh" });
      const notification = await agent.heard("update_tool_list");
      assertEquals(notification, { computer: COMPUTER });
    },
    "a new tool can be called": async ({ computerSdk, agent }) => {
      const fresh = exposedName(computerSdk, "fresh");
      const isListed = async () =>
        (await agent.tools()).some(({ name }) => name === fresh);
      // Earlier notifications may stem from the Computer's join.
      while (!await isListed()) await agent.heard("update_tool_list");
      assertEquals(textOf(await agent.call("fresh", { text: "new" })), "new");
    },
    "notify update_desktop": async ({ agent }) => {
      await agent.call("touch", { uri: WINDOW });
      assertEquals(await agent.heard("update_desktop"), { computer: COMPUTER });
    },
  },
  /** Connections that end without a farewell. */
  reconnect: {
    "reconnect of the Agent": async ({ agent, lose }) => {
      lose("agent");
      await agent.rejoin();
      assertEquals(await agent.computers(), [COMPUTER]);
      await echoes(agent, "again");
    },
    "reconnect of the Computer": async ({ agent, computer, lose }) => {
      lose("computer");
      assertEquals(await agent.heard("leave_office"), MEMBER);
      await computer.rejoin();
      assertEquals(await agent.heard("enter_office"), MEMBER);
      await echoes(agent, "back");
    },
  },
  leave: {
    leave: async ({ agent, computer }) => {
      await computer.leave();
      assertEquals(await agent.heard("leave_office"), MEMBER);
      assertEquals(await agent.computers(), []);
      await agent.leave();
    },
  },
} satisfies Record<string, Record<string, Step>>;

/** A column of the table in `README.md`. */
type Column = keyof typeof FLOW;

/** All columns, in their order. */
export const COLUMNS = Object.keys(FLOW) as Column[];

/** The name of a step. */
type StepName = { [C in Column]: keyof (typeof FLOW)[C] }[Column];

/** The first version that has a feature; default 0.1. */
const SINCE: Partial<Record<Column, Sdk>> = {
  authorization: "0.2",
  skills: "0.2",
  image: "0.2", // before, it has to fit into a message
  upload: "0.4",
};

/** Failures of the peer: the number in `README.md`, and a check of the behaviour instead. */
export type KnownFailures = Partial<
  Record<StepName, { known: number; instead: Step }>
>;

/** The outcome of a feature: a mark for each step, none where the version of the Agent or the Computer lacks it. */
export type Marks = Record<Column, ("passed" | "failed" | number)[]>;

/** Runs all steps in an office; known failures of the peer must fail as described. */
export async function play(
  t: Deno.TestContext,
  office: Office,
  failures: KnownFailures = {},
): Promise<Marks> {
  const marks = Object.fromEntries(COLUMNS.map((c) => [c, []])) as Partial<
    Marks
  > as Marks;
  for (const column of COLUMNS) {
    const since = SINCE[column] ?? "0.1";
    if (since > office.sdk || since > office.computerSdk) continue;
    for (const [name, step] of Object.entries<Step>(FLOW[column])) {
      const { known, instead } = failures[name as StepName] ?? {};
      const passed = await t.step(
        instead
          ? `${name}: fails at the peer, as in README.md, no. ${known}`
          : name,
        () => bounded((instead ?? step)(office)),
      );
      marks[column].push(!passed ? "failed" : known ?? "passed");
      if (name === "join" && !passed) return marks;
    }
  }
  return marks;
}

/** Limits a step: a peer may never answer, which must fail the step and not block the suite. */
async function bounded(step: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = new Error("Nothing came within a minute");
  const guard = setTimeout(() => reject(late), 60_000);
  step.catch(() => {}); // may reject after the limit
  await Promise.race([step, promise]).finally(() => clearTimeout(guard));
}

const NO_NEW_TOOL: KnownFailures = {
  "a new tool can be called": {
    known: 3,
    instead: async ({ agent }) => {
      await fails(agent.call("fresh", { text: "new" }));
    },
  },
};

/** Known failures of the other SDKs' parties, numbered as in `README.md`. */
export const KNOWN: Partial<Record<string, KnownFailures>> = {
  "0.1 Python computer": {
    ...NO_NEW_TOOL,
    "forbidden tool": {
      known: 1,
      instead: async ({ agent }) => {
        const tools = await agent.tools();
        assertEquals(tools.some(({ name }) => name === "pid"), true);
        await fails(agent.call("pid"));
      },
    },
    cancel: {
      known: 2,
      instead: async (office) => {
        const result = await cancelled(office, 2); // at its timeout
        assertEquals(resultMeta(result).a2c_cancelled, undefined);
      },
    },
  },
  "0.2 Python computer": {
    ...NO_NEW_TOOL,
    authorization: {
      known: 8,
      instead: async ({ agent }) => {
        const call = agent.call("locked", {}, { timeout: 2 });
        const result = await fails(call); // at its timeout
        assertEquals(resultMeta(result).error_code === 4006, false);
      },
    },
    cancel: {
      known: 4,
      instead: async (office) => {
        const result = await cancelled(office, 60);
        assertStringIncludes(textOf(result), "Tool call cancelled");
        assertEquals(resultMeta(result).a2c_cancelled, undefined);
        await wasAborted(office);
      },
    },
  },
  "0.1 Python agent": {
    "unknown computer": {
      known: 5,
      instead: async ({ agent }) => {
        const call = agent.call("echo", {}, { computer: "nobody" });
        const why = "validation error for CallToolResult";
        assertStringIncludes(textOf(await fails(call)), why);
      },
    },
  },
  "0.1 Python server": {
    "unknown computer": {
      known: 6,
      instead: async ({ agent }) => {
        const to = { computer: "nobody", timeout: 1 };
        const result = await fails(agent.call("echo", {}, to)); // the Agent's own timeout
        assertEquals(textOf(result).includes("nobody"), false);
      },
    },
    config: {
      known: 7,
      instead: async ({ agent }) =>
        assertEquals(await agent.config().catch(() => null), null),
    },
  },
  "0.4 Rust agent": {
    cancel: {
      known: 9,
      instead: async (office) => {
        await fails(office.agent.call("slow")); // at its timeout, which cancels it
        await wasAborted(office);
      },
    },
  },
};
