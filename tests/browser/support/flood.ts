import type { ConsoleOffice } from "./console_office.ts";

/** The calls that begin together. */
const BATCH = 100;

/** What a flood was. */
export interface Flood {
  /** Calls that were made, all of which have ended. */
  readonly calls: number;
  /** Calls a second: fewer than wanted on a machine that is busy elsewhere. */
  readonly rate: number;
}

/**
 * Lets the Agent of an office make so many calls a second of the Computer "echo", which answers at
 * once.
 *
 * @param seconds how long, if the machine can keep up; the number of calls is the same if it cannot
 */
export async function flood(
  { office }: ConsoleOffice,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): Promise<Flood> {
  const result = { content: [{ type: "text", text: "yes" }] };
  const echo = await office.addScriptedComputer("echo", () => result);
  const began = performance.now();
  const calls: Promise<unknown>[] = [];
  while (calls.length < rate * seconds) {
    const due = began + calls.length * 1000 / rate;
    const early = due - performance.now();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, early)));
    for (let i = 0; i < BATCH; i++) {
      calls.push(office.agent.callTool("echo", "echo", { number: i }));
    }
  }
  await Promise.all(calls);
  const elapsed = (performance.now() - began) / 1000;
  await echo.close();
  return { calls: calls.length, rate: Math.round(calls.length / elapsed) };
}
