import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import type { SmcpAgent } from "../../../agent/mod.ts";
import { McpGateway } from "../../../mcp/gateway.ts";
import { TaskTable } from "../../../mcp/tasks/task_table.ts";
import { QuickAnswers } from "../../../mcp/http/quick_answer.ts";
import { EventRoom } from "../../../mcp/http/kept_events.ts";
import { Sessions } from "../../../mcp/http/sessions.ts";
import { type Progress, ProgressReporter } from "../../../mcp/office/call.ts";
import type { Trouble } from "../../../mcp/office/followed_agent.ts";
import { OfficeView } from "../../../mcp/office/office_view.ts";
import { createQuestionStates } from "../../../mcp/office/questions.ts";
import { instructionsOf } from "../../../mcp/office/server.ts";
import { writeInstructions } from "../../../mcp/office/server_instructions.ts";
import {
  type Admitted,
  type OfficeMcpOptions,
  resolveGatewayOptions,
  resolveOptions,
} from "../../../mcp/options.ts";
import { Watches } from "../../../mcp/resources/watches.ts";
import { Catalogue } from "../../../mcp/tools/catalogue.ts";
import { computerPart } from "../../../mcp/tools/names.ts";
import { RateQueue } from "../../../shared/async.ts";
import { INITIALIZE } from "../../support/mcp/post.ts";

/** What is said of an office of some Computers, each with so many tools. */
async function said(
  counts: Record<string, number>,
  troubles: Map<string, Trouble>,
  options: OfficeMcpOptions,
): Promise<string> {
  const catalogue = new Catalogue(resolveOptions({}));
  await catalogue.update(
    new Map(
      Object.entries(counts).map(([computer, count]) => [
        computer,
        {
          tools: Array.from({ length: count }, (_, i) => ({
            name: `tool_${i}`,
            description: "",
            params_schema: {},
            return_schema: null,
          })),
        },
      ]),
    ),
  );
  const view = { office: "home", catalogue, troubles };
  return instructionsOf(view, resolveOptions(options));
}

Deno.test("instructionsOf() counts tools that are too large, and names a bounded number of silent MCP servers", async () => {
  const catalogue = new Catalogue(resolveOptions({}));
  const heavy = { name: "x", params_schema: {}, return_schema: null };
  const description = "a".repeat(1_000_001);
  const tools = [{ ...heavy, description }];
  await catalogue.update(new Map([["pc", { tools }]]));
  const silent = Array.from({ length: 5_000 }, (_, at) => `s${at}`);
  const text = instructionsOf({
    office: "home",
    catalogue,
    troubles: new Map([["pc", { silent }]]),
  }, resolveOptions({}));
  const lines = text.split("\n");
  assertEquals(lines[2], "Tools of pc that are too large to be shown: 1.");
  assert(lines[3]?.endsWith("s48, s49 and 4950 more."), lines[3]);
});

Deno.test("instructionsOf() names the Computers and their tools, what is wrong at those that are there, and how to find tools", async () => {
  const alias = computerPart("build box", 48);
  const all =
    'The tools of the Computers in the office "home". Each runs on the Computer that its name begins with: laptop__echo is the tool echo of the Computer laptop.';
  const many = Array.from({ length: 60 }, (_, i) => [`pc${10 + i}`, 0]);
  const troubles = new Map<string, Trouble>([
    ["laptop", { silent: ["files", "mail"] }],
    ["nas", { unfetched: "No answer within 30 s" }],
    ["gone", { silent: ["x"] }],
  ]);
  for (
    const [counts, options, lines] of [
      [{ laptop: 2, "build box": 1 }, {}, [
        all,
        `Computers: build box (named ${alias}__… here, 1 tool), laptop (2 tools).`,
      ]],
      [{}, {}, [all, "No Computer is there at the moment."]],
      [Object.fromEntries(many), {}, [all, /pc59 \(0 tools\) and 10 more\.$/]],
      [{ laptop: 1, nas: 0 }, {}, [
        all,
        "Computers: laptop (1 tool), nas (0 tools).",
        "On laptop these MCP servers offer no tool now, perhaps because they do not run: files, mail.",
        "The tools of nas could not be fetched: No answer within 30 s",
      ]],
      [{ laptop: 1 }, { computer: "laptop", tools: "search" }, [
        'The tools of the Computer laptop in the office "home"; each runs there.',
        "Find tools with search_tools, and call them with call_tool.",
        "Computers: laptop (1 tool).",
      ]],
    ] satisfies [Record<string, number>, OfficeMcpOptions, unknown[]][]
  ) {
    const wrong = "nas" in counts ? troubles : new Map<string, Trouble>();
    assertEquals(
      (await said(counts, wrong, options)).split("\n").map((line, i) => {
        const expected = lines[i];
        return expected instanceof RegExp && expected.test(line)
          ? expected
          : line;
      }),
      lines,
    );
  }
});

/** A reporter, and what it has sent. */
function report(everyMs: number) {
  const sent: Progress[] = [];
  let onSent = () => {};
  const reporter = new ProgressReporter("laptop", everyMs, (progress) => {
    sent.push(progress);
    onSent();
  });
  const reached = (count: number) =>
    new Promise<void>((resolve) => {
      onSent = () => sent.length >= count ? resolve() : undefined;
      onSent();
    });
  return { reporter, sent, reached };
}

const isIncreasing = (sent: readonly Progress[]) =>
  sent.every(({ progress }, i) =>
    i === 0 || progress > (sent[i - 1]?.progress ?? Infinity)
  );

Deno.test("ProgressReporter passes on the tool's own numbers, and signs of life between them stay below the next", async () => {
  const { reporter, sent, reached } = report(1);
  reporter.report({ progress: 0, total: 3 });
  await reached(3);
  reporter.report({ progress: 1, total: 3, message: "half" });
  await reached(sent.length + 1);
  reporter.report({ progress: 2, total: 3 });
  reporter.end();
  assert(isIncreasing(sent));
  assertEquals(
    sent.filter(({ total }) => total === 3).map(({ progress }) => progress),
    [0, 1, 2],
  );
});

Deno.test("ProgressReporter leaves out numbers that do not increase", () => {
  const { reporter, sent } = report(60_000);
  for (const progress of [5, 5, 4, 6, 1e15]) reporter.report({ progress });
  reporter.end();
  assertEquals(sent.map(({ progress }) => progress), [5, 6, 1e15]);
});

/** A gateway whose requests and calls end when the test says so. */
function startGateway() {
  let endCall: Admitted | Promise<Admitted>;
  const answers: PromiseWithResolvers<Response>[] = [];
  const gateway = new McpGateway(
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
      http: {
        answer: () => Promise.resolve({}),
        serve() {
          endCall ??= admit?.({ reqId: "1", computer: "pc" });
          const answer = Promise.withResolvers<Response>();
          answers.push(answer);
          return answer.promise;
        },
        forget() {},
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
    freeSeat: (principal: string) => gateway.freeSeat("north", principal),
    endCall: async () => (await endCall)?.(),
    [Symbol.asyncDispose]: () => gateway.close(),
  };
}

Deno.test("freeSeat() refuses an Agent when a request has begun while it waited for a call", async () => {
  await using gateway = startGateway();
  await gateway.begin("ann")();
  const way = gateway.freeSeat("ann");
  const answer = gateway.begin("ann");
  await gateway.endCall();
  assertEquals(await way, {
    holder: "mcp",
    until: { kind: "calls", inFlight: 1 },
  });
  await answer();
  assertEquals(await gateway.freeSeat("ann"), undefined);
});

Deno.test("freeSeat() refuses an Agent when somebody else has used the seat while it waited for a call", async () => {
  await using gateway = startGateway();
  await gateway.begin("ann")();
  const way = gateway.freeSeat("ann");
  await gateway.begin("bob")();
  await gateway.endCall();
  assertEquals(await way, {
    holder: "mcp",
    until: { kind: "idle", idleMs: 60_000 },
  });
});

/** Sends `initialize`; the transport of the MCP SDK refuses what does not accept both forms of an answer. */
const initialize = (sessions: Sessions, accept: string) => {
  const headers = { accept, "content-type": "application/json" };
  const request = new Request("http://x/", { method: "POST", headers });
  return sessions.serve(request, { parsedBody: JSON.parse(INITIALIZE) });
};

Deno.test("a session counts while it opens, and no more where that fails", async () => {
  const agent = Promise.withResolvers<SmcpAgent>();
  const options = resolveOptions({ maxSessions: 1 });
  const view = new OfficeView(() => agent.promise, options, new Watches());
  const queue = new RateQueue(1, 1);
  const states = createQuestionStates();
  const sessions = new Sessions(
    { view, queue, states, tasks: new TaskTable(), options },
    new QuickAnswers(options.heartbeatMs),
    new EventRoom(),
  );
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

Deno.test("writeInstructions() gives each MCP server its part, all of them a bound, and names those that do not fit", () => {
  const texts = Array.from({ length: 9 }, (_, at) => ({
    computer: "pc",
    mcp_server: `s${at}`,
    text: at === 0 ? ` short \n` : "😀".repeat(3_000),
  }));
  const text = writeInstructions(texts);
  assertStringIncludes(
    text,
    "From the MCP server s0 of pc, whose own names of tools have no prefix:\nshort\n",
  );
  assert(text.isWellFormed() && text.length < 21_500, `${text.length}`);
  assertEquals(text.split("more characters]").length - 1, 5);
  assertMatch(text, /do not fit here: s6 of pc, s7 of pc, s8 of pc\.$/);
  assertEquals(writeInstructions([]), "");
});
