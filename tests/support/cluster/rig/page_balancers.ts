import {
  type Balancer,
  startCaddy,
  startHaproxy,
  startNginx,
} from "./balancers.ts";
import type { TestNode } from "./node.ts";

type Played = Record<string, (config: string) => Promise<Balancer>>;

/** The files of deploy/balancers that a program plays for Agents and Computers. */
export const PLAYED = {
  "nginx-session.conf": startNginx,
  "nginx-address.conf": startNginx,
  "haproxy-session.cfg": startHaproxy,
  "haproxy-address.cfg": startHaproxy,
  "session.Caddyfile": startCaddy,
  "address.Caddyfile": startCaddy,
} satisfies Played;

/** Those that also choose the Server of an office for clients of MCP. */
export const PLAYED_FOR_MCP = {
  "nginx-address.conf": startNginx,
  "haproxy-address.cfg": startHaproxy,
} satisfies Played;

/** An example that is played. */
export type PlayedExample = keyof typeof PLAYED;

/** Starts the balancer of a file, in front of nodes of the names a, b and c. */
export async function startPageBalancer(
  example: PlayedExample,
  nodes: readonly Pick<TestNode, "url">[],
): Promise<Balancer> {
  return await PLAYED[example](here(await readExample(example), nodes));
}

/** Reads a file of deploy/balancers. */
export const readExample = (name: PlayedExample): Promise<string> =>
  Deno.readTextFile(
    new URL(`../../../../deploy/balancers/${name}`, import.meta.url),
  );

/** Puts the nodes, and a port of this machine, in place of the page's addresses. */
function here(
  code: string,
  nodes: readonly Pick<TestNode, "url">[],
): string {
  const replaced = code
    .replace("listen 80;", "listen 127.0.0.1:$PORT;")
    .replace("bind :80", "bind 127.0.0.1:$PORT")
    .replace("smcp.example.com {", "http://127.0.0.1:$PORT {");
  return nodes.reduce(
    (text, { url }, i) =>
      text.replaceAll(`10.0.0.${i + 1}:8787`, new URL(url).host),
    replaced,
  );
}
