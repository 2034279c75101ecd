/**
 * Makes a trigger for work that must not run twice at once: what is asked for while it runs is
 * done once more after it, so that the last state is always seen.
 *
 * @param work its failures are its own business
 */
export function coalesce(work: () => Promise<void>): () => void {
  let running = false;
  let again = false;
  const run = async () => {
    running = true;
    try {
      do {
        again = false;
        await work();
      } while (again);
    } finally {
      running = false;
    }
  };
  return () => {
    if (running) again = true;
    else void run();
  };
}
