/**
 * Counts how often something looks at a text while it runs, by its regular expressions: a measure of its
 * work that does not depend on the machine.
 */
export function steps(run: () => unknown): number {
  const { exec } = RegExp.prototype;
  let count = 0;
  RegExp.prototype.exec = function (text) {
    count++;
    return exec.call(this, text);
  };
  try {
    run();
  } finally {
    RegExp.prototype.exec = exec;
  }
  return count;
}
