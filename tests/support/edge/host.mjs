/**
 * Runs Workers in workerd by Miniflare for tests in Deno: answers calls on stdin, see
 * tests/interop/support/puppet.ts. Its argument is the folder that has Miniflare.
 */
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { Miniflare } = createRequire(process.argv[2])("miniflare");
const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const started = new Map();

/** Shows the lines of a Worker's console as events. */
const logged = (id) => (...streams) => {
  for (const stream of streams) {
    createInterface({ input: stream }).on("line", (data) => {
      write({ event: `log ${id}`, data });
    });
  }
};

const METHODS = {
  async start(id, options) {
    const worker = new Miniflare({
      ...options,
      handleRuntimeStdio: logged(id),
    });
    started.set(id, worker);
    return String(await worker.ready);
  },
  async deploy(id, options) {
    await started.get(id).setOptions({
      ...options,
      handleRuntimeStdio: logged(id),
    });
    return String(await started.get(id).ready);
  },
  async stop(id) {
    const worker = started.get(id);
    started.delete(id);
    await worker?.dispose();
    return null;
  },
};

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const { id, method, args } = JSON.parse(line);
  try {
    write({ id, result: await METHODS[method](...args) });
  } catch (error) {
    write({ id, error: String(error?.stack ?? error) });
  }
});
lines.on("close", async () => {
  await Promise.all([...started.keys()].map(METHODS.stop));
  process.exit();
});
