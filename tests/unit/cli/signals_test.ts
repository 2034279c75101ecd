import { assertEquals } from "@std/assert";

const program = `
const { firstSignal } = await import(${
  JSON.stringify(new URL("../../../cli/signals.ts", import.meta.url).href)
});
const stopped = firstSignal();
setInterval(() => {}, 1000); // as a connection keeps a command running
console.log("waits");
console.log((await stopped).name);
Deno.exit();
`;

Deno.test({
  name: "a command ends at SIGHUP, unless nohup started it",
  ignore: Deno.build.os !== "linux",
}, async () => {
  const cases = [["", "SIGHUP"], ['trap "" HUP;', "SIGTERM"]] as const;
  for (const [trap, first] of cases) {
    const child = new Deno.Command("sh", {
      args: ["-c", `${trap} exec "$0" eval "$1"`, Deno.execPath(), program],
      stdout: "piped",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream());
    let out = "";
    for await (const text of lines) {
      if (out === "") {
        child.kill("SIGHUP");
        if (first !== "SIGHUP") child.kill(first);
      }
      out += text;
    }
    await child.status;
    assertEquals(out, `waits\n${first}\n`);
  }
});
