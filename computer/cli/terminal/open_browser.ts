import { spawn } from "node:child_process";
import process from "node:process";

/** Opens a page in the user's browser; does nothing if there is no browser. */
export function openBrowser(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, url], {
    stdio: "ignore",
    detached: true,
  });
  child.once("error", () => {});
  child.unref();
}

const OPENERS: Partial<Record<string, [string, ...string[]]>> = {
  darwin: ["open"],
  // Unlike `start`, it does not interpret characters such as `&` in the URL.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
