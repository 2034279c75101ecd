import { fileURLToPath } from "node:url";

const PAGE = fileURLToPath(new URL("../page.ts", import.meta.url));
const HTML = `<!doctype html>
<meta charset="utf-8">
<title>An Agent in a browser</title>
<link rel="icon" href="data:,">
<script type="module" src="/page.js"></script>`;

/** Serves the page, and receives its outcome. */
export interface PageServer extends AsyncDisposable {
  /** The page's origin. */
  readonly origin: string;
  /** The outcome sent by the page, parsed. */
  readonly outcome: Promise<unknown>;
}

/** Bundles `page.ts` for browsers, like a user's bundler. */
export async function bundlePage(): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", PAGE],
    stdin: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Starts a server for one page. */
export function servePage(script: string): PageServer {
  const outcome = Promise.withResolvers<unknown>();
  const answers: Record<string, (request: Request) => Promise<Response>> = {
    "/": () => reply(HTML, "text/html"),
    "/page.js": () => reply(script, "text/javascript"),
    "/outcome": async (request) => {
      outcome.resolve(await request.json());
      return new Response();
    },
  };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) =>
      answers[new URL(request.url).pathname]?.(request) ??
        new Response(null, { status: 404 }),
  );
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    outcome: outcome.promise,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const reply = (body: string, type: string): Promise<Response> =>
  Promise.resolve(
    new Response(body, { headers: { "Content-Type": type } }),
  );
