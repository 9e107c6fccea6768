// The copy button of an example that shows a terminal copies its commands: lines after "$ ", and those that continue
// them, without the prompt and without what they print. The theme copies the attribute `data-copy` where it is there.
"use strict";

function commands(text) {
  const found = [];
  let goesOn = false;
  for (const line of text.split("\n")) {
    const isCommand = line.startsWith("$ ");
    if (isCommand || goesOn) found.push(isCommand ? line.slice(2) : line);
    goesOn = (isCommand || goesOn) && line.endsWith("\\");
  }
  return found;
}

for (const code of document.querySelectorAll("pre > code")) {
  const found = commands(code.textContent);
  if (found.length) code.setAttribute("data-copy", found.join("\n"));
}
