import { membersOf } from '../../client/json-text.ts';

/** A property as it is shown. */
export interface ShownProperty {
  readonly name: string;
  /** As the type is named in JSON: `string`, `int`, `long`, `double`, `guid`. */
  readonly type: string;
  readonly text: string;
}

/** A time to live that is longer says "unlimited". */
const UNLIMITED_SECONDS = 1e11;

/** Whether a time to live in seconds, as the service prints it, is unlimited. */
export function isUnlimited(timeToLive: unknown): boolean {
  return Number(timeToLive) > UNLIMITED_SECONDS;
}

const DOUBLE = /[.eE]/;
const INT32_MAX = 2 ** 31 - 1;

/** The members of the JSON of properties. Numbers are shown as they are spelled, since that decides their type. */
export function shownProperties(object: string | undefined): readonly ShownProperty[] {
  const members = [...membersOf(object ?? '{}')];
  return members.map(([name, json]) => ({ name, ...shownValue(json) }));
}

function shownValue(json: string): Omit<ShownProperty, 'name'> {
  switch (json[0]) {
    case '"':
      return { type: 'string', text: JSON.parse(json) };
    case '{': {
      const [member] = membersOf(json);
      if (member === undefined || !member[0].startsWith('$')) break;
      const [name, value] = member;
      return { type: name.slice(1), text: shownValue(value).text };
    }
    case 't':
    case 'f':
      return { type: 'boolean', text: json };
    case 'n':
      return { type: 'null', text: json };
  }
  return { type: DOUBLE.test(json) ? 'double' : integerType(json), text: json };
}

function integerType(json: string): string {
  return Math.abs(Number(json)) <= INT32_MAX ? 'int' : 'long';
}
