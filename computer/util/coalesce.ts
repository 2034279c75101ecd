/**
 * Returns a trigger that runs `work` once at a time; all triggers while it runs are coalesced into
 * one more run, so the last state is always seen.
 *
 * @param work must handle its own errors
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
