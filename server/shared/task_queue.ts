/**
 * Creates a queue that runs its tasks one at a time, in the order in which they were added.
 *
 * Runs a task synchronously when idle, so the common case allocates no promise.
 *
 * @param failed receives the error of a failed task; the queue continues
 * @returns a function that adds a task; it resolves when the task has ended, or returns `undefined` when it already has
 */
export function createTaskQueue(
  failed: (error: unknown) => void,
): (task: () => void | Promise<void>) => Promise<void> | undefined {
  let tail: Promise<void> | undefined;
  const append = (task: () => void | Promise<void>) => {
    const ended = (tail ?? Promise.resolve()).then(task).catch(failed).then(
      () => {
        if (tail === ended) tail = undefined;
      },
    );
    return tail = ended;
  };
  let running = false;
  return (task) => {
    if (tail || running) return append(task);
    running = true;
    try {
      const ended = task();
      return ended instanceof Promise ? append(() => ended) : undefined;
    } catch (error) {
      failed(error);
      return undefined;
    } finally {
      running = false;
    }
  };
}
