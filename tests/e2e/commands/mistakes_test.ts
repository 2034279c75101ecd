/**
 * Typical mistakes, each with the one line that a person gets. In the transcripts below, `>` runs a command
 * in this process, `$` in one of its own (with variables of its own, or where it would leave something
 * behind). The answer is the exit code and a part of the error, or of the only problem; `…` is any text.
 * `@NAME` is a Server of {@linkcode startWorld} by name, or a URL, with the office; `{NAME}` a value of it;
 * `file:'TEXT'` a new file.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { apiKeys, createSmcpServer } from "../../../server/mod.ts";
import { type CommandName, runHere, runMain } from "../../support/command.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const TRANSCRIPT = `
> agent members @localhost
1 "localhost": expected a URL such as "http:
> agent members @htp://127.0.0.1:8787
1 "htp:…": expected a URL such as "http:
> agent members @http://127.0.0.1:99999
1 :99999": expected a URL such as "http:
$ agent members @http://127.0.0.1:1
1 127.0.0.1:1: connection refused; start a Server, or …--url
> agent members @http://no-such-host.invalid
1 unknown host name; correct the address with --url | cannot be looked up
> agent members @{https}
1 does not speak TLS there; write http:
> agent members --path /nowhere/ @{free}
1 correct --url, or the path with --path
> agent members @{old}
1 A2C-SMCP 0.1 | a2c_version…0.1
$ SMCP_API_KEY=wrong agent members @{keyed}
1 Authentication failed; give a key …--api-key (SMCP_API_KEY)
> agent members --api-key old-key @{keyed}
1 the API key expired at 2020-01-31T…; give a key …--api-key
> agent members --api-key computer-key @{keyed}
1 join as agent: the credentials are for computer; smcp-agent joins as agent: give a key with --api-key (SMCP_API_KEY)
> agent members --api-key agent-key @{keyed}
1 Not allowed to join this office; choose an office …--office
> agent members --api-key '{broken}' @{keyed}
2 --api-key (SMCP_API_KEY) has a line break …; copy it again
> agent members @{busy}
1 already has an agent; …stop that agent, or …--office
$ agent members
2 --office <office>' not specified; give it, or set SMCP_OFFICE
> agent members --url {free} --ofice north
2 unknown option '--ofice' (Did you mean --office?)
> agent members --url {free} --office {long}
2 --office (SMCP_OFFICE) is not a name: expected 1 to 256 characters
> agent members --url {free} --office {lone}
2 --office (SMCP_OFFICE) is not a name: …lone surrogates
> agent members --name {lone} @{free}
2 --name (SMCP_NAME) is not a name: …lone surrogates
> agent members --name '' @{free}
2 --name is empty; give it a value
$ SMCP_OFFICE= agent members
2 --office is empty; …unset SMCP_OFFICE where that is empty
$ SMCP_NAME= agent members @{free}
2 --name is empty; …unset SMCP_NAME where that is empty
> agent members --protocol 0.5 @{free}
2 '--protocol <version>' argument '0.5'…choices are auto, 0.2,
> agent members --tls-ca no.pem @{free}
2 Cannot read --tls-ca no.pem: there is no such file
> agent members --tls-cert deno.json @{free}
2 Cannot use --tls-cert deno.json with http:…: write https:
$ SMCP_ENV_FILE=no/such.env agent members @{free}
2 no file no/such.env, which SMCP_ENV_FILE names; make it, or leave
> agent tools --computer laptop @{free}
1 "laptop" is not in your office; …members
> agent tools --url {free} --office nobody
1 no Computer is in the office "nobody"; correct the name …, or start one with: …computer/main.ts run --config computer.json --office nobody --url http:
> agent tools --computr pc @{free}
2 unknown option '--computr' (Did you mean --computer?)
> agent tolls
2 unknown command 'tolls' (Did you mean tools?)
> agent list
2 unknown command 'list' (Did you mean one of members, tools, 
> agent exec
2 unknown command 'exec'; the commands are members, tools, call, 
> agent completion csh
2 'csh' is invalid…bash, zsh, fish
$ agent mcp --include a.b @{free}
2 Cannot use the pattern "a.b"
> agent call @{free}
2 missing required argument 'tool'; --help shows what it takes
> agent call ecoh @{free}
1 offers the tool "ecoh"; the command "tools" lists what there is; did you mean "echo"?
> agent call ecoh --computer pc @{free}
1 the tool "ecoh" failed; the command "tools" lists what there is; did you mean "echo"?
> agent call echo @{free}
1 "echo" failed; …allow it, or its rules, …smcp-computer rules
> agent call slow --timeout 1 @{free}
1 "slow" failed; give it more time with --timeout
> agent call fail --params '{path: .}' @{free}
2 --params is not JSON: see line 1, column 2
> agent call fail --params '@no/such.json' @{free}
2 --params @no/such.json: there is no such file
> agent call count --params [5] @{free}
2 --params is no JSON object; write one such as
> agent call count --params {} --arg n=5 @{free}
2 '--params <json>' cannot be used with option '--arg <name=value>'
> agent call count --arg n=many @{free}
2 argument "n" is "many", expected a whole number
> agent call count --arg many @{free}
2 Expected NAME=VALUE, such as
> agent call count n=5 @{free}
2 too many arguments for 'call'…: count, n=5; write --arg n=5
> agent call count 5 @{free}
2 too many arguments for 'call'…: count, 5; --help shows what
> agent call count --timeout 4000 @{free}
2 Expected an integer from 1 to 3600
> agent call count --timeout 30s @{free}
2 '--timeout <seconds>' argument '30s'… an integer from 1 to 3600
> agent read x://1 @{free}
2 read URI MCP_SERVER
> agent read report.pdf @{free}
1 report.pdf…; take a URI such as dpe:
> agent resources nope @{free}
1 no MCP server "nope" on this Computer; …"config" lists
> agent skill nope @{free}
1 no skill "nope"; "skills" lists them
> agent put no.file @{free}
2 Cannot read no.file: there is no such file
> agent put deno.json @{free}
1 speaks protocol 0.2, which has no uploads; choose 0.4 …--protocol

> computer run @http://127.0.0.1:1 --config {empty} --name pc
1 connection refused; start a Server, or correct the address with --url; or wait until it is there, with --wait
> computer run @foo --config {empty} --name pc
1 "foo": expected a URL
> computer run @{web} --config {empty} --name pc
1 not an A2C-SMCP server (HTTP 404); correct --url, or the path with --path
$ computer run @{keyed} --config {empty} --name pc
1 Authentication failed; give a key …--api-key (SMCP_API_KEY)
> computer run @{keyed} --config {empty} --name pc --api-key agent-key
1 join as computer: the credentials are for agent; smcp-computer joins as computer: give a key with --api-key
> computer run @{free} --config {empty} --name pc
1 "pc" already exists…; choose another name with --name
$ computer run --config {empty} --name pc
2 --office <office>' not specified; give it, or set SMCP_OFFICE
$ computer run @{free}
2 --config <file>' not specified; give it, or set SMCP_CONFIG …; a first one is written by: …computer/main.ts init
$ SMCP_OFFICE= computer run --config {empty}
2 --office is empty; …unset SMCP_OFFICE where that is empty
$ SMCP_NAME= computer run @{free} --config {empty}
2 --name is empty; …unset SMCP_NAME where that is empty
> computer run @{free} --config no/such.json --name other
1 no/such.json: …there is no such file; write a first one with: …computer/main.ts init --out no/such.json; or take the MCP servers …import …; an example: {"servers":
> up --config no/such.json
1 no/such.json: …there is no such file; write a first one with: …init
> up --config file:'{"servers": {"a": {}}}'
1 file0:1:…servers.a
> computer run @{free} --name other --config file:'{"servers": '
1 file1:1:…: Cannot read it as JSON
> computer run @{free} --config {empty} --name other --input token
2 write ID=VALUE
> computer run @{free} --config {token} --name other --input tokne=hunter2
2 error: --input tokne=…: …token.json has no input "tokne"; did you mean "token"?
> computer check --config {token} --input tokne=hunter2
2 error: --input tokne=…: …token.json has no input "tokne"; did you mean "token"?
$ SMCP_YES=perhaps computer run @{free} --config {empty} --name other
2 SMCP_YES is "perhaps", expected 1 or 0
> computer run @{free} --config {empty} --name other --max-upload 10MB
2 '--max-upload <bytes>' argument '10MB'… such as 10000000
> computer check --bogus
2 '--config <file>' not specified; give it, or set SMCP_CONFIG
> computer check computer.json
2 '--config <file>' not specified; write --config computer.json
> computer check --config {dir}
1 Cannot read the configuration: it is a directory; name a file in it
> computer check --config file:'{"servers": {"a": {"type": "stdio", "forbiden_tools": []}}}'
1 file2:1:…: servers.a.forbiden_tools: unknown field; did you mean "forbidden_tools"?
> computer check --config file:'{"servers": {}}'
1 problem: there are no MCP servers, so nothing is offered; add one to "servers", or …with: …computer/main.ts import
> computer check --config file:'{"mcpServers": {"a": {"command": "x", "disabled": true}}}'
1 problem: every MCP server is disabled, so nothing is offered; remove "disabled"
> computer check --config file:'{"mcpServers": {"a": {"command": "npx -y @x/y"}}}'
1 problem: …Cannot start "npx -y @x/y": …; write "command": "npx", and the rest in "args"
> computer check --config file:'{"mcpServers": {"a": {"command": "echo", "cwd": "/no/such"}}}'
1 problem: MCP server "a": Cannot start "echo": there is no directory /no/such
> computer check --config file:'{"mcpServers": {"a": {"command": "false"}}}'
1 problem: MCP server "a": "false" exited with code 1 before it answered; run its command by hand
> computer check --config file:'{"mcpServers": {"a": {"url": "http://127.0.0.1:2/sse?key=secret"}}}'
1 problem: MCP server "a": cannot connect to http://127.0.0.1:2/sse?key=<redacted>: …; is it running, and is its url right?
$ HOME={dir} XDG_CONFIG_HOME={dir} computer import --out {dir}/new.json
1 no configuration was found; name a file with --from FILE
> computer import --from file:'{"mcpServers": {"a": {"command": "x"}}}' --out /no/such/new.json
1 no such directory; create it, or …--out
> computer init --out {empty}/new.json
1 cannot write …empty.json/new.json: a part of its path is a file; …--out
> computer init --out {empty}
1 empty.json already exists; choose another with --out
> computer walk
2 unknown command 'walk'

$ server --port {port}
1 the port is in use; choose another with --port
$ server --port http
2 Expected an integer from 0 to 65535
$ server --host 192.0.2.1 --port 0 --insecure
1 does not have the address; choose …--host
> server --host 0.0.0.0 --port 0
2 cannot listen on …; use --api-keys
$ HOME={dir} server --ping-interval 30 service install --print
2 --ping-interval has no effect before "service"; write it after "install"
> server key add lab
2 '--api-keys <file>' not specified; give it, or set SMCP_API_KEYS
> server key add lab --api-keys /no/such/keys.json
1 cannot write /no/such/keys.json: …no such directory; create it
> server key add lab --api-keys {empty}/keys.json
1 cannot write …keys.json: a part of its path is a file; …--api-keys
> server key add lab --api-keys {dir}/k.json --roles admin
2 '--roles <list>' argument 'admin'…of agent, computer, operator
> server key add lab --api-keys {dir}/k.json --expires soon
2 '--expires <when>' argument 'soon'…such as 90d, … 2027-01-31T
> server key create
2 unknown command 'create'; the commands are add, list, revoke
> server key list --api-keys {dir}/none.json
2 none.json, the file of --api-keys, does not exist; …"key add"
> server key list --api-keys file:'[{'
2 file10: Cannot read the API keys: not JSON (line 1 column 3)
> server key list --api-keys file:'{"lab": "k"}'
2 file11: …write it as [{"id": "ci", "key": "…"}]
> server key list --api-keys file:'[{"id": "lab", "key": "k", "roles": "agent"}]'
2 the key "lab": roles: expected a list
> server key list --api-keys file:'[{"id": "lab", "key": "k", "office": ["a"]}]'
2 the key "lab": office: unknown field; did you mean "offices"?
> server key list --api-keys file:'[{"id": "lab", "key": "k"}, {"id": "lab", "key": "l"}]'
2 with the id "lab": give each holder an id
> server key list --api-keys file:'[{"id": "lab", "key": "sha256:12"}]'
2 the API key "lab": expected the key, or "sha256:" and 64
> server --port 0 --api-keys no.json
2 Cannot read no.json, the file of --api-keys: there is no such file
> server --port 0 --tls-cert cert.pem
2 --tls-cert and --tls-key must be given together
> server --port 0 --tls-cert {empty} --tls-key {empty}
2 --tls-cert …empty.json, --tls-key …: … not valid PEM
> server --port 0 --jwt-key {empty}
2 --jwt-key …empty.json: …expected a public key as PEM, a JWK
> server --port 0 --origins app.example
2 '--origins <list>' argument 'app.example'…"https://app.example"
$ server --port 0 --cluster localhost
2 URL of Redis: it must begin with redis:
> server --port 0 --log-file /no/such/log
2 cannot write the log to /no/such/log: …create it, or …--log-file
> server start
2 unknown command 'start'; the commands are service, 
> server ofices
2 unknown command 'ofices' (Did you mean offices?)
> server --verbosity 5
2 unknown option '--verbosity'; --help lists them
> server offices --url {keyed}
2 no token: give the one that the Server printed …--token
`;

Deno.test({
  name:
    "each typical mistake prints one line with cause and remedy, and exits with its code",
  timeout: 300_000,
}, async (t) => {
  await using world = await startWorld();
  for (
    const [, prompt, line = "", code, says = ""] of TRANSCRIPT.matchAll(
      /^([>$]) (.*)\n([12]) (.*)$/gm,
    )
  ) {
    await t.step(line, async () => {
      const words = world.wordsOf(line);
      const at = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
      const [command, ...args] = words.slice(at);
      const end = prompt === ">"
        ? await runHere(command as CommandName, args)
        : await runMain(command as CommandName, args, {
          env: {
            DENO_DIR: Deno.env.get("DENO_DIR") ??
              `${Deno.env.get("HOME")}/.cache/deno`,
            ...Object.fromEntries(words.slice(0, at).map((w) => w.split("="))),
          },
          cwd: world.values.dir ?? "",
        });
      const all = end.stdout + end.stderr;
      assertEquals(end.code, Number(code), all);
      const linesOf = (kind: string) =>
        all.split("\n").filter((line) => line.startsWith(kind));
      const [error = "", ...more] = linesOf("error: ");
      const [problem, ...others] = linesOf("problem: ");
      assertEquals([...more, ...others], []);
      assertMatch(problem ?? error, patternOf(says));
      if (problem !== undefined) {
        assertMatch(
          error,
          /there is a problem; it is listed above, with its remedy/,
        );
      }
      assertEquals(/^\s+at .*:\d+:\d+/m.test(all), false, all); // a stack trace
    });
  }
});

const patternOf = (says: string): RegExp =>
  RegExp(
    says.replaceAll(/[^\w\s]/g, "\\$&").replaceAll("\\…", ".*")
      .replaceAll(" \\| ", "|"),
  );

/** Servers, files and an office with an agent, for the mistakes. */
async function startWorld() {
  const stack = new AsyncDisposableStack();
  const auto = { default_tool_meta: { auto_apply: true } };
  const busy = stack.use(
    await startComputer({ files: fixture({ only: ["echo", "fail"] }, auto) }),
  );
  const properties = { n: { type: "integer" } };
  const free = stack.use(
    await startComputer({
      files: fixture({
        only: ["echo", "fail", "slow"],
        extraTools: [
          { name: "count", inputSchema: { type: "object", properties } },
        ],
      }, { ...auto, tool_meta: { echo: { auto_apply: false } } }),
    }, { confirm: () => "no" }),
  );
  await free.office.agent.leave();
  const keyed = stack.use(createSmcpServer({
    authenticator: apiKeys([
      { id: "me", key: "correct-horse-battery-staple-correct" },
      { id: "planner", key: "agent-key", roles: ["agent"], offices: ["team"] },
      { id: "pc", key: "computer-key", roles: ["computer"], names: ["pc"] },
      { id: "old", key: "old-key", expires: "2020-01-31T00:00:00Z" },
    ]),
  }));
  const old = stack.use(createSmcpServer({ protocol: "0.1" }));
  const web = createServer((_, response) => {
    response.statusCode = 404;
    response.end("<html>no such page</html>");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => web.once("listening", resolve));
  stack.defer(() => {
    web.closeAllConnections();
    return new Promise<void>((resolve) => web.close(() => resolve()));
  });
  const { path: dir } = stack.use(await scratch());
  const written = (name: string, text: string) => {
    Deno.writeTextFileSync(`${dir}/${name}`, text);
    return `${dir}/${name}`;
  };
  const { url } = free.office;
  const values: Record<string, string> = {
    busy: busy.office.url,
    free: url,
    https: url.replace("http:", "https:"),
    port: new URL(url).port,
    keyed: (await keyed.listen({ port: 0 })).url,
    old: (await old.listen({ port: 0 })).url,
    web: `http://127.0.0.1:${(web.address() as AddressInfo).port}`,
    dir,
    empty: written("empty.json", '{"servers": {}}'),
    token: written(
      "token.json",
      '{"servers": {}, "inputs": [{"type": "promptString", "id": "token", "description": ""}]}',
    ),
    broken: "agent-key\n",
    long: "x".repeat(257),
    lone: "a\ud800",
  };
  let files = 0;
  return {
    values,
    /** Splits a line of the transcript into words, like a shell. */
    wordsOf: (line: string): string[] =>
      [...line.matchAll(/(file:)?'([^']*)'|\S+/g)]
        .flatMap(([word, file, quoted]) => {
          if (file) return written(`file${files++}`, quoted ?? "");
          const text = (quoted ?? word)
            .replaceAll(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
          return quoted === undefined && text.startsWith("@")
            ? ["--url", text.slice(1), "--office", OFFICE]
            : text;
        }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
