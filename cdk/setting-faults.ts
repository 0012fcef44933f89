import { z } from 'zod';
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

/** The origin of checked settings. */
export interface SettingsSource {
  readonly stage: string;
  /** Where to change a setting, by its top-level name. */
  readonly placeOf: (setting: string) => string;
}

/**
 * One sentence for each issue: the setting and stage, its value, what is allowed, and where to change it. `schema` =
 * the schema that found the issues, whose errors say what is allowed and were made with `reportInput`.
 */
export function faultsOf(
  schema: z.ZodType,
  issues: readonly z.core.$ZodIssue[],
  source: SettingsSource,
): readonly string[] {
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => unknownSetting(schema, issue.path, key, source))
      : [wrongSetting(issue, source)],
  );
}

function wrongSetting(issue: z.core.$ZodIssue, { stage, placeOf }: SettingsSource): string {
  const name = issue.path.join('.');
  const place = placeOf(String(issue.path[0]));
  return issue.input === undefined
    ? `${name} of stage '${stage}' is missing, but must be ${issue.message}: set it in ${place}.`
    : `${name} of stage '${stage}' is ${shown(issue.input)}, but must be ${issue.message}: change it in ${place}.`;
}

function unknownSetting(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  key: string,
  { stage, placeOf }: SettingsSource,
): string {
  const name = [...path, key].join('.');
  const known = namesAt(schema, path);
  const owner = path.length === 0 ? `stage '${stage}'` : `${path.join('.')} of stage '${stage}'`;
  const place = placeOf(String(path[0] ?? key));
  return `${name} is not a setting of ${owner}, which may have ${listed(known, 'and')}: ${correction(key, known)} in ${place}.`;
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
  const isWrapper =
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodPrefault;
  return isWrapper ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}
