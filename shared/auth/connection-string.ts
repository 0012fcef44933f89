/** The parts of a connection string, as the official clients write it. */
export interface ConnectionString {
  /** The address of the namespace: host, and the port if it names one. Without scheme and final slash. */
  readonly host: string;
  /** The rule that signs; locally `rule@namespace` for a rule of a namespace of its own. */
  readonly keyName: string;
  /** The rule's key. Never print it. */
  readonly key: string;
  /** The entity to which the string is restricted. */
  readonly entityPath?: string | undefined;
  /** `UseDevelopmentEmulator=true`: clients connect without TLS. */
  readonly isLocal: boolean;
}

/** A connection string cannot be read. Its message is a sentence, and contains no value of the string. */
export class ConnectionStringError extends Error {
  override readonly name = 'ConnectionStringError';
}

const FORM =
  'Write it as Endpoint=sb://HOST/;SharedAccessKeyName=RULE;SharedAccessKey=KEY, as the portal and the local server print it.';
/** Far above the length of any real one. */
const LENGTH_MAX = 8192;
const HOST = /^[a-z\d.-]+(?::\d{1,5})?$|^\[[\da-f:.]+\](?::\d{1,5})?$/i;

/**
 * Reads a connection string. Names are case-insensitive, their order is free, and names that it does not know are
 * ignored, as the official clients do. Throws ConnectionStringError.
 */
export function parseConnectionString(text: string): ConnectionString {
  // Callers without types often pass a variable of the environment that is not set.
  if (typeof text !== 'string' || text.trim() === '') throw fault('is missing');
  if (text.length > LENGTH_MAX) throw fault(`is longer than ${LENGTH_MAX} characters`);
  const fields = fieldsOf(text);
  const host = hostOf(required(fields, 'Endpoint'));
  if (fields.has('sharedaccesssignature')) {
    throw fault('holds a SharedAccessSignature, which works for one address only');
  }
  const entityPath = fields.get('entitypath');
  return {
    host,
    keyName: required(fields, 'SharedAccessKeyName'),
    key: required(fields, 'SharedAccessKey'),
    ...(entityPath ? { entityPath } : {}),
    isLocal: flagOf(fields, 'UseDevelopmentEmulator'),
  };
}

/** Writes a connection string, in the form that the official clients take. */
export function formatConnectionString(parts: ConnectionString): string {
  const { host, keyName, key, entityPath, isLocal } = parts;
  const fields = [
    `Endpoint=sb://${host}${isLocal ? '' : '/'}`,
    `SharedAccessKeyName=${keyName}`,
    `SharedAccessKey=${key}`,
    ...(entityPath === undefined ? [] : [`EntityPath=${entityPath}`]),
    ...(isLocal ? ['UseDevelopmentEmulator=true'] : []),
  ];
  return `${fields.join(';')};`;
}

/** The address of a namespace over HTTP, without a final slash. */
export function httpAddress({ host, isLocal }: ConnectionString): string {
  return `${isLocal ? 'http' : 'https'}://${host}`;
}

function fieldsOf(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const field of text.split(';')) {
    if (field.trim() === '') continue;
    const at = field.indexOf('=');
    if (at < 1) throw fault('has a part that is not NAME=VALUE');
    const name = field.slice(0, at).trim().toLowerCase();
    if (fields.has(name)) throw fault('has a part twice');
    fields.set(name, field.slice(at + 1).trim());
  }
  return fields;
}

function required(fields: ReadonlyMap<string, string>, name: string): string {
  const value = fields.get(name.toLowerCase());
  if (value) return value;
  throw fault(`has no ${name}`);
}

/** Another value than true or false would silently be one of them. */
function flagOf(fields: ReadonlyMap<string, string>, name: string): boolean {
  const value = fields.get(name.toLowerCase())?.toLowerCase() ?? 'false';
  if (value === 'true' || value === 'false') return value === 'true';
  throw fault(`has a ${name} that is neither true nor false`);
}

function hostOf(endpoint: string): string {
  const host = endpoint.replace(/^(?:sb|amqps?|https?):\/\//i, '').replace(/\/+$/, '');
  if (HOST.test(host) && URL.canParse(`http://${host}`)) return host;
  throw fault('has an Endpoint that is not an address such as sb://localhost:5300');
}

function fault(what: string): ConnectionStringError {
  return new ConnectionStringError(`The connection string ${what}. ${FORM}`);
}
