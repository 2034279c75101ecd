/**
 * Ten published MCP servers, as an MCP client gets them directly, and through an office on each way: all
 * that they list, and the results of requests, field by field.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withVariable } from "../support/processes.ts";
import { type Scratch, scratch } from "../support/scratch.ts";
import { type Difference, expected, type Raw, type Seen } from "./by_design.ts";
import {
  FILES,
  findNpmServers,
  findPypiServers,
  type RealServer,
  serversOfNpm,
  serversOfPypi,
} from "./servers.ts";
import { directly, type Look, type OfficeWay, WAYS } from "./ways.ts";

const npm = await findNpmServers();
const pypi = await findPypiServers();
if (pypi === undefined) {
  console.log("SKIPPED: there is no python3 for the MCP servers of PyPI");
}

/** The variable by which the processes of an MCP server, and all that they start, are found. */
const MARK = "A2C_REAL_SERVERS";

/** Marks the processes of an MCP server. */
function withMark(server: RealServer, mark: string): RealServer {
  const { settings } = server;
  const { server_parameters: parameters } = settings;
  return {
    ...server,
    settings: {
      ...settings,
      server_parameters: {
        ...parameters,
        env: { ...parameters.env, [MARK]: mark },
      },
    },
  };
}

/** A folder that is the same at each start of the MCP servers. */
class Workplace {
  readonly folder: string;
  readonly #original: string;

  constructor(place: Scratch) {
    this.folder = join(place.path, "work");
    this.#original = join(place.path, "original");
  }

  /** Makes the original: files, and a Git repository of them. */
  async make(): Promise<void> {
    await mkdir(this.#original);
    for (const [name, text] of Object.entries(FILES)) {
      await writeFile(join(this.#original, name), text);
    }
    await this.#git("init", "--quiet", "--initial-branch", "main");
    await this.#git("add", ".");
    await this.#git("commit", "--quiet", "--message", "Begin");
  }

  /** Fills the folder again. */
  async renew(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    await cp(this.#original, this.folder, { recursive: true });
  }

  async #git(...args: string[]): Promise<void> {
    const user = { NAME: "Ada", EMAIL: "ada@example.com" };
    const env = Object.entries(user).flatMap(([key, value]) => [
      [`GIT_AUTHOR_${key}`, value],
      [`GIT_COMMITTER_${key}`, value],
    ]);
    const { success, stderr } = await new Deno.Command("git", {
      args,
      cwd: this.#original,
      env: Object.fromEntries(env),
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  }
}

/** Without what differs from day to day. */
const comparable = (items: readonly Raw[], varies: RegExp | undefined): Raw[] =>
  varies === undefined
    ? [...items]
    : JSON.parse(JSON.stringify(items).replaceAll(varies, "…"));

/** Compares what came of an MCP server on a way; returns the differences by design that were met. */
function compare(
  { name, varies }: RealServer,
  own: Seen,
  arrived: Seen,
  { differences, prefixed }: OfficeWay,
): Difference[] {
  const place = { name, prefix: prefixed ? `${name}__` : "" };
  const kinds = Object.keys(own) as (keyof Seen)[];
  return kinds.flatMap((kind) => {
    const { items, met } = expected(own[kind], differences[kind], place);
    assertEquals(
      comparable(arrived[kind], varies),
      comparable(items, varies),
      `${kind} of ${name}`,
    );
    return [...met];
  });
}

/** Looks at MCP servers by a way, in a fresh folder; afterwards no process of them may be left. */
async function lookBy(
  way: Look,
  servers: readonly RealServer[],
  work: Workplace,
): Promise<ReadonlyMap<string, Seen>> {
  await work.renew();
  const mark = crypto.randomUUID();
  const seen = await way(servers.map((server) => withMark(server, mark)));
  assertEquals(await withVariable(MARK, mark), [], "processes are left");
  return seen;
}

Deno.test({
  name:
    "ten published MCP servers are the same through an office as directly, and leave no process behind",
  timeout: 240_000,
}, async (t) => {
  await using place = await scratch();
  const work = new Workplace(place);
  await work.make();
  await using page = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("A page of text.\n"),
  );
  const url = `http://127.0.0.1:${page.addr.port}/page.txt`;
  const servers = [
    ...serversOfNpm(npm, work.folder),
    ...pypi === undefined ? [] : serversOfPypi(pypi, work.folder, url),
  ];
  const own = await lookBy(directly, servers, work);
  const met = new Set<Difference>();
  for (const way of WAYS) {
    const arrived = await lookBy(way.look, servers, work);
    for (const server of servers) {
      const { name } = server;
      await t.step(`${name} ${way.name}`, () => {
        const direct = own.get(name);
        const here = arrived.get(name);
        assert(direct && here);
        assert(direct.tools.length > 0);
        for (const each of compare(server, direct, here, way)) met.add(each);
      });
    }
  }
  await t.step("every difference by design is met", () => {
    const all = WAYS.flatMap(({ differences }) =>
      Object.values(differences).flat()
    );
    assertEquals(all.filter((each) => !met.has(each)), []);
  });
});
