// Checks a request against the API's description (OpenAPI 3.1) before it is sent. It knows only what that description
// uses: type, required, pattern, length, range. The service checks again.

let described = null;

/** The shape of an operation's members, {properties, required}; null if it is not described. */
export async function shapeOf({ method, path, sends }) {
  described ??= fetch("/openapi.json").then((answer) => answer.json());
  described.catch(() => (described = null));
  const document = await described;
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) return null;
  if (sends === "body") return resolve(document, operation.requestBody.content["application/json"].schema);
  const accepted = operation.parameters.filter((parameter) => parameter.in === "query");
  return {
    properties: Object.fromEntries(accepted.map(({ name, schema }) => [name, schema])),
    required: accepted.filter(({ required }) => required).map(({ name }) => name),
  };
}

function resolve(document, schema) {
  if (!schema.$ref) return schema;
  return schema.$ref
    .slice(2)
    .split("/")
    .reduce((found, step) => found[step], document);
}

/**
 * What is wrong with `value`: [{pointer, code, values, hint?}]; `code` names its text. A hint is not a fault: the
 * service ignores that member.
 */
export function faults(shape, value, { query = false } = {}) {
  const missing = (shape.required ?? [])
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => ({ pointer: "", code: "missing", values: { name } }));
  const wrong = Object.entries(value).flatMap(([name, member]) => {
    const pointer = `/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`;
    const schema = shape.properties?.[name];
    if (!schema) return [{ pointer, code: "ignored", values: { name }, hint: true }];
    const fault = faultOf(schema, member, query);
    return fault ? [{ pointer, values: {}, ...fault }] : [];
  });
  return [...missing, ...wrong];
}

function faultOf(schema, value, query) {
  const { type, pattern, minLength, maxLength, minimum, maximum } = schema;
  if (type === "string") {
    if (typeof value !== "string") return { code: "not_text" };
    const { length } = value.normalize("NFC");
    if (length < (minLength ?? 0)) return { code: "empty" };
    if (length > (maxLength ?? Infinity)) return { code: "too_long", values: { most: maxLength } };
    if (pattern && !new RegExp(pattern, "u").test(value)) return { code: "not_did" };
  }
  if (type === "integer") {
    const number = query && /^\d{1,9}$/.test(value) ? Number(value) : value;
    if (!Number.isInteger(number)) return { code: "not_number" };
    if (number < minimum || number > maximum) return { code: "out_of_range", values: { minimum, maximum } };
  }
  return null;
}
