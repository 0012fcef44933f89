import { Packr } from 'msgpackr';
import type { Filter, Rule, RuleAction } from '../../filters/rule.ts';
import { packProperties, unpackProperties } from '../blocks/message-codec.ts';

/** The stored form of a rule: MessagePack, which keeps the type of every value. */

const packr = new Packr({ useRecords: false, int64AsType: 'bigint' });

interface PackedRule {
  readonly name: string;
  readonly createdAt: number;
  readonly filter: Omit<Filter, 'parameters' | 'properties'>;
  readonly values: unknown[] | null;
  readonly action: string | null;
  readonly actionValues: unknown[] | null;
}

/** Encodes a rule. */
export function encodeRule({ name, createdAt, filter, action }: Rule): Uint8Array {
  const { values, rest } = splitFilter(filter);
  const packed: PackedRule = {
    name,
    createdAt,
    filter: rest,
    values: packProperties(values) ?? null,
    action: action?.expression ?? null,
    actionValues: (action && packProperties(action.parameters)) ?? null,
  };
  return packr.pack(packed);
}

function splitFilter(filter: Filter) {
  if (filter.kind === 'sql') {
    const { parameters, ...rest } = filter;
    return { values: parameters, rest };
  }
  if (filter.kind === 'correlation') {
    const { properties, ...rest } = filter;
    return { values: properties, rest };
  }
  return { values: {}, rest: filter };
}

/** Decodes the result of `encodeRule`. */
export function decodeRule(bytes: Uint8Array): Rule {
  const { name, createdAt, filter, values, action, actionValues }: PackedRule = packr.unpack(bytes);
  return {
    name,
    createdAt,
    filter: joinFilter(filter, values),
    ...(action === null ? {} : { action: decodeAction(action, actionValues) }),
  };
}

function joinFilter(rest: PackedRule['filter'], values: unknown[] | null): Filter {
  if (rest.kind === 'sql') return { ...rest, parameters: unpackProperties(values) } as Filter;
  if (rest.kind === 'correlation')
    return { ...rest, properties: unpackProperties(values) } as Filter;
  return rest as Filter;
}

function decodeAction(expression: string, values: unknown[] | null): RuleAction {
  return { expression, parameters: unpackProperties(values) };
}
