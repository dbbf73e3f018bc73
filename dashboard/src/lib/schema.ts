/** JSON schemas as forms need them: what kind of field, what it begins with, and what is wrong with a value. */

import type { Json } from "../api/types";

export type Schema = { [key: string]: Json };
/** Value of a form: like JSON, but a field that nobody has filled in is undefined. */
export type Draft = undefined | null | boolean | number | string | Draft[] | { [key: string]: Draft };
export type Problems = Record<string, string>;

export type FieldKind = "object" | "list" | "choice" | "variants" | "boolean" | "number" | "text" | "json";

export function asSchema(value: Json | undefined): Schema {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

/** Return a schema without references, without the null that its value may be, and with what stands beside both. */
export function resolve(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let depth = 0; depth < 16; depth++) {
    const next = follow(found, root);
    if (next === null) return found;
    const { $ref: _, anyOf: __, oneOf: ___, allOf: ____, ...beside } = found;
    found = { ...next, ...beside };
  }
  return {};
}

function follow(schema: Schema, root: Schema): Schema | null {
  const reference = schema["$ref"];
  if (typeof reference === "string") return lookUp(reference, root);
  const parts = schema["allOf"];
  if (Array.isArray(parts) && parts.length === 1) return asSchema(parts[0]);
  const others = variantsOf(schema).filter((variant) => variant["type"] !== "null");
  return variantsOf(schema).length > 0 && others.length === 1 ? others[0]! : null;
}

function lookUp(reference: string, root: Schema): Schema {
  let place: Json = root;
  for (const part of reference.replace(/^#\/?/, "").split("/")) {
    place = asSchema(place)[part.replace(/~1/g, "/").replace(/~0/g, "~")] ?? null;
  }
  return asSchema(place);
}

export function variantsOf(schema: Schema): Schema[] {
  const variants = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(variants) ? variants.map(asSchema) : [];
}

export function mayBeNull(schema: Schema): boolean {
  const type = schema["type"];
  return (Array.isArray(type) && type.includes("null")) || variantsOf(schema).some((one) => one["type"] === "null");
}

export function kindOf(schema: Schema): FieldKind {
  if (Array.isArray(schema["enum"]) || "const" in schema) return "choice";
  if (variantsOf(schema).length > 0) return "variants";
  const types = [schema["type"] ?? []].flat().filter((type) => type !== "null");
  if (types.length !== 1) return "properties" in schema ? "object" : "json";
  switch (types[0]) {
    case "object":
      return "properties" in schema ? "object" : "json";
    case "array":
      return "items" in schema ? "list" : "json";
    case "boolean":
      return "boolean";
    case "integer":
    case "number":
      return "number";
    case "string":
      return "text";
    default:
      return "json";
  }
}

export function choicesOf(schema: Schema): Json[] {
  return Array.isArray(schema["enum"]) ? schema["enum"] : [schema["const"] ?? null];
}

export interface Property {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

export function propertiesOf(schema: Schema): Property[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(asSchema(schema["properties"]))
    .map(([name, property]) => ({ name, schema: asSchema(property), isRequired: required.includes(name) }))
    .sort((one, other) => orderOf(one.schema) - orderOf(other.schema));
}

function orderOf(schema: Schema): number {
  const order = asSchema(schema["x-form"])["order"];
  return typeof order === "number" ? order : 1000;
}

export function labelOf(name: string, schema: Schema): string {
  const hinted = asSchema(schema["x-form"])["label"];
  if (typeof hinted === "string") return hinted;
  const plain = name.replace(/_/g, " ");
  const title = schema["title"];
  const label = typeof title === "string" && title.toLowerCase() !== plain.toLowerCase() ? title : plain;
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** Return what a field begins with. */
export function beginWith(schema: Schema, root: Schema): Draft {
  const found = resolve(schema, root);
  if ("default" in found) return found["default"] as Draft;
  switch (kindOf(found)) {
    case "object": {
      const required = propertiesOf(found).filter((property) => property.isRequired || hasDefault(property.schema, root));
      return Object.fromEntries(required.map(({ name, schema: inner }) => [name, beginWith(inner, root)]));
    }
    case "list":
      return [];
    case "boolean":
      return false;
    case "choice":
      return choicesOf(found).length === 1 ? (choicesOf(found)[0] as Draft) : undefined;
    case "variants":
      return beginWith(variantsOf(found)[0]!, root);
    default:
      return undefined;
  }
}

function hasDefault(schema: Schema, root: Schema): boolean {
  const found = resolve(schema, root);
  return "default" in found && found["default"] !== null;
}

/** Return a value without what nobody has filled in. */
export function toJson(draft: Draft): Json {
  if (draft === undefined) return null;
  if (Array.isArray(draft)) return draft.map(toJson);
  if (draft === null || typeof draft !== "object") return draft;
  const filled = Object.entries(draft).filter(([, value]) => value !== undefined);
  return Object.fromEntries(filled.map(([name, value]) => [name, toJson(value)]));
}

/** Return what is wrong with a value, by the places of its fields. The server checks it again. */
export function findProblems(draft: Draft, schema: Schema, root: Schema, place = ""): Problems {
  const found = resolve(schema, root);
  if (draft === undefined || draft === "") {
    return draft === "" && kindOf(found) === "text" ? checkText("", found, place) : { [place]: "Fill this in." };
  }
  if (draft === null && mayBeNull(schema)) return {};
  switch (kindOf(found)) {
    case "object":
      return checkObject(draft, found, root, place);
    case "list":
      return checkList(draft, found, root, place);
    case "number":
      return checkNumber(draft, found, place);
    case "text":
      return checkText(draft, found, place);
    default:
      return {};
  }
}

function checkObject(draft: Draft, schema: Schema, root: Schema, place: string): Problems {
  const values = draft as { [key: string]: Draft };
  const problems: Problems = {};
  for (const { name, schema: inner, isRequired } of propertiesOf(schema)) {
    if (values[name] === undefined && !isRequired) continue;
    Object.assign(problems, findProblems(values[name], inner, root, join(place, name)));
  }
  return problems;
}

function checkList(draft: Draft, schema: Schema, root: Schema, place: string): Problems {
  const items = Array.isArray(draft) ? draft : [];
  const problems: Problems = {};
  const { minItems, maxItems } = schema;
  if (typeof minItems === "number" && items.length < minItems) problems[place] = `Add at least ${count(minItems, "entry", "entries")}.`;
  if (typeof maxItems === "number" && items.length > maxItems) problems[place] = `Keep at most ${count(maxItems, "entry", "entries")}.`;
  items.forEach((item, index) =>
    Object.assign(problems, findProblems(item, asSchema(schema["items"]), root, join(place, String(index)))),
  );
  return problems;
}

function checkNumber(draft: Draft, schema: Schema, place: string): Problems {
  if (typeof draft !== "number" || Number.isNaN(draft)) return { [place]: "Enter a number." };
  if (schema["type"] === "integer" && !Number.isInteger(draft)) return { [place]: "Enter a whole number." };
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof minimum === "number" && draft < minimum) return { [place]: `Enter at least ${minimum}.` };
  if (typeof maximum === "number" && draft > maximum) return { [place]: `Enter at most ${maximum}.` };
  if (typeof exclusiveMinimum === "number" && draft <= exclusiveMinimum) {
    return { [place]: `Enter more than ${exclusiveMinimum}.` };
  }
  if (typeof exclusiveMaximum === "number" && draft >= exclusiveMaximum) {
    return { [place]: `Enter less than ${exclusiveMaximum}.` };
  }
  return {};
}

function checkText(draft: Draft, schema: Schema, place: string): Problems {
  const length = typeof draft === "string" ? draft.length : 0;
  const { minLength, maxLength } = schema;
  if (typeof minLength === "number" && length < minLength) return { [place]: `Enter at least ${count(minLength, "character", "characters")}.` };
  if (typeof maxLength === "number" && length > maxLength) return { [place]: `Enter at most ${count(maxLength, "character", "characters")}.` };
  return {};
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** Return the limits of a field in words. */
export function describeLimits(schema: Schema): string {
  const low = schema["minimum"] ?? schema["exclusiveMinimum"];
  const high = schema["maximum"] ?? schema["exclusiveMaximum"];
  const parts: string[] = [];
  if (low !== undefined && high !== undefined) parts.push(`${low} to ${high}`);
  else if (low !== undefined) parts.push(`from ${low}`);
  else if (high !== undefined) parts.push(`up to ${high}`);
  if (typeof schema["maxLength"] === "number") parts.push(`up to ${schema["maxLength"]} characters`);
  if (typeof schema["minItems"] === "number") parts.push(`at least ${schema["minItems"]}`);
  if (typeof schema["maxItems"] === "number") parts.push(`at most ${schema["maxItems"]}`);
  return parts.join(", ");
}

export function join(place: string, name: string): string {
  return place === "" ? name : `${place}.${name}`;
}
