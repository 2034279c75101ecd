import { assertEquals, assertStringIncludes } from "@std/assert";
import { runFile } from "../../../support/command.ts";
import { modernRequest, post } from "../../../support/mcp/post.ts";
import { startProxy } from "../../../support/proxy.ts";
import { scratch } from "../../../support/scratch.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";
import { CommandVisitor } from "../../../support/server/command_visitor.ts";

const LIST = modernRequest("tools/list");

Deno.test("smcp-server --sign-in serves MCP, keeps sign-ins in a file, and ends them with their keys at SIGHUP", async () => {
  await using folder = await scratch();
  await using proxy = await startProxy("http://127.0.0.1:9");
  const keys = `${folder.path}/keys.json`;
  const write = (...ids: string[]) =>
    Deno.writeTextFile(
      keys,
      JSON.stringify(ids.map((id) => ({ id, key: `${id}-key` }))),
    );
  await write("ann", "bob");
  const begin = async () => {
    const command = await startServerCommand(
      [
        ...["--port=0", "--sign-in", `--api-keys=${keys}`],
        `--sign-in-file=${folder.path}/sign_ins.sqlite`,
        `--public-url=${proxy.url}`,
      ],
      {},
      ["--allow-write"],
    );
    proxy.turnTo(command.url);
    return command;
  };
  const visitor = new CommandVisitor(proxy.url);
  const enter = (key: string) =>
    visitor.enter({ key, later: true }, {
      resource: `${proxy.url}/mcp/north`,
    });
  const first = await begin();
  assertStringIncludes(first.line, `MCP ${proxy.url}/mcp/OFFICE`);
  const ann = await enter("ann-key");
  const bob = await enter("bob-key");
  assertEquals(await visitor.status(ann.access_token), 200);
  first.kill("SIGTERM");
  assertEquals(await first.exited, 0);
  await using second = await begin();
  assertEquals(await visitor.status(ann.access_token), 200);
  await write("bob");
  second.kill("SIGHUP");
  await second.logged("SIGHUP: keys");
  assertEquals(await visitor.status(ann.access_token), 401);
  assertEquals(await visitor.status(bob.access_token), 200);
});

Deno.test("smcp-server --sign-in without keys warns, and shows a button in place of the key", async () => {
  await using command = await startServerCommand(["--port=0", "--sign-in"]);
  assertStringIncludes(
    command.log,
    "whoever uses this machine can let programs in, with one button",
  );
  const visitor = new CommandVisitor(command.url);
  const { access_token: token } = await visitor.enter({ later: true });
  const answer = await post(`${command.url}/mcp/home`, {
    ...LIST,
    headers: { ...LIST.headers, authorization: `Bearer ${token}` },
  });
  assertEquals(answer.status, 200);
  assertEquals(await visitor.status("nonsense"), 401);
});

Deno.test("smcp-server explains a --sign-in-file that cannot be used, by the flag, the problem and the fix", async () => {
  await using folder = await scratch();
  await Deno.writeTextFile(`${folder.path}/file`, "");
  const rows = [
    ["", 2, "--sign-in-file is empty: name a file"],
    [folder.path, 1, "it is a directory; name a file in it"],
    [`${folder.path}/file/s.db`, 1, "a part of its path is a file"],
    ["/proc/nowhere/s.db", 1, "there is no such directory; create it"],
    ["/sys/kernel/s.db", 1, "allow this user to write there"],
  ] as const;
  for (const [file, code, expected] of rows) {
    const run = await runFile("server/main.ts", [
      ...["--port=0", "--sign-in", `--sign-in-file=${file}`],
    ]);
    assertEquals([run.code, run.stdout], [code, ""], run.stderr);
    const line = run.stderr.split("\n").find((each) => each.includes(expected));
    assertStringIncludes(line ?? run.stderr, expected);
    assertStringIncludes(line ?? "", "--sign-in-file");
    assertStringIncludes(line ?? "", file);
  }
});

Deno.test("smcp-server --sign-in warns behind a proxy that it does not trust, where one address is all people's", async () => {
  await using folder = await scratch();
  const keys = `${folder.path}/keys.json`;
  await Deno.writeTextFile(keys, '[{"id":"ann","key":"ann-key"}]');
  const flags = ["--port=0", "--sign-in", `--api-keys=${keys}`];
  const warning = "so that ten wrong keys of a stranger close the page to all";
  const rows = [
    [["--public-url=https://smcp.example.com"], true],
    [["--public-url=https://smcp.example.com", "--trust-proxy=1"], false],
    [[], false],
  ] as const;
  for (const [more, isWarned] of rows) {
    await using command = await startServerCommand([...flags, ...more]);
    assertEquals(command.log.includes(warning), isWarned, command.log);
  }
});
