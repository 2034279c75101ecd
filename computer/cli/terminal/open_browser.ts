import { spawn } from "node:child_process";
import process from "node:process";

/** Opens a page in the person's browser, where there is one; that there is none is no error. */
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
  // Unlike `start` it takes the signs of a URL for nothing else.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
