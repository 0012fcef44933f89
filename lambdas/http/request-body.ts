import { BrokerError } from '../../shared/domain/broker-error.ts';
import { LIMITS } from '../../shared/domain/limits.ts';

const BODY_BYTES_MAX = LIMITS.messageKilobytesMax * 1024;

/**
 * The bytes of a request. What is larger than any message may be is refused before it is read, or
 * as soon as that shows; the entity's own limit is the broker's. Throws MessageSizeExceeded.
 */
export async function readBody(request: Request): Promise<Uint8Array> {
  const announced = request.headers.get('content-length');
  if (announced !== null) {
    if (Number(announced) > BODY_BYTES_MAX) throw tooLarge(announced);
    return new Uint8Array(await request.arrayBuffer());
  }
  return request.body === null ? new Uint8Array() : readChunks(request.body);
}

async function readChunks(body: NonNullable<Request['body']>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > BODY_BYTES_MAX) throw tooLarge(`more than ${BODY_BYTES_MAX}`);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Uint8Array.from(Buffer.concat(chunks));
}

function tooLarge(length: string): BrokerError {
  return new BrokerError(
    'MessageSizeExceeded',
    `The request is ${length} bytes long; the limit for any message is ${BODY_BYTES_MAX}.`,
  );
}
