/**
 * Plots as SVG, for pages with a light and with a dark background.
 *
 * @module
 */
export { type BarPlot, barPlot } from "./bars.ts";
export { type LinePlot, linePlot } from "./lines.ts";
