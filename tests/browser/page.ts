/**
 * The code that runs in the browser: bundled, loaded by a page, with its task in the page's URL. The
 * outcome is a promise of the page: `outcome`.
 *
 * @module
 */
import {
  ConnectionError,
  ProtocolVersionError,
  SmcpAgent,
} from "../../agent/mod.ts";

/** The office that the test prepared. */
const OFFICE = "north";

const parameters = new URLSearchParams(location.search);
const url = parameters.get("url") ?? "";

const scenarios: Record<string, () => Promise<unknown>> = {
  use,
  refused,
  images,
};

/** Everything that an Agent does, over a real network. */
async function use(): Promise<unknown> {
  await using agent = new SmcpAgent({ url, name: "page" });
  await agent.connect();
  await agent.join(OFFICE);
  await agent.toolsSettled();
  const tools = agent.tools.get("pc")?.map(({ name }) => name);
  const echo = await agent.callTool("pc", "echo", { text: "from a page" });
  const failed = await agent.callTool("pc", "fail");

  const giveUp = new AbortController();
  const call = agent.callTool("pc", "slow", {}, { signal: giveUp.signal });
  await agent.callTool("pc", "slow_began");
  giveUp.abort(new Error("no longer wanted"));
  const cancelled = await call.catch((error) => error.message);
  const aborted = await agent.callTool("pc", "slow_aborted");

  return {
    members: (await agent.listRoom()).map(({ name, role }) => [role, name]),
    tools,
    echo: echo.content,
    failed: failed.isError,
    cancelled,
    aborted: aborted.content,
    desktop: await agent.getDesktop("pc"),
  };
}

/** The used part of an `<img>`; browser types are not available here. */
interface Loading {
  src: string;
  onload: (value?: unknown) => void;
  onerror: (value?: unknown) => void;
}

/** Loads the URL that opens a session as 100 images, as any page could; counts successes and failures. */
async function images(): Promise<number> {
  const query = "EIO=4&transport=polling&a2c_version=0.2.0";
  const settled = Array.from({ length: 100 }, (_, i) => {
    const image: Loading = Reflect.construct(
      Reflect.get(globalThis, "Image"),
      [],
    );
    image.src = `${url}/smcp/?${query}&t=${i}`;
    return new Promise((resolve) => image.onload = image.onerror = resolve);
  });
  return (await Promise.all(settled)).length;
}

/** The error that the page's code sees when it is refused. */
async function refused(): Promise<unknown> {
  const transports = parameters.get("transport") === "websocket"
    ? { transports: ["websocket" as const] }
    : {};
  const agent = new SmcpAgent({ url, name: "page", ...transports });
  try {
    await agent.connect();
    return "let in";
  } catch (error) {
    if (error instanceof ProtocolVersionError) {
      const { name, serverVersion, clientVersion } = error;
      return { name, serverVersion, clientVersion, state: agent.state };
    }
    if (error instanceof ConnectionError) {
      const { name, code, message } = error;
      return { name, code, message: message.replace(/^.*;/, "") };
    }
    throw error;
  } finally {
    await agent.close();
  }
}

async function run(): Promise<unknown> {
  try {
    return await scenarios[parameters.get("scenario") ?? ""]?.();
  } catch (error) {
    return { failed: error instanceof Error ? error.stack : String(error) };
  }
}

Reflect.set(globalThis, "outcome", run());
