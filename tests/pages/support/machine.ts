import { assert } from "@std/assert";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findNode } from "../../../tools/npm/node.ts";
import { type Child, start } from "../../support/child.ts";
import { scratch } from "../../support/scratch.ts";
import {
  cacheOfDeno,
  linkPackage,
  NAMED_HOME,
  npmSettings,
  shareNpmCache,
} from "../../docs/support/home.ts";
import { readPages } from "../../docs/support/blocks.ts";
import { withVersions } from "../../support/computer/reference_servers.ts";
import { type Outside, servePort, serveRegistries } from "./outside.ts";

/**
 * A machine of somebody who reads the pages, so that commands run as they are written: a home,
 * processes and a network of its own, and a user who is not root. Every port is free, and the names and
 * addresses of the pages are this machine.
 */
export interface Machine extends AsyncDisposable {
  /** The home directory, in which `~/a2c-smcp` is this source. */
  readonly home: string;
  /** The folder in which commands run; empty at the start. */
  readonly folder: string;
  /** Starts a line of a shell, in a process group of its own. */
  start(line: string, env?: Readonly<Record<string, string>>): Child;
  /** Runs a line of a shell to its end; returns what it wrote, stdout and stderr. */
  run(line: string, env?: Readonly<Record<string, string>>): Promise<string>;
  /** Writes a file into the folder. */
  write(name: string, text: string): Promise<void>;
  /** Lets a port of the machine lead to one of the loopback outside of it. */
  forward(port: number, to: number): Promise<void>;
  /** Saves a file of the pages in the folder: programs find the package as the pages say, and `/home/you` is the home. */
  save(name: string, text: string): Promise<void>;
  /** Without a network, puts the versions that are there into a configuration that names none. */
  pinVersions(): Promise<void>;
}

/** How a machine differs from one that has everything. */
export interface MachineOptions {
  /**
   * Whether the machine reaches the registries of packages, and has fetched nothing yet: neither npm,
   * Deno nor pip find anything in their caches. Without it nothing can be fetched, and the caches are
   * those of this machine.
   */
  readonly isNew?: boolean;
  /** Whether it reaches the registries, with what this machine has fetched already. */
  readonly isOnline?: boolean;
  /** Whether `~/a2c-smcp` is left out. */
  readonly withoutClone?: boolean;
}

/** Names of the pages that are this machine. */
const HOSTS = [
  ...["smcp.example.com", "login.example", "tracker.example"],
  ...["s3.example.com", "proxy.example"],
];

/** Addresses of the pages that are this machine. */
const ADDRESSES = ["10.0.0.1", "10.0.0.5", "10.0.0.9"];

const REGISTRIES_PORT = 3128;

const root = fileURLToPath(new URL("../../../", import.meta.url));

const isRoot = Deno.build.os === "linux" && Deno.uid() === 0;
/**
 * Starts a machine: with its first process all others of it end, and that one ends with the thread
 * which has started it, also if this runs into its time limit.
 */
const UNSHARE = [
  ...["setpriv", "--pdeathsig", "KILL", "unshare"],
  ...(isRoot ? [] : ["--user", "--map-root-user"]),
  ...["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
];
const NSENTER = isRoot ? [] : ["--user", "--preserve-credentials"];

/**
 * Runs a line of a shell in a machine. `nsenter` waits for the process in it: it ignores the signals that
 * are for that process, and passes on its exit code, but no end by a signal, of which the first shell
 * therefore makes a code.
 */
const enterCommand = (
  pid: number,
  env: Readonly<Record<string, string>>,
  line: string,
): string[] => [
  ...["env", "--ignore-signal=INT,TERM", "nsenter", ...NSENTER],
  ...["--target", `${pid}`, "--net", "--mount"],
  `--pid=/proc/${pid}/ns/pid_for_children`,
  ...["unshare", "--user", "--map-user=1000", "--map-group=1000"],
  ...["env", "-i", "--default-signal=INT,TERM"],
  ...Object.entries(env).map((pair) => pair.join("=")),
  ...["bash", "-c", 'trap : INT TERM; bash -c "$1"; exit $?', "bash", line],
];

/** Says why the commands of the pages cannot be run here; "" where they can. */
export const WITHOUT_MACHINES: string = await whyNot();

async function whyNot(): Promise<string> {
  const [command = "", ...args] = UNSHARE;
  const test = new Deno.Command(command, {
    args: [
      ...args,
      "bash",
      "-ec",
      "ip link set lo up; unshare --user --map-user=1000 env --default-signal=INT id",
    ],
    stdout: "null",
    stderr: "null",
  });
  const { success } = await test.output().catch(() => ({ success: false }));
  return success
    ? ""
    : " (skipped: no namespaces here; Linux, util-linux, coreutils and iproute2 have them)";
}

/** Starts a machine. */
export async function startMachine(
  { isNew = false, isOnline = isNew, withoutClone = false }: MachineOptions =
    {},
): Promise<Machine> {
  await using stack = new AsyncDisposableStack();
  const { path: home } = stack.use(await scratch());
  const bin = join(home, "bin");
  const folder = join(home, "tools");
  for (const path of [bin, folder, join(home, "etc")]) await Deno.mkdir(path);
  if (!withoutClone) await Deno.symlink(root, join(home, "a2c-smcp"));
  await Deno.writeTextFile(join(home, ".npmrc"), await npmSettings(!isNew));
  if (!isNew) {
    await shareNpmCache(home);
    await Deno.mkdir(join(home, ".cache"));
    await Deno.symlink(await cacheOfDeno(), join(home, ".cache/deno"));
  }
  for (const [name, command] of await shortNames()) {
    const file = join(bin, name);
    await Deno.writeTextFile(file, `#!/bin/sh\nexec ${command} "$@"\n`);
    await Deno.chmod(file, 0o755);
  }
  const env = {
    HOME: home,
    USER: "you",
    LANG: "C.UTF-8",
    NO_COLOR: "1",
    PATH: [
      bin,
      dirname(Deno.execPath()),
      // Node runs TypeScript from 22.18 on.
      dirname(await findNode(24)),
      Deno.env.get("PATH") ?? "",
    ].filter((path) => path !== ".").join(delimiter),
    ...(isOnline ? registries() : {}),
  };

  const [unshare = "", ...options] = UNSHARE;
  const system = stack.use(
    start(unshare, [...options, "bash", "-ec", await systemOf(home)]),
  );
  stack.defer(() => system.signal("SIGKILL"));
  await system.line(/^ready$/);
  const enter = (line: string, extra: Readonly<Record<string, string>>) => {
    const [command = "", ...args] = enterCommand(
      system.pid,
      { ...env, ...extra },
      `cd "${folder}"\n${line}`,
    );
    return start(command, args, { group: true });
  };
  const parts = new AsyncDisposableStack();
  const forward = async (
    port: number,
    serve: (path: string) => Promise<Outside>,
  ) => {
    const socket = join(home, `${port}.sock`);
    parts.use(await serve(socket));
    const file = join(root, "tests/pages/support/forward.ts");
    const child = parts.use(
      enter(
        `DENO_DIR="${await cacheOfDeno()}" exec deno run -A --no-config ${file} ${port}=${socket}`,
        {},
      ),
    );
    await child.line(/^forwarding$/);
  };
  if (isOnline) await forward(REGISTRIES_PORT, serveRegistries);
  parts.use(stack.move());
  return {
    home,
    folder,
    start: (line, extra = {}) => enter(line, extra),
    async run(line, extra = {}) {
      await using child = enter(line, extra);
      const { code } = await child.status;
      const text = child.lines.join("\n");
      assert(code === 0, `${line}\nends with ${code}:\n${text}`);
      return text;
    },
    write: (name, text) => Deno.writeTextFile(join(folder, name), text),
    forward: (port, to) => forward(port, (path) => servePort(path, to)),
    async save(name, text) {
      const links = join(home, "deno.json");
      if (name.endsWith(".ts") && !await isThere(links)) {
        await linkPackage(home, { clone: false });
      }
      const own = text.replaceAll(NAMED_HOME, home);
      await Deno.writeTextFile(
        join(folder, name),
        isNew ? own : withVersions(own),
      );
    },
    async pinVersions() {
      const file = join(folder, "computer.json");
      if (isNew || !await isThere(file)) return;
      const text = await Deno.readTextFile(file);
      await Deno.writeTextFile(file, withVersions(text));
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

const isThere = (path: string): Promise<boolean> =>
  Deno.stat(path).then(() => true, () => false);

/** Prepares a network of its own, and files of the system that the pages name; then stays. */
async function systemOf(home: string): Promise<string> {
  const hosts = join(home, "etc", "hosts");
  await Deno.writeTextFile(
    hosts,
    `127.0.0.1 localhost\n${ADDRESSES[0]} ${HOSTS.join(" ")}\n`,
  );
  return `
ip link set lo up
sysctl --quiet net.ipv4.ip_unprivileged_port_start=0
${ADDRESSES.map((address) => `ip address add ${address}/32 dev lo`).join("\n")}
mount --bind "${hosts}" /etc/hosts
echo ready
exec sleep infinity`;
}

/** What a new machine needs to reach the registries: the way out, and this machine's authorities. */
function registries(): Record<string, string> {
  const proxy = new URL(
    Deno.env.get("HTTPS_PROXY") ?? Deno.env.get("https_proxy") ??
      "http://proxy",
  );
  proxy.host = `127.0.0.1:${REGISTRIES_PORT}`;
  return {
    ...Object.fromEntries(
      Object.entries(Deno.env.toObject()).filter(([name]) =>
        /CERT|CA_BUNDLE|CAINFO|^PIP_|^NPM_CONFIG_REGISTRY$/i.test(name) &&
        !name.startsWith("SMCP_")
      ),
    ),
    HTTPS_PROXY: proxy.href,
    NO_PROXY: ["127.0.0.1", "localhost", ...HOSTS, ...ADDRESSES].join(),
  };
}

/** The table of docs/getting-started.md: the short names of the commands, with Deno. */
async function shortNames(): Promise<[name: string, command: string][]> {
  const page = (await readPages()).get("docs/getting-started.md") ?? "";
  const rows = page.matchAll(
    /^\| `(smcp[\w-]*)(?: up)?` +\| `(deno run -A [^`\s]+)/gm,
  );
  const names = [...rows].map(([, name = "", command = ""]) =>
    [name, command] as [string, string]
  );
  assert(names.length === 4);
  return names;
}
