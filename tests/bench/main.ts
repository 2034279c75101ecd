/** Says that nothing is measured yet, so that nobody takes silence for a result. */
console.log("No benchmark exists yet.");
