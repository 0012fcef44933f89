import { Token } from 'aws-cdk-lib';
import * as z from 'zod';
import { correction, listed, shown } from '../shared/domain/fault-words.ts';

/** Invalid settings. The message has one line with a sentence for each fault. */
export class SettingsError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'SettingsError';
    this.faults = faults;
  }
}

/** The origin of checked settings, as a sentence names it. */
export interface SettingsSource {
  /** What each sentence begins with. */
  readonly prefix: string;
  /** What the settings belong to, such as `stage 'dev'`. */
  readonly owner: string;
  /** What follows the name of a setting, such as ` of stage 'dev'`; empty where the prefix says it. */
  readonly ofOwner: string;
  /** Where to change a setting, by its top-level name; absent = where the owner is made, which the user knows. */
  readonly placeOf?: (setting: string) => string;
}

/**
 * One sentence for each issue: the setting and its owner, its value, what is allowed, and where to change it. `schema`
 * = the schema that found the issues, whose errors say what is allowed and were made with `reportInput`.
 */
export function faultsOf(
  schema: z.ZodType,
  issues: readonly z.core.$ZodIssue[],
  source: SettingsSource,
): readonly string[] {
  const faults = issues
    .flatMap(issuesWithin)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownSetting(schema, issue.path, key, source))
        : [wrongSetting(issue, source)],
    );
  // A number far below all bounds is an issue of its type and of its bounds.
  return [...new Set(faults)];
}

/** Of a value that fits no form of a union, the issues with its form as a group of settings, if it is an object. */
function issuesWithin(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || typeof issue.input !== 'object') return [issue];
  const [asGroup] = issue.errors.filter((each) => !each.some(isOfOtherType));
  return asGroup?.map((one) => ({ ...one, path: [...issue.path, ...one.path] })) ?? [issue];
}

/** Whether the value is of another type than the form. */
function isOfOtherType({ path, code }: z.core.$ZodIssue): boolean {
  return path.length === 0 && code === 'invalid_type';
}

function wrongSetting(
  { path, input, message }: z.core.$ZodIssue,
  { prefix, ofOwner, placeOf }: SettingsSource,
): string {
  const name = `${prefix}${path.join('.')}${ofOwner}`;
  const place = placeOf?.(String(path[0]));
  const change = (verb: string) => (place === undefined ? '' : `: ${verb} it in ${place}`);
  return input === undefined
    ? `${name} is missing, but must be ${message}${change('set')}.`
    : `${name} is ${shownSetting(input)}, but must be ${message}${change('change')}.`;
}

/** A wrong value in a sentence. The text or number that stands for a token says nothing to anybody. */
export function shownSetting(value: unknown): string {
  return Token.isUnresolved(value) ? 'a token, which deployment replaces' : shown(value);
}

function unknownSetting(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  key: string,
  { prefix, owner, ofOwner, placeOf }: SettingsSource,
): string {
  const name = `${prefix}${[...path, key].join('.')}`;
  const known = namesAt(schema, path);
  const group = path.length === 0 ? owner : `${path.join('.')}${ofOwner}`;
  const place = placeOf === undefined ? '' : ` in ${placeOf(String(path[0] ?? key))}`;
  return `${name} is not a setting of ${group}, which may have ${listed(known, 'and')}: ${correction(key, known)}${place}.`;
}

/** The names of the settings at a path. */
function namesAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const inner = unwrapped(schema);
  if (!(inner instanceof z.ZodObject)) return [];
  const [first, ...rest] = path;
  if (first === undefined) return Object.keys(inner.shape).filter((name) => name !== 'stage');
  return namesAt(inner.shape[String(first)] as z.ZodType, rest);
}

function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodUnion) {
    const group = schema.options.find((option) => option instanceof z.ZodObject);
    return group ?? schema;
  }
  const isWrapper =
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodPrefault;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}
