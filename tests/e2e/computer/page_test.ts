/**
 * The page of a Computer (`--ui`): its state, the questions that it answers, and the requests that it refuses.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { fileURLToPath } from "node:url";
import { start } from "../../support/child.ts";
import { argumentsOf } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startOAuth, visit } from "../../support/computer/oauth.ts";
import {
  askPage,
  openPage,
  pageLink,
  questionText,
} from "../../support/computer/page_client.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const auto = { default_tool_meta: { auto_apply: true } };

/** Starts a Computer with a page in an office. */
async function started(config: object, flags: string[] = []) {
  await using stack = new AsyncDisposableStack();
  const office = stack.use(await startOffice());
  const { file } = stack.use(await configFile(config));
  const running = stack.use(
    runComputer(office, file, { flags: ["--ui", ...flags] }),
  );
  const link = await pageLink(running);
  const page = stack.use(await openPage(link));
  const all = stack.move();
  return {
    agent: office.agent,
    office,
    running,
    link,
    page,
    /** Resolves when the Computer has joined, and offers a number of tools. */
    offers: (tools: number) =>
      page.until(({ computer }) =>
        computer.tools.length === tools && computer.office === OFFICE
      ),
    answer: (id: string, body: unknown) => page.ask(`/questions/${id}`, body),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

Deno.test("--ui: the page shows connection, office, MCP servers, problems with remedies, and tools", async () => {
  await using pc = await started({
    servers: {
      files: fixture({ only: ["echo"] }, {
        ...auto,
        forbidden_tools: ["no_such_tool"],
      }),
      broken: fixture({ start: "exit" }),
      "my notes": fixture({ only: ["echo"] }, {
        tool_meta: { echo: { alias: "note" } },
      }),
      off: fixture({}, { disabled: true }),
    },
  });
  await pc.offers(2);
  const { computer } = await pc.page.until(({ computer }) =>
    computer.servers.some(({ does, bundleId }) =>
      bundleId === "broken" && does.includes("next attempt")
    )
  );
  const { name, url, connection, protocol, problems } = computer;
  assertEquals(
    [name, url, connection, protocol, problems],
    ["pc", pc.office.url, "connected", "0.2", []],
  );
  assertEquals(
    computer.servers.map(({ label, tools }) => [label, tools]),
    [["files", 1], ["broken", 0], ["my notes (my_notes)", 1], ["off", 0]],
  );
  const [files, broken, notes, off] = computer.servers;
  assertEquals([files?.state, files?.does], ["running", "is running"]);
  assertMatch(files?.problems.join() ?? "", /no_such_tool/);
  assertMatch(
    broken?.problems.join() ?? "",
    /exited with code 7.*; run its command by hand to see why$/,
  );
  assertMatch(broken?.does ?? "", /the next attempt to start it is at 20/);
  assertEquals([notes?.problems, off?.state], [[], "disabled"]);
  assertEquals(
    computer.tools.map(({ name, bundleId }) => [name, bundleId]),
    [["echo", "files"], ["note", "my_notes"]],
  );
  const { body } = await pc.page.ask("/tools");
  assertEquals(
    body.tools.map(({ name }: { name: string }) => name),
    ["echo", "note"],
  );
  assert(body.tools[0].params_schema, JSON.stringify(body.tools[0]));
  await pc.running.stop();
  const { lines } = pc.running;
  const withToken = lines.filter((line) => line.includes(pc.link.token));
  assertEquals(withToken.length, 1, "the token is in the link alone");
});

Deno.test("--ui: the page lists calls while they run and when they ended, with their contents", async () => {
  await using pc = await started({
    servers: {
      files: fixture({ only: ["echo", "fail", "slow", "big"] }, auto),
    },
  });
  await pc.offers(4);
  const { agent, page } = pc;
  await agent.callTool("pc", "echo", { text: "hello" });
  await agent.callTool("pc", "fail", {});
  await agent.callTool("pc", "big", { bytes: 400_000 });
  const { cancel, called } = cancellable((signal) =>
    agent.callTool("pc", "slow", {}, { signal })
  );
  const { calls } = await page.until(({ calls }) => calls.length === 4);
  assertEquals(
    calls.map(({ key, agent, tool, outcome }) => [key, agent, tool, outcome]),
    [
      [1, "planner", "echo", "ok"],
      [2, "planner", "fail", "tool error"],
      [3, "planner", "big", "ok"],
      [4, "planner", "slow", undefined],
    ],
  );
  assert(calls.every(({ beganAt, endedAt = Infinity }) => beganAt <= endedAt));
  cancel();
  await called;
  const { calls: then } = await page.until(({ calls }) =>
    calls[3]?.outcome !== undefined
  );
  assertEquals(then[3]?.outcome, "cancelled");

  const { body: echo } = await page.ask("/calls/1");
  assertEquals([echo.params, echo.result.content, echo.isClipped], [
    { text: "hello" },
    [{ type: "text", text: "hello" }],
    false,
  ]);
  const { body: big } = await page.ask("/calls/3");
  assertEquals(big.isClipped, true);
  assert(big.result.content[0].text.length < 300_000);

  // A page that is opened later gets the same.
  await using other = await openPage(pc.link);
  const { calls: again } = await other.until(() => true);
  assertEquals(again, then);
});

/** Starts a call that a test cancels. */
function cancellable(call: (signal: AbortSignal) => Promise<unknown>) {
  const controller = new AbortController();
  return {
    cancel: () => controller.abort(),
    called: call(controller.signal).catch(() => {}),
  };
}

Deno.test("up --ui: the page of the Computer beside a Server of its own", async () => {
  await using config = await configFile({
    servers: { files: fixture({ only: ["echo"] }, auto) },
  });
  const main = fileURLToPath(new URL("../../../main.ts", import.meta.url));
  await using up = start(Deno.execPath(), [
    ...argumentsOf("computer", []).with(-1, main),
    ...["up", "--port", "0", "--ui-port", "0", "--name", "pc"],
    ...["--config", config.file],
  ]);
  await using page = await openPage(await pageLink(up));
  const { computer } = await page.until(({ computer }) =>
    computer.office === "home" && computer.tools.length === 1
  );
  assertEquals(computer.connection, "connected");
});

Deno.test("--ui: the page has the address where a person authorizes the Computer, until that is done", async () => {
  await using server = await startOAuth();
  await using folder = await scratch();
  const url = `${server.origin}/mcp`;
  await using pc = await started(
    { servers: { a: { type: "streamable", server_parameters: { url } } } },
    ["--oauth-dir", folder.path],
  );
  const { computer: { servers: [a] } } = await pc.page.until((
    { computer },
  ) => computer.servers[0]?.authorizeAt !== undefined);
  assertMatch(a?.authorizeAt ?? "", /^http:.*redirect_uri=/);
  await visit(a?.authorizeAt ?? "");
  const { computer } = await pc.page.until(({ computer }) =>
    computer.servers[0]?.state === "running"
  );
  assertEquals(computer.servers[0]?.authorizeAt, undefined);
});

Deno.test("--ui: the page decides whether a tool may run, by the rules of the terminal", async (t) => {
  await using pc = await started({
    servers: { files: fixture({ only: ["echo", "fail"] }) },
  });
  await pc.offers(2);
  const { agent, page } = pc;
  const call = (text: string) => agent.callTool("pc", "echo", { text });
  const wanted = 'Tool: "echo"\nMCP server: "files"\nArguments\n';

  await t.step("no", async () => {
    const called = call("one");
    const asked = await page.question(wanted);
    const text = questionText(asked);
    assert(text.startsWith(`Run this tool?\n${wanted}text: "one"\n`), text);
    assert(text.endsWith('\nAsked by: Agent "planner"'), text);
    assertStringIncludes(text, "20 times with exactly these arguments.");
    assertEquals(asked.asking, {
      kind: "confirm",
      choices: [
        { answer: "once", label: "Yes, this once", needsAll: true },
        { answer: "hour", label: "Yes, for an hour, 20 times", needsAll: true },
        { answer: "always", label: "Always for this tool", needsAll: true },
        {
          answer: "mute",
          label: "No, for 10 minutes to all it asks",
          needsAll: false,
        },
        { answer: "no", label: "No", needsAll: false },
      ],
    });
    for (const wrong of [{}, { answer: "yes" }, { answer: "no", more: 1 }]) {
      const { status, body } = await pc.answer(asked.id, wrong);
      assertEquals([status, body.title], [400, "Bad Request"]);
    }
    const done = await pc.answer(asked.id, { answer: "no" });
    assertEquals(done.body, { done: true });
    const result = await called;
    assert(result.isError);
    assertStringIncludes(
      result.content[0]?.text ?? "",
      'The person at pc refused the call of tool "echo"',
    );
    const { endedBy, said, facts } = await page.question('"echo"', "ended");
    assertEquals([endedBy, said, facts], ["page", "No", []]);
    const late = await pc.answer(asked.id, { answer: "once" });
    assertEquals(
      [late.status, late.body.errors[0].problem],
      [409, "already answered at the page: No"],
    );
    await pc.running.line(
      /^answered on the page: No: tool "echo" of MCP server "files", asked by Agent "planner"$/,
    );
  });

  await t.step("once, then always", async () => {
    for (const [text, answer] of [["two", "once"], ["three", "always"]]) {
      const called = call(`${text}`);
      const { id } = await page.question(`text: "${text}"`);
      await pc.answer(id, { answer });
      assertEquals((await called).content[0]?.text, text);
    }
    assertEquals((await call("four")).content[0]?.text, "four");
    const { questions } = await page.until(({ calls }) =>
      calls.filter(({ outcome }) => outcome === "ok").length === 3
    );
    assertEquals(questions.length, 3);
  });

  await t.step("a call that ends takes its question with it", async () => {
    const { cancel, called } = cancellable((signal) =>
      agent.callTool("pc", "fail", {}, { signal })
    );
    const { id } = await page.question('"fail"');
    cancel();
    const ended = await page.question('"fail"', "ended");
    assertEquals(ended.endedBy, "withdrawn");
    assertEquals((await pc.answer(id, { answer: "once" })).status, 409);
    assertEquals((await pc.answer("x", { answer: "once" })).status, 404);
    await called;
  });
});

Deno.test("--ui: a yes counts only after all of the question was fetched, and never for too much", async () => {
  await using pc = await started({
    servers: { files: fixture({ only: ["echo"] }) },
  });
  await pc.offers(1);
  const { agent, page } = pc;
  const problemOf = async (id: string, answer: string) => {
    const { status, body } = await pc.answer(id, { answer });
    return [status, body.errors?.[0].problem];
  };

  const text = `${"harmless ".repeat(500)}; rm -rf ~`;
  const call = (params: Record<string, unknown>) => {
    const called = agent.callTool("pc", "echo", params);
    called.catch(() => {});
    return called;
  };
  const called = call({ text, path: "a" });
  const long = await page.question("Run this tool?");
  const [fact] = long.facts.filter(({ name }) => name === "text");
  assertEquals(fact?.length, text.length);
  assertStringIncludes(fact?.tail ?? "", '; rm -rf ~"');
  assert((fact?.text.length ?? 0) < 1_000);
  for (const answer of ["once", "always"]) {
    assertEquals(await problemOf(long.id, answer), [
      400,
      "not all of the question was shown",
    ]);
  }
  const { body } = await page.ask(`/questions/${long.id}`);
  assertStringIncludes(JSON.stringify(body.facts), text);
  await pc.answer(long.id, { answer: "once" });
  assertEquals((await called).content[0]?.text, text);
  const ended = await page.ask(`/questions/${long.id}`);
  assertEquals(ended.status, 404);

  const large = call({ text: "x".repeat(2 ** 18) });
  const { id, asking, excess } = await page.question('text: "xxxx');
  assertEquals(excess, "the arguments are more than 256 KiB");
  assertEquals(asking.kind === "confirm" && asking.choices, [
    {
      answer: "mute",
      label: "No, for 10 minutes to all it asks",
      needsAll: false,
    },
    { answer: "no", label: "No", needsAll: false },
  ]);
  await page.ask(`/questions/${id}`);
  assertEquals(await problemOf(id, "once"), [400, excess]);
  await pc.answer(id, { answer: "no" });
  assert((await large).isError);
});

Deno.test("run --yes writes what runs, and not one text of others at the beginning of a line", async () => {
  await using office = await startOffice({ agent: { name: 'a" by\u200b' } });
  await using config = await configFile({
    servers: { files: fixture({ only: ["echo"] }) },
  });
  await using running = runComputer(office, config.file, { flags: ["--yes"] });
  await running.line(/^joined/);
  await running.line(/^MCP server files: running/);
  const content = "harmless\n".repeat(400);
  const params = { text: content, "path\u202e": { to: "~/.ssh" } };
  await office.agent.callTool("pc", "echo", params);
  await running.line(/^call of echo by "a\\" by⟨U\+200B⟩": ok/);
  const at = running.lines.findIndex((line) => /^allowed by --yes/.test(line));
  const [head, text = "", ...rest] = running.lines.slice(at, at + 4);
  assertEquals(
    head,
    'allowed by --yes: tool "echo" of MCP server "files", asked by Agent "a\\" by⟨U+200B⟩"',
  );
  assertMatch(text, /^ {2}text: "harmless\\n .* … \(3600 characters\) … .*"$/);
  assertEquals(rest, ['  "path⟨U+202E⟩": (1 name)', '    to: "~/.ssh"']);
});

Deno.test("--ui: the page gives values of inputs, and answers what MCP servers ask, without a terminal", async (t) => {
  const tool = { name: "${input:size}_tool", inputSchema: { type: "object" } };
  const files = fixture({ only: ["ask", "page"], extraTools: [tool] }, auto);
  const { env, ...parameters } = files.server_parameters;
  await using pc = await started({
    inputs: [
      {
        id: "key",
        type: "promptString",
        description: "The key",
        password: true,
        default: "a default that is not shown",
      },
      {
        id: "size",
        type: "pickString",
        description: "The size",
        options: ["small", "large"],
        default: "large",
      },
    ],
    servers: {
      files: {
        ...files,
        server_parameters: {
          ...parameters,
          env: { ...env, KEY: "${input:key}" },
        },
      },
    },
  }, ["--ui-port", "0"]);
  const { page, running } = pc;

  await t.step("inputs", async () => {
    const size = await page.question("The size");
    assertEquals(size.asking, {
      kind: "input",
      type: "pickString",
      isSecret: false,
      options: ["small", "large"],
      fallback: 1,
    });
    assertEquals((await pc.answer(size.id, { option: 2 })).status, 400);
    await pc.answer(size.id, { option: 0 });
    const key = await page.question("The key");
    assertEquals(key.asking, {
      kind: "input",
      type: "promptString",
      isSecret: true,
      options: [],
    });
    await pc.answer(key.id, { value: "s3cret-value" });
    await page.until(({ computer }) =>
      computer.tools.some(({ name }) => name === "small_tool") &&
      computer.office === OFFICE
    );
    await running.line(
      /^answered on the page: Answered: The key \(input "key"\)$/,
    );
    const { questions } = await page.until(() => true);
    const said = running.lines.join("\n") + JSON.stringify(questions);
    assert(!said.includes("s3cret"));
  });

  await t.step("elicitation", async () => {
    const called = pc.agent.callTool("pc", "ask", {});
    const asked = await page.question('MCP server: "files"');
    assertStringIncludes(questionText(asked), 'Question: "Who are you?"');
    assertEquals(asked.asking, {
      kind: "elicit",
      choices: [
        { answer: "accept", label: "Answer", needsAll: true },
        { answer: "decline", label: "Decline", needsAll: false },
      ],
      fields: [{
        kind: "text",
        name: "name",
        label: "name",
        isRequired: true,
        isSecret: false,
        minLength: 2,
      }],
    });
    const accept = (content: object) =>
      pc.answer(asked.id, { action: "accept", content });
    const short = await accept({ name: "x" });
    assertEquals(short.body.errors, [{
      field: "name",
      problem: "At least 2 characters",
      fix: "correct it",
    }]);
    const more = await accept({ name: "Ann", more: 1 });
    assertEquals(more.body.errors[0].field, "more");
    await accept({ name: "Ann" });
    assertEquals(JSON.parse((await called).content[0]?.text ?? ""), {
      action: "accept",
      content: { name: "Ann" },
    });
  });

  await t.step("a page to open", async () => {
    const called = pc.agent.callTool("pc", "page", { asks: true });
    const asked = await page.question("https://sign-in.example/x");
    assertStringIncludes(questionText(asked), 'Host: "sign-in.example"');
    assertEquals(asked.asking, {
      kind: "elicit",
      choices: [
        { answer: "accept", label: "I have opened it", needsAll: true },
        { answer: "decline", label: "Decline", needsAll: false },
      ],
      fields: [],
      url: "https://sign-in.example/x",
    });
    await pc.answer(asked.id, { action: "accept", content: {} });
    assertEquals(JSON.parse((await called).content[0]?.text ?? ""), {
      action: "accept",
    });
  });
});

/** Everything that the API has, each with what it takes. */
const REQUESTS: readonly [path: string, post?: unknown][] = [
  ["/state"],
  ["/tools"],
  ["/calls/1"],
  ["/events"],
  ["/unknown"],
  ["/questions/1", { answer: "once" }],
];

Deno.test("the page of a Computer refuses who has not its token, other pages, and forms", async () => {
  await using pc = await started({ servers: {} });
  const { url, token } = pc.link;
  const bearer = (text: string, more: Record<string, string> = {}) => ({
    Authorization: `Bearer ${text}`,
    ...more,
  });
  const unknown: Record<string, string>[] = [
    {},
    bearer("0".repeat(64)),
    bearer(token.slice(0, 32)),
    { Cookie: `token=${token}` },
    { "x-api-key": token },
  ];
  const foreign = [
    bearer(token, { Origin: "https://evil.example" }),
    bearer(token, { Origin: "http://127.0.0.1:1" }), // the page of another port
    bearer(token, { Origin: "null" }),
    bearer(token, { "Sec-Fetch-Site": "cross-site" }), // the image of another site
  ];
  for (const headers of [...unknown, ...foreign]) {
    const expected = unknown.includes(headers)
      ? [401, "Authorization", "invalid token; it changes at each start"]
      : [403, "Origin", "pages of other origins are refused"];
    for (const [path, post] of REQUESTS) {
      const answer = await askPage(url, path, { post, headers });
      const [{ field, problem }] = answer.body.errors;
      assertEquals(
        [answer.status, field, problem],
        expected,
        `${path} ${JSON.stringify(headers)}`,
      );
      assertEquals(answer.type, "application/problem+json");
    }
  }
  const form = (type: string) => ({
    token,
    post: { answer: "once" },
    headers: { "Content-Type": type },
  });
  const long = { token, post: { answer: "x".repeat(100_000) } };
  const own = { Origin: url, "Sec-Fetch-Site": "same-origin" };
  const rows: [status: number, path: string, Parameters<typeof askPage>[2]][] =
    [
      [415, "/questions/1", form("application/x-www-form-urlencoded")],
      [415, "/questions/1", form("text/plain")],
      [413, "/questions/1", long],
      [404, "/unknown", { token }],
      [404, "/calls/1", { token }],
      [404, "/state", { token, post: {} }],
      [200, "/state", { token, headers: own }],
    ];
  for (const [status, path, request] of rows) {
    assertEquals((await askPage(url, path, request)).status, status, path);
  }
  // There is one stream already, and there can be 16.
  const streams = await Promise.all(
    Array.from(
      { length: 16 },
      () => fetch(`${url}/ui/v1/events`, { headers: bearer(token) }),
    ),
  );
  const refused = streams.filter(({ status }) => status === 503);
  assertEquals(refused.length, 1);
  await Promise.all(streams.map(({ body }) => body?.cancel()));
});

Deno.test("the page of a Computer is for loopback names alone, whatever the token", async () => {
  await using pc = await started({ servers: {} });
  const { hostname, port } = new URL(pc.link.url);
  const hosts: readonly [string, string][] = [
    ["evil.example", "403"],
    [`evil.example:${port}`, "403"],
    [`127.0.0.1.evil.example:${port}`, "403"],
    [`0.0.0.0:${port}`, "403"],
    [`localhost:${port}`, "200"],
    ["127.0.0.1:9", "200"], // a tunnel
  ];
  for (const [host, status] of hosts) {
    const paths = status === "403" ? ["/ui/v1/state", "/"] : ["/ui/v1/state"];
    for (const path of paths) {
      const connection = await Deno.connect({ hostname, port: Number(port) });
      await connection.write(new TextEncoder().encode(
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${pc.link.token}\r\nConnection: close\r\n\r\n`,
      ));
      const text = await new Response(connection.readable).text();
      assertEquals(text.split(" ")[1], status, `${host} ${path}`);
      const isNamed = text.includes('"problem":"unknown host name"');
      assertEquals(isNamed, status === "403", text);
    }
  }
});

Deno.test("a port for the page that is taken is an error that names its flag", async () => {
  await using office = await startOffice();
  await using config = await configFile({ servers: {} });
  const { port } = new URL(office.url);
  await using computer = runComputer(office, config.file, {
    flags: ["--ui-port", port],
  });
  await computer.line(
    /cannot listen on 127\.0\.0\.1 port \d+: .*choose another with --ui-port/,
  );
  assertEquals((await computer.status).code, 1);
  assert(!computer.lines.join("\n").includes("token="));
});
