/** A process with a control socket, and nothing else: `deno run -A holder.ts FOLDER NAME [wait|end]`. */
import process from "node:process";
import { ControlSocket } from "../../../computer/control/control.ts";

const [folder = "", name = "", what] = Deno.args;
const control = await ControlSocket.open({
  where: () => ({
    name,
    office: "north",
    url: "http://127.0.0.1:8787",
    pid: Deno.pid,
  }),
  devices: () =>
    Promise.resolve([{
      id: "0a",
      label: "Pixel",
      paired: "2026-11-30T00:00:00Z",
      isWoken: false,
    }]),
  removeDevice: (which) =>
    Promise.reject(new Error(`no device is called ${which}`)),
  rules: () => Promise.resolve({ rules: [], permissions: [] }),
  removePermission: () => Promise.reject(new Error("no such permission")),
  pair: async (page, talk) => {
    talk.show({
      event: "link",
      link: `${page}#1`,
      untilMs: 1,
      warnings: ["beware"],
    });
    const digits = await talk.digits();
    console.log(`digits ${digits}`);
    return digits === undefined ? { reason: "cancelled" } : { paired: digits };
  },
}, folder);
console.log("listening");
if (what === "wait") setInterval(() => {}, 1e6);
if (what === "exit") setTimeout(() => process.exit(3), 1);
if (what === "close") await control.close();
