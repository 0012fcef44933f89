import { resolve } from 'node:path';
import { createSasToken } from '../shared/auth/sas-token.ts';

const KEY_NAME = 'RootManageSharedAccessKey';
/** Lines in notes and scripts should go on working: ten years. */
const TOKEN_MS = 10 * 365 * 24 * 60 * 60 * 1000;

const QUEUE_ENTRY =
  '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';

/** What users are told of a namespace. */
export interface Welcome {
  readonly url: string;
  readonly engine: string;
  readonly rootKey: string;
  /** The file with the certificate that TLS clients are shown; absent = it is not kept. */
  readonly certificate: string | undefined;
  /** Epoch ms. */
  readonly now: number;
}

/** What a user needs to know once the server runs: addresses, and lines that work when pasted. */
export function welcome({ url, engine, rootKey, certificate, now }: Welcome): string {
  const token = createSasToken({
    audience: url,
    keyName: KEY_NAME,
    key: rootKey,
    expiresAt: now + TOKEN_MS,
  });
  const curl = `curl -sS -H 'Authorization: ${token}'`;
  const { host } = new URL(url);
  return `
Engine             ${engine}
Endpoint           ${url}
Connection string  Endpoint=sb://${host};SharedAccessKeyName=${KEY_NAME};SharedAccessKey=${rootKey};UseDevelopmentEmulator=true;
${certificate === undefined ? '' : trust(resolve(certificate))}
Create a queue, send a message to it, and receive the message:

${curl} -X PUT '${url}/hello' -H 'Content-Type: application/atom+xml' -d '${QUEUE_ENTRY}'

${curl} -X POST '${url}/hello/messages' -H 'Content-Type: text/plain' -d 'Hello, bus'

${curl} -X DELETE '${url}/hello/messages/head?timeout=5'
`;
}

/** How clients in Node come to trust the certificate, and where the others are told. */
function trust(file: string): string {
  return `Certificate        ${file}

Have clients in Node trust it; docs/clients/trust.md has Python, Java, .NET and others:

export NODE_EXTRA_CA_CERTS='${file}'
`;
}
