/**
 * Makes a queue that runs its tasks one after the other, in the order in which they were given.
 *
 * @param failed gets what a task throws; the queue goes on
 * @returns adds a task; resolves when it has ended, whichever way
 */
export function serial(
  failed: (error: unknown) => void,
): (task: () => void | Promise<void>) => Promise<void> {
  let tail = Promise.resolve();
  return (task) => tail = tail.then(task).catch(failed);
}
