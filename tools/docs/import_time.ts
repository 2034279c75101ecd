/**
 * Prints what the import of a module takes, in milliseconds of processor time, which other programs
 * of the machine hardly change, and by how many bytes the memory of the process grows. A command
 * runs with the further arguments.
 *
 * @module
 */
import process from "node:process";

const [module = ""] = process.argv.splice(2, 1);
const before = process.memoryUsage.rss();
const from = process.cpuUsage();
// A command ends the process itself.
process.once("exit", () => {
  const { user, system } = process.cpuUsage(from);
  const ms = (user + system) / 1000;
  console.log(`\n${JSON.stringify([ms, process.memoryUsage.rss() - before])}`);
});
await import(module);
process.exit(0);
