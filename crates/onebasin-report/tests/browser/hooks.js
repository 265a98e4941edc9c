// Runs before all other scripts: records errors.
"use strict";
const problems = [];
addEventListener("error", (event) => problems.push(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => problems.push(`rejection: ${event.reason}`));
console.error = (...said) => problems.push(`console: ${said.join(" ")}`);
