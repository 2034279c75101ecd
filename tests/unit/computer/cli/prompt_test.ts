import { assertEquals, assertMatch } from "@std/assert";
import { PassThrough } from "node:stream";
import { Prompt } from "../../../../computer/cli/shell/prompt.ts";

const newPrompt = () => {
  const output = new PassThrough({ encoding: "utf8" });
  const prompt = new Prompt({
    input: new PassThrough(),
    output,
    prompt: "smcp> ",
    complete: (line) => [[], line],
    history: [],
  });
  return { output, prompt };
};

Deno.test("Prompt prints nothing into a question, but afterwards", async () => {
  const { output, prompt } = newPrompt();
  const question = Promise.withResolvers<void>();
  const line = prompt.readLine();
  output.read();
  const pause = prompt.pauseFor(() => question.promise);
  output.read();
  prompt.print("call of echo: ok");
  assertEquals(output.read(), null);
  question.resolve();
  await pause;
  assertMatch(output.read(), /^call of echo: ok\n[^]*smcp> /);
  prompt.close();
  assertEquals(await line, undefined);
});

Deno.test("Prompt prints what it held when it is closed within a question", () => {
  const { output, prompt } = newPrompt();
  void prompt.pauseFor(() => new Promise<void>(() => {}));
  prompt.print("error: no office");
  prompt.close();
  assertEquals(output.read(), "error: no office\n");
});
