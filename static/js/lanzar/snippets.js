// The request in the editor as Python, JavaScript, a command and MCP. Each works when pasted, with the API key of a
// workspace in INTRAMEDIAL_KEY.

import { raw } from "../lib/text.js";
import { quoted } from "./operations.js";

/** @typedef {{baseUrl: string, operation: string, method: string, path: string, body?: string, value?: any}} Written */

/** @type {Record<string, (written: Written) => string>} */
export const SNIPPETS = { python, javascript, cli };

/** @param {Written} written */
function python({ baseUrl, method, path, body, value }) {
  const data = body === undefined ? "" : `    data=json.dumps(${literal(value ?? body)}).encode(),\n`;
  return `import json
import os
import urllib.error
import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(baseUrl + path)},
    method="${method}",
${data}    headers={
        "Authorization": f"Bearer {os.environ['INTRAMEDIAL_KEY']}",
        "Content-Type": "application/json",
    },
)
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as refusal:
    answer = refusal
print(answer.status, json.load(answer))
`;
}

/** @param {Written} written */
function javascript({ baseUrl, method, path, body, value }) {
  const sent = body === undefined ? "" : `  body: JSON.stringify(${indented(value ?? body)}),\n`;
  return `const answer = await fetch(${JSON.stringify(baseUrl + path)}, {
  method: "${method}",
  headers: {
    Authorization: \`Bearer \${process.env.INTRAMEDIAL_KEY}\`,
    "Content-Type": "application/json",
  },
${sent}});
console.log(answer.status, await answer.json());
`;
}

/** @param {Written} written */
function cli({ baseUrl, operation, value }) {
  const { resource, actorDid, leaseId } = value ?? {};
  const words = ["python3", "intramedial.py", "--url", baseUrl, operation];
  if (resource !== undefined) words.push(resource);
  if (actorDid !== undefined && operation !== "wait") words.push("--actor", actorDid);
  if (leaseId !== undefined && operation === "release") words.push("--lease", leaseId);
  return `curl -sSO ${quoted(`${baseUrl}/static/cli/intramedial.py`)}\n${words.map((word) => quoted(String(word))).join(" ")}`;
}

/**
 * MCP: the configuration of each client, {name, place, configuration}; the tool's name at `/mcp/compat`, which is the
 * address in the configurations; and the tool's input.
 */
export function mcp({ operation, value }) {
  const tool = {
    lease: "coordination_lease_acquire",
    release: "coordination_lease_release",
    wait: "coordination_wait",
    withdraw: "coordination_lease_withdraw",
  }[operation];
  const { leaseId: _, ...given } = value ?? {};
  // The tool for the picture takes no agent: the picture is of the whole workspace.
  const { actorDid: __, ...withoutAgent } = given;
  const taken = operation === "wait" ? withoutAgent : given;
  return { clients: raw("mcp_clients"), tool, input: JSON.stringify(taken, null, 2) };
}

const indented = (value) => JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");

/** A JSON value as Python writes it. */
function literal(value, indent = "    ") {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${literal(item, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return items.length ? `${open}\n${inner}${items.join(`,\n${inner}`)},\n${indent}${close}` : open + close;
}
