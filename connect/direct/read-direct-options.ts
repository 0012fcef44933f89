import { TIERS } from '../../shared/app/variables.ts';
import { listed } from '../../shared/domain/fault-words.ts';
import type { DirectOptions } from './direct-options.ts';

/** The environment variable in which processes get the settings that the construct `Broker` gives. */
export const DIRECT_VARIABLE = 'DYNABUS_DIRECT';

/** Settings cannot be used. Its message is a sentence that says where they come from. */
export class DirectOptionsError extends Error {
  override readonly name = 'DirectOptionsError';
}

const REQUIRED = ['entitiesTable', 'messagesTable', 'namespace'] as const;
const ALLOWED: ReadonlySet<string> = new Set([...REQUIRED, 'tier', 'region', 'endpoint', 'stream']);

/**
 * Reads settings as JSON, as `directSettings` of the construct `Broker` gives them; `region`, `endpoint` and `stream`
 * may be added. `at` = where they are written, for the sentences. Throws DirectOptionsError.
 */
export function readDirectOptions(json: string, at: string): DirectOptions {
  const settings = parse(json, at);
  for (const [name, value] of Object.entries(settings)) {
    if (!ALLOWED.has(name)) throw fault(at, `has the unknown field '${name}'`);
    if (name === 'stream') {
      if (typeof value !== 'boolean') throw fault(at, "needs true or false as 'stream'");
    } else if (typeof value !== 'string' || value === '')
      throw fault(at, `needs a text as '${name}'`);
  }
  const missing = REQUIRED.filter((name) => settings[name] === undefined);
  if (missing.length > 0) throw fault(at, `has no ${listed(missing, 'and')}`);
  const { tier } = settings;
  if (tier !== undefined && !TIERS.some((one) => one === tier)) {
    throw fault(at, `has a tier that is not ${listed(TIERS, 'or')}`);
  }
  return settings as unknown as DirectOptions;
}

function parse(json: string, at: string): Readonly<Record<string, unknown>> {
  let settings: unknown;
  try {
    settings = JSON.parse(json);
  } catch {
    throw fault(at, 'is not JSON');
  }
  if (typeof settings === 'object' && settings !== null && !Array.isArray(settings)) {
    return settings as Readonly<Record<string, unknown>>;
  }
  throw fault(at, 'is not a JSON object');
}

function fault(at: string, what: string): DirectOptionsError {
  return new DirectOptionsError(
    `${at} ${what}: give it the directSettings of the construct Broker, such as {"entitiesTable":"…","messagesTable":"…","namespace":"…","tier":"Standard"}.`,
  );
}
