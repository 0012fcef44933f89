import type { HttpsOptions } from './https-options.ts';

/** The environment variable with the connection string of a namespace, as the command line has it. */
export const CONNECTION_VARIABLE = 'DYNABUS_CONNECTION_STRING';

/** Reads what names a namespace: a connection string, or the address of a deployment with IAM. */
export function httpsOptionsOf(text: string, region?: string): HttpsOptions {
  if (!/^https?:/i.test(text)) return { connectionString: text };
  return { endpoint: text, ...(region === undefined ? {} : { region }) };
}
