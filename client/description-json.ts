import { decodeXml, type XmlNode } from './atom-xml.ts';

/** Keys are left out, so that a description can be shown to anybody. */
const SECRETS = new Set(['PrimaryKey', 'SecondaryKey']);
/** XML has texts only; these properties of descriptions are numbers and booleans. */
const NUMBERS = /(?:Count|In(?:Bytes|Kilobytes|Megabytes))$/;
const BOOLEANS =
  /^(?:Requires|Enable|Is[A-Z]|DeadLetteringOn|SupportOrdering$|FilteringMessagesBefore)/;

/** A description as plain JSON, without namespaces and without keys. */
export function descriptionJson(node: XmlNode): unknown {
  const children = Object.entries(node).filter(
    ([name]) => !name.startsWith('@') && name !== '#text' && !SECRETS.has(name),
  );
  const type = node['@type'];
  if (children.length === 0 && type === undefined) return decodeXml(String(node['#text'] ?? ''));
  return Object.fromEntries([
    ...(type === undefined ? [] : [['Type', String(type).replace(/^.*:/, '')]]),
    ...children.map(([name, value]) => [name, typed(name, valueJson(value))]),
    ...(children.length === 0 && node['#text']
      ? [['Value', decodeXml(String(node['#text']))]]
      : []),
  ]);
}

function valueJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(valueJson);
  return typeof value === 'object' && value !== null ? descriptionJson(value as XmlNode) : value;
}

function typed(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (NUMBERS.test(name) && /^\d+$/.test(value)) return Number(value);
  return BOOLEANS.test(name) && /^(?:true|false)$/.test(value) ? value === 'true' : value;
}
