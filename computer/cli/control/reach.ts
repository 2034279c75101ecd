import process from "node:process";
import { ownCommand } from "../../../cli/own_command.ts";
import { RunningComputer } from "../../control/client.ts";
import { controlFolder } from "../../control/entries.ts";

/** The flags that choose one of the Computers that run. */
export interface ChoiceFlags {
  /** Its name. */
  name?: string;
  /** Its office. */
  office?: string;
}

/**
 * Asks the Computer that is meant.
 *
 * @throws {Error} when none or several fit, with what to do; and what it answers
 */
export async function reached<T>(
  { name, office }: ChoiceFlags,
  work: (computer: RunningComputer) => Promise<T>,
): Promise<T> {
  const computer = await RunningComputer.find(
    { name, office },
    controlFolder(process.env),
    `${
      ownCommand("smcp-computer", process.execPath)
    } run --config computer.json --office demo`,
  );
  try {
    return await work(computer);
  } finally {
    computer.close();
  }
}
