import { createSasToken } from '../lambdas/http/sas-token.ts';

const KEY_NAME = 'RootManageSharedAccessKey';
/** The key of the vendor's emulator, which the clients' samples hold. */
export const ROOT_KEY = 'SAS_KEY_VALUE';
/** Lines in notes and scripts should go on working: ten years. */
const TOKEN_MS = 10 * 365 * 24 * 60 * 60 * 1000;

const QUEUE_ENTRY =
  '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';

/** What a user needs to know once the server runs: addresses, and lines that work when pasted. */
export function welcome(url: string, engine: string, now: number): string {
  const token = createSasToken({
    audience: url,
    keyName: KEY_NAME,
    key: ROOT_KEY,
    expiresAt: now + TOKEN_MS,
  });
  const curl = `curl -sS -H 'Authorization: ${token}'`;
  const { host } = new URL(url);
  return `
Engine             ${engine}
Endpoint           ${url}
Connection string  Endpoint=sb://${host};SharedAccessKeyName=${KEY_NAME};SharedAccessKey=${ROOT_KEY};UseDevelopmentEmulator=true;

Create a queue, send a message to it, and receive the message:

${curl} -X PUT '${url}/hello' -H 'Content-Type: application/atom+xml' -d '${QUEUE_ENTRY}'

${curl} -X POST '${url}/hello/messages' -H 'Content-Type: text/plain' -d 'Hello, bus'

${curl} -X DELETE '${url}/hello/messages/head?timeout=5'
`;
}
