import { argumentError } from '../../domain/broker-error.ts';
import { LIMITS } from '../../domain/limits.ts';
import { base64Size, quotedSize } from '../../domain/messages/printed-size.ts';
import type { Properties, PropertyValue } from '../../domain/messages/property-value.ts';
import type { Filter } from '../../filters/rule.ts';
import type { RuleInput } from '../ports/management.ts';

/**
 * Throws ArgumentError for a rule that is too long (semantics R29). The limit is for what it takes in an answer, in the
 * longer one of JSON and XML, so that a whole page of rules always fits.
 */
export function requireRuleFits(rule: RuleInput): void {
  const bytes = ruleSize(rule);
  if (bytes <= LIMITS.ruleBytes) return;
  throw argumentError(
    `The rule takes up to ${bytes} bytes in an answer, its properties and parameters with what is around them; the limit is ${LIMITS.ruleBytes}.`,
  );
}

/** Upper bound of what the texts, properties and parameters of a rule take in an answer, in bytes. */
export function ruleSize({ filter, action }: RuleInput): number {
  const own = action === undefined ? 0 : expressionSize(action);
  return own + filterSize(filter);
}

function filterSize(filter: Filter): number {
  switch (filter.kind) {
    case 'true':
    case 'false':
      return 0;
    case 'sql':
      return expressionSize(filter);
    case 'correlation': {
      const { kind: _, properties, ...texts } = filter;
      return Object.values(texts).reduce(
        (sum, text) => sum + textSize(text),
        propertiesSize(properties),
      );
    }
  }
}

function expressionSize({
  expression,
  parameters,
}: {
  readonly expression: string;
  readonly parameters: Properties;
}): number {
  return textSize(expression) + propertiesSize(parameters);
}

/** What is around the name and value of a property in XML, 145 bytes, and the longest number, date or guid. */
const PROPERTY_BYTES = 200;

function propertiesSize(properties: Properties): number {
  return Object.entries(properties).reduce(
    (sum, [name, value]) => sum + PROPERTY_BYTES + textSize(name) + valueSize(value),
    0,
  );
}

/** The size of a value of any length. */
function valueSize(value: PropertyValue): number {
  switch (value.type) {
    case 'string':
    case 'char':
    case 'uri':
      return textSize(value.value);
    case 'dateTime':
      return textSize(value.text ?? '');
    case 'bytes':
      return base64Size(value.value.length);
    default:
      return 0;
  }
}

/** Characters that take up to 6 bytes in XML, and fewer in JSON. */
const ESCAPED_IN_XML = /["'&<>\r]/g;

function textSize(text: string): number {
  const escaped = text.length - text.replace(ESCAPED_IN_XML, '').length;
  return quotedSize(text) + 5 * escaped;
}
