import { decodeXml, type XmlNode } from './atom-xml.ts';

/** Keys are left out, so that a description can be shown to anybody. */
const SECRETS = new Set(['PrimaryKey', 'SecondaryKey']);

/** A description as plain JSON: texts, lists and objects, without namespaces and without keys. */
export function descriptionJson(node: XmlNode): unknown {
  const children = Object.entries(node).filter(
    ([name]) => !name.startsWith('@') && name !== '#text' && !SECRETS.has(name),
  );
  const type = node['@type'];
  if (children.length === 0 && type === undefined) return decodeXml(String(node['#text'] ?? ''));
  return Object.fromEntries([
    ...(type === undefined ? [] : [['Type', String(type).replace(/^.*:/, '')]]),
    ...children.map(([name, value]) => [name, valueJson(value)]),
    ...(children.length === 0 && node['#text']
      ? [['Value', decodeXml(String(node['#text']))]]
      : []),
  ]);
}

function valueJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(valueJson);
  return typeof value === 'object' && value !== null ? descriptionJson(value as XmlNode) : value;
}
