/**
 * Makes a queue that runs its tasks one after the other, in the order in which they were given.
 *
 * A task that finds the queue empty runs at once: most of them never wait, and then cost no promise.
 *
 * @param failed gets what a task throws; the queue goes on
 * @returns adds a task; resolves when it has ended, whichever way, or is `undefined` when it has
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
