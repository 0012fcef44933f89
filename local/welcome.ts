import { resolve } from 'node:path';
import { ROOT_KEY_NAME } from '../shared/auth/root-rule.ts';
import { createSasToken } from '../shared/auth/sas-token.ts';

/** Ten years, so that the printed command lines keep working in notes and scripts. */
const TOKEN_MS = 10 * 365 * 24 * 60 * 60 * 1000;

const QUEUE_ENTRY =
  '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';

/** The facts about a namespace that the server prints. */
export interface Welcome {
  readonly url: string;
  readonly connectionString: string;
  /** The name of the engine, for example `DynamoDB Local (Java 17), in memory`. */
  readonly engine: string;
  readonly rootKey: string;
  /** The file of the certificate for TLS clients; undefined = the certificate is not kept in a file. */
  readonly certificate: string | undefined;
  /** Epoch ms. */
  readonly now: number;
}

/** The text that the server prints when it is ready: its addresses, and command lines that work when pasted. */
export function welcomeText(welcome: Welcome): string {
  const { url, connectionString, engine, rootKey, certificate, now } = welcome;
  const token = createSasToken({
    audience: url,
    keyName: ROOT_KEY_NAME,
    key: rootKey,
    expiresAt: now + TOKEN_MS,
  });
  const curl = `curl -sS -H 'Authorization: ${token}'`;
  return `
Engine             ${engine}
Endpoint           ${url}
Connection string  ${connectionString}
Explorer           ${url}/ in a browser
${certificate === undefined ? '' : trustText(resolve(certificate))}
Create a queue, send a message to it, and receive the message:

${curl} -X PUT '${url}/hello' -H 'Content-Type: application/atom+xml' -d '${QUEUE_ENTRY}'

${curl} -X POST '${url}/hello/messages' -H 'Content-Type: text/plain' -d 'Hello, bus'

${curl} -X DELETE '${url}/hello/messages/head?timeout=5'

Or with the command line, which dynabus --help explains:

export DYNABUS_CONNECTION_STRING='${connectionString}'
npx dynabus send hello 'Hello, bus'
npx dynabus receive hello
npx dynabus list
`;
}

/** How clients in Node trust the certificate, and where the documentation for others is. */
function trustText(file: string): string {
  return `Certificate        ${file}

Make clients in Node trust it (for Python, Java, .NET and others see docs/clients/trust.md):

export NODE_EXTRA_CA_CERTS='${file}'
`;
}
