import { stat } from "node:fs/promises";
import { UsageError } from "../../cli/run.ts";
import { plain } from "../../cli/terminal_text.ts";
import {
  chooseComputer,
  type ComputerFlags,
  printJson,
  withAgent,
} from "./office.ts";
import { waitingFor } from "./waiting.ts";

/** Puts a file on a Computer, and prints where it is there. */
export async function put(file: string, flags: ComputerFlags): Promise<void> {
  await check(file);
  const landed = await withAgent(flags, async (agent, signal) => {
    const computer = await chooseComputer(agent, flags, signal);
    let progress = "";
    return await waitingFor(
      () =>
        `${progress}putting ${plain(file)} on ${
          plain(computer)
        } (Ctrl-C cancels)`,
      agent.putFile(computer, file, {
        signal,
        onProgress: ({ sent, total }) =>
          progress = `${megabytes(sent)}/${megabytes(total)} MB  `,
      }),
    );
  });
  if (flags.json) printJson(landed);
  else console.log(plain(landed.path));
}

/** Checks before anything is connected that there is something to put. */
async function check(file: string): Promise<void> {
  const found = await stat(file).catch((error) => {
    throw new UsageError(
      `Cannot read ${file}: ${
        error.code === "ENOENT" ? "there is no such file" : error.message
      }`,
    );
  });
  if (!found.isFile()) throw new UsageError(`${file} is not a file`);
  if (found.size === 0) {
    throw new UsageError(`${file} is empty; there is nothing to put`);
  }
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
