import type { Child } from "../child.ts";

/** Below the ports that the system gives out by itself: only who asks for one of them by number has it. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;

/** Attempts to find a port that is free. */
const ATTEMPTS = 50;

/**
 * Starts a program that takes its port by number and cannot be asked for any, on ports that are free:
 * the program itself is who finds out, and others are tried when it ended for that.
 *
 * @param count of ports in a row
 * @param begin starts it on the first of them; rejects when it ended
 * @param isTaken whether its output says that a port was taken
 */
export async function onFreePorts<T>(
  count: number,
  begin: (port: number) => Promise<T>,
  isTaken: (error: Error) => boolean,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (PORTS - count));
    try {
      return await begin(port);
    } catch (error) {
      if (!(error instanceof Error) || !isTaken(error)) throw error;
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

/** Whether a program said that its port belongs to another. */
export const saysTaken = ({ message }: Error): boolean =>
  /address already in use|address in use|cannot bind socket/i.test(message);

/** Ends a program in any state without asking it, and waits for its end. */
export async function killed(child: Child): Promise<void> {
  child.signal("SIGKILL"); // reaches one that is stopped as well
  await child.status;
}

/**
 * Resolves when something is so; asks again and again, since other programs tell nobody.
 *
 * The `timeout` of the test ends a wait without success.
 */
export async function until(
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  await found(async () => await isSo() || undefined, () => true);
}

/** Resolves with what is there and fits; asks again and again, like {@linkcode until}. */
export async function found<T>(
  look: () => T | undefined | Promise<T | undefined>,
  fits: (found: T) => boolean,
): Promise<T> {
  while (true) {
    const seen = await look();
    if (seen !== undefined && fits(seen)) return seen;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
