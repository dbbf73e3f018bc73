/** Fields of a form, each for a part of a JSON schema. */

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

import type { Json } from "../api/types";
import {
  asSchema,
  beginWith,
  choicesOf,
  describeLimits,
  type Draft,
  join,
  kindOf,
  labelOf,
  mayBeNull,
  type Problems,
  propertiesOf,
  resolve,
  type Schema,
  variantsOf,
} from "../lib/schema";

export interface FieldProps {
  schema: Schema;
  root: Schema;
  /** Place in the whole value, such as `address.city`. */
  place: string;
  label: string;
  value: Draft;
  problems: Problems;
  isRequired: boolean;
  onChange: (value: Draft) => void;
}

export function Field(props: FieldProps) {
  const schema = resolve(props.schema, props.root);
  const inner = { ...props, schema };
  switch (kindOf(schema)) {
    case "object":
      return <ObjectField {...inner} />;
    case "list":
      return <ListField {...inner} />;
    case "variants":
      return <VariantsField {...inner} />;
    case "boolean":
      return <CheckField {...inner} />;
    case "choice":
      return <ChoiceField {...inner} mayBeEmpty={!props.isRequired || mayBeNull(props.schema)} />;
    case "number":
      return <NumberField {...inner} />;
    case "text":
      return <TextField {...inner} />;
    default:
      return <JsonField {...inner} />;
  }
}

/** Fields of an object, without a frame: the outermost object of a form has none. */
export function ObjectFields({ schema, root, place, value, problems, onChange }: FieldProps) {
  const values = (value ?? {}) as { [key: string]: Draft };
  return (
    <>
      {propertiesOf(schema).map(({ name, schema: inner, isRequired }) => (
        <OptionalField
          key={name}
          schema={inner}
          root={root}
          place={join(place, name)}
          label={labelOf(name, inner)}
          value={values[name]}
          problems={problems}
          isRequired={isRequired}
          onChange={(changed) => onChange({ ...values, [name]: changed })}
        />
      ))}
    </>
  );
}

/** Field that may be left out: an object or a list appears when somebody asks for it. */
function OptionalField(props: FieldProps) {
  const kind = kindOf(resolve(props.schema, props.root));
  const isLarge = kind === "object" || kind === "variants";
  if (props.isRequired || !isLarge) return <Field {...props} />;
  if (props.value === undefined || props.value === null) {
    const begin = (): void => {
      const { default: _, ...schema } = resolve(props.schema, props.root);
      props.onChange(beginWith(schema, props.root) ?? {});
    };
    return (
      <button class="button" type="button" onClick={begin}>
        Add {props.label.toLowerCase()}
      </button>
    );
  }
  return (
    <div class="optional">
      <Field {...props} />
      <button class="button ghost" type="button" onClick={() => props.onChange(undefined)}>
        Leave out {props.label.toLowerCase()}
      </button>
    </div>
  );
}

function ObjectField(props: FieldProps) {
  return (
    <fieldset class="fieldset">
      <legend>{props.label}</legend>
      <Help schema={props.schema} />
      <ObjectFields {...props} />
    </fieldset>
  );
}

function ListField(props: FieldProps) {
  const { schema, root, place, label, value, problems, onChange } = props;
  const items = Array.isArray(value) ? value : [];
  const itemSchema = asSchema(schema["items"]);
  const change = (index: number, item: Draft): void => onChange(items.map((old, at) => (at === index ? item : old)));
  return (
    <fieldset class="fieldset">
      <legend>{label}</legend>
      <Help schema={schema} />
      {items.map((item, index) => (
        <div class="item" key={index}>
          <Field
            schema={itemSchema}
            root={root}
            place={join(place, String(index))}
            label={`${label} ${index + 1}`}
            value={item}
            problems={problems}
            isRequired
            onChange={(changed) => change(index, changed)}
          />
          <button
            class="button ghost"
            type="button"
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => onChange(items.filter((_, at) => at !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      {problems[place] !== undefined && <p class="field-problem">{problems[place]}</p>}
      <button class="button" type="button" onClick={() => onChange([...items, beginWith(itemSchema, root)])}>
        Add to {label.toLowerCase()}
      </button>
    </fieldset>
  );
}

function VariantsField(props: FieldProps) {
  const variants = variantsOf(props.schema).filter((variant) => variant["type"] !== "null");
  const [chosen, setChosen] = useState(0);
  const choose = (index: number): void => {
    setChosen(index);
    props.onChange(beginWith(variants[index]!, props.root));
  };
  const nameOf = (variant: Schema, index: number): string => {
    const found = resolve(variant, props.root);
    return String(found["title"] ?? found["type"] ?? `Variant ${index + 1}`);
  };
  return (
    <fieldset class="fieldset">
      <legend>{props.label}</legend>
      <label class="field">
        <span>Kind</span>
        <select value={String(chosen)} onChange={(event) => choose(Number(event.currentTarget.value))}>
          {variants.map((variant, index) => (
            <option key={index} value={String(index)}>
              {nameOf(variant, index)}
            </option>
          ))}
        </select>
      </label>
      <Field key={chosen} {...props} schema={variants[chosen]!} label={nameOf(variants[chosen]!, chosen)} />
    </fieldset>
  );
}

function CheckField({ schema, place, label, value, problems, onChange }: FieldProps) {
  return (
    <div class="field">
      <label class="check">
        <input
          type="checkbox"
          name={place}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <Help schema={schema} />
      {problems[place] !== undefined && <p class="field-problem">{problems[place]}</p>}
    </div>
  );
}

function ChoiceField(props: FieldProps & { mayBeEmpty: boolean }) {
  const choices = choicesOf(props.schema);
  const at = choices.findIndex((choice) => choice === props.value);
  return (
    <Labelled {...props}>
      {(attributes) => (
        <select
          {...attributes}
          value={at < 0 ? "" : String(at)}
          onChange={(event) => props.onChange(pick(choices, event.currentTarget.value))}
        >
          {(at < 0 || props.mayBeEmpty) && <option value="">–</option>}
          {choices.map((choice, index) => (
            <option key={index} value={String(index)}>
              {typeof choice === "string" ? choice : JSON.stringify(choice)}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

function pick(choices: Json[], at: string): Draft {
  return at === "" ? undefined : (choices[Number(at)] as Draft);
}

function NumberField(props: FieldProps) {
  const { schema, value, onChange } = props;
  const read = (text: string): void => onChange(text === "" ? undefined : Number(text));
  return (
    <Labelled {...props}>
      {(attributes) => (
        <input
          {...attributes}
          type="number"
          step={schema["type"] === "integer" ? 1 : "any"}
          min={schema["minimum"] as number | undefined}
          max={schema["maximum"] as number | undefined}
          value={typeof value === "number" ? String(value) : ""}
          onInput={(event) => read(event.currentTarget.value)}
        />
      )}
    </Labelled>
  );
}

const INPUT_TYPES: Record<string, string> = {
  date: "date",
  time: "time",
  email: "email",
  uri: "url",
  password: "password",
};
const LONG_TEXT = 120;

function TextField(props: FieldProps) {
  const { schema, value, isRequired, onChange } = props;
  const text = typeof value === "string" ? value : "";
  const widget = asSchema(schema["x-form"])["widget"];
  const longest = schema["maxLength"];
  const isLong = widget === "textarea" || text.length > LONG_TEXT || (typeof longest === "number" && longest > 200);
  const type = (INPUT_TYPES[String(schema["format"])] ?? "text") as "text";
  const read = (typed: string): void => onChange(typed === "" && !isRequired ? undefined : typed);
  return (
    <Labelled {...props}>
      {(attributes) =>
        isLong ? (
          <textarea {...attributes} rows={5} value={text} onInput={(event) => read(event.currentTarget.value)} />
        ) : (
          <input {...attributes} type={type} value={text} onInput={(event) => read(event.currentTarget.value)} />
        )
      }
    </Labelled>
  );
}

/** Field for a part of a schema that has no field of its own: its JSON. */
function JsonField(props: FieldProps) {
  const [text, setText] = useState(() => (props.value === undefined ? "" : JSON.stringify(props.value, null, 2)));
  const [problem, setProblem] = useState("");
  const read = (typed: string): void => {
    setText(typed);
    try {
      props.onChange(typed.trim() === "" ? undefined : (JSON.parse(typed) as Draft));
      setProblem("");
    } catch {
      setProblem("This is not valid JSON.");
    }
  };
  const problems = problem === "" ? props.problems : { ...props.problems, [props.place]: problem };
  return (
    <Labelled {...props} label={`${props.label} (JSON)`} problems={problems}>
      {(attributes) => (
        <textarea
          {...attributes}
          class="mono"
          rows={4}
          spellcheck={false}
          value={text}
          onInput={(event) => read(event.currentTarget.value)}
        />
      )}
    </Labelled>
  );
}

interface ControlAttributes {
  id: string;
  name: string;
  required: boolean;
  "aria-invalid": boolean | undefined;
  "aria-describedby": string | undefined;
}

interface LabelledProps extends Omit<FieldProps, "children"> {
  children: (attributes: ControlAttributes) => ComponentChildren;
}

function Labelled({ schema, place, label, problems, isRequired, children }: LabelledProps) {
  const id = useId();
  const problem = problems[place];
  const hint = describeField(schema, label);
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter((part) => part).join(" ");
  const attributes: ControlAttributes = {
    id,
    name: place,
    required: isRequired,
    "aria-invalid": problem === undefined ? undefined : true,
    "aria-describedby": described === "" ? undefined : described,
  };
  return (
    <div class="field">
      <label for={id}>
        {label}
        {!isRequired && <span class="muted"> (optional)</span>}
      </label>
      {children(attributes)}
      {hint !== "" && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem !== undefined && (
        <p class="field-problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}

/** Return what a field is for and its limits: not what the label says already. */
function describeField(schema: Schema, label = ""): string {
  const { description } = schema;
  const repeats = String(description).toLowerCase() === `the ${label.toLowerCase()}`;
  return [repeats ? "" : description, describeLimits(schema)].filter((part) => part).join(" · ");
}

function Help({ schema }: { schema: Schema }) {
  const hint = describeField(schema);
  return hint === "" ? null : <p class="field-hint">{hint}</p>;
}
