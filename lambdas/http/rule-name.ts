import type { EntityPath } from '../../shared/domain/entity-path.ts';
import type { HttpParts } from './parts.ts';

const RULE_NAME = /^SharedAccessSignature\s(?:.*&)?\s*skn=([^&]{1,1000})/i;
const NAME_LENGTH_MAX = 256;

/** The rule that a token says it was signed by; whether it was, only its signature tells. */
export function ruleNameOf(token: string | null): string | undefined {
  const [, name] = RULE_NAME.exec(token ?? '') ?? [];
  if (name === undefined) return undefined;
  try {
    return decodeURIComponent(name).slice(0, NAME_LENGTH_MAX);
  } catch {
    return undefined;
  }
}

/**
 * Counts an operation for the rule whose token has proved the right to it. Rules of one name at several
 * entities are several. Throws ServiceBusy where the rule may do no more for now.
 */
export async function countForRule(
  { admitRule, namespaceKeys }: Pick<HttpParts, 'admitRule' | 'namespaceKeys'>,
  token: string | null,
  path: EntityPath | undefined,
): Promise<void> {
  const name = ruleNameOf(token);
  if (admitRule === undefined || name === undefined) return;
  const ofNamespace = (await namespaceKeys.rules()).some(({ keyName }) => keyName === name);
  const entity = path?.subscription?.topic.toLowerCase() ?? path?.key;
  admitRule(ofNamespace || entity === undefined ? name : `${entity} ${name}`);
}
