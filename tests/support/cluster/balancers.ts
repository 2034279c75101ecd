import { join } from "node:path";
import { type Child, start } from "../child.ts";
import { scratch } from "../scratch.ts";
import type { TestNode } from "./node.ts";
import { killed, onFreePorts, saysTaken } from "./programs.ts";

/** A balancer in a process of its own. */
export interface Balancer extends AsyncDisposable {
  /** Its address for clients. */
  readonly url: string;
  readonly pid: number;
  /** Its output. */
  readonly lines: readonly string[];
}

/**
 * Starts nginx as one process.
 *
 * @param http what stands in `http { … }`, with `$PORT` where it listens
 */
export const startNginx = (http: string): Promise<Balancer> =>
  startBalancer({
    program: "nginx",
    args: (file, folder) => ["-p", folder, "-c", file],
    config: (folder) =>
      [
        "daemon off; master_process off; error_log stderr notice;",
        `pid ${folder}/pid; events {}`,
        `http { access_log off; client_body_temp_path ${folder}/body;`,
        `proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f;`,
        `uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;`,
        http,
        "}",
        "",
      ].join("\n"),
    ready: /using the "\w+" event method/,
  });

/**
 * Starts HAProxy as one process.
 *
 * @param config what stands behind `global`, with `$PORT` where it listens
 */
export const startHaproxy = (config: string): Promise<Balancer> =>
  startBalancer({
    program: "haproxy",
    args: (file) => ["-db", "-V", "-f", file],
    // By default it would share its port with another one.
    config: () => `global\n  noreuseport\n\n${config}\n`,
    ready: /Using \w+\(\) as the polling mechanism/,
  });

/**
 * Starts Caddy.
 *
 * @param sites its sites, with `http://127.0.0.1:$PORT` where it listens
 */
export const startCaddy = (sites: string): Promise<Balancer> =>
  startBalancer({
    program: "caddy",
    args: (file) => ["run", "--config", file, "--adapter", "caddyfile"],
    config: (folder) =>
      [
        "{",
        "  admin off",
        "  auto_https disable_redirects",
        `  storage file_system ${folder}`,
        "}",
        sites,
        "",
      ].join("\n"),
    ready: /serving initial configuration|address already in use/,
  });

interface Program {
  readonly program: string;
  args(file: string, folder: string): string[];
  config(folder: string): string;
  readonly ready: RegExp;
}

async function startBalancer(
  { program, args, config, ready }: Program,
): Promise<Balancer> {
  const folder = await scratch();
  const begin = async (port: number) => {
    const file = join(folder.path, `${program}.conf`);
    const text = config(folder.path).replaceAll("$PORT", String(port));
    await Deno.writeTextFile(file, text);
    // Caddy keeps its configuration there.
    const env = { XDG_CONFIG_HOME: folder.path };
    const child = start(program, args(file, folder.path), { env });
    try {
      await child.line(ready);
      await listening(port, child);
    } catch (error) {
      await killed(child);
      throw error;
    }
    return { child, port };
  };
  const { child, port } = await onFreePorts(1, begin, saysTaken)
    .catch(async (error) => {
      await folder[Symbol.asyncDispose]();
      throw error;
    });
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    lines: child.lines,
    [Symbol.asyncDispose]: async () => {
      await killed(child);
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Waits until the program takes connections; rejects with its output when it could not have its port. */
async function listening(port: number, child: Child): Promise<void> {
  while (true) {
    const taken = child.lines.find((line) => saysTaken(new Error(line)));
    if (taken !== undefined) throw new Error(taken);
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The files of deploy/balancers that a program plays. */
export const PLAYED = {
  "nginx-session.conf": startNginx,
  "nginx-address.conf": startNginx,
  "haproxy-session.cfg": startHaproxy,
  "haproxy-address.cfg": startHaproxy,
  "session.Caddyfile": startCaddy,
  "address.Caddyfile": startCaddy,
} satisfies Record<string, (config: string) => Promise<Balancer>>;

/** An example that is played. */
export type PlayedExample = keyof typeof PLAYED;

/** Starts the balancer of a file, with a port of this machine, in front of these nodes in place of the page's addresses. */
export async function startPageBalancer(
  example: PlayedExample,
  nodes: readonly Pick<TestNode, "url">[],
): Promise<Balancer> {
  const code = (await readExample(example))
    .replace("listen 80;", "listen 127.0.0.1:$PORT;")
    .replace("bind :80", "bind 127.0.0.1:$PORT")
    .replace("smcp.example.com {", "http://127.0.0.1:$PORT {");
  return await PLAYED[example](nodes.reduce(
    (text, { url }, i) =>
      text.replaceAll(`10.0.0.${i + 1}:8787`, new URL(url).host),
    code,
  ));
}

/** The public name in the files of deploy/balancers. */
export const PUBLIC_NAME = "smcp.example.com";

/**
 * Starts the balancer of a file of deploy/balancers with a port of this machine, in front of Servers in
 * place of the file's addresses; the first one is in that of each that is not there.
 *
 * @param pem the file of a certificate and its key, for HTTPS; without it HTTP
 */
export async function startBalancerOf(
  file: string,
  servers: readonly [Pick<TestNode, "url">, ...Pick<TestNode, "url">[]],
  pem?: string,
): Promise<Balancer> {
  const nginxTls = pem
    ? ` ssl; ssl_certificate ${pem}; ssl_certificate_key ${pem};`
    : ";";
  const code = (await readExample(file))
    .replace(/^ *ssl_certificate.*\n/gm, "")
    .replace(/listen (80|443 ssl);/, `listen 127.0.0.1:$PORT${nginxTls}`)
    .replace("bind :80", `bind 127.0.0.1:$PORT${pem ? ` ssl crt ${pem}` : ""}`)
    .replace(
      `${PUBLIC_NAME} {`,
      pem
        ? `https://${PUBLIC_NAME}:$PORT {\n  tls ${pem} ${pem}`
        : `http://${PUBLIC_NAME}:$PORT {`,
    )
    .replaceAll(
      /(?:127\.0\.0\.|10\.0\.0\.)(\d):8787/g,
      (_, place) => new URL((servers[place - 1] ?? servers[0]).url).host,
    );
  return await startedBy(file)(code);
}

/** Returns what starts the program of a file, by its name. */
function startedBy(file: string): (config: string) => Promise<Balancer> {
  if (/^nginx.*\.conf$/.test(file)) return startNginx;
  if (/^haproxy.*\.cfg$/.test(file)) return startHaproxy;
  if (file.endsWith("Caddyfile")) return startCaddy;
  throw new Error(`No program for deploy/balancers/${file}`);
}

const FOLDER = new URL("../../../deploy/balancers/", import.meta.url);

const readExample = (file: string): Promise<string> =>
  Deno.readTextFile(new URL(file, FOLDER));

/** Returns the names of all files of deploy/balancers. */
export const balancerFiles = (): string[] =>
  [...Deno.readDirSync(FOLDER)].map(({ name }) => name).sort();
