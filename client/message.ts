import { membersOf } from './json-text.ts';

/** A message in the format of batches, as the service wrote it. */
export interface ClientMessage {
  /** Its JSON, in one line: `{"Body":…,"BrokerProperties":{…},"UserProperties":{…}}`. */
  readonly text: string;
  readonly sequenceNumber: bigint;
  readonly body: Uint8Array;
  /** Its BrokerProperties; numbers beyond 2^53 have lost digits. */
  readonly system: Readonly<Record<string, unknown>>;
  /** Its UserProperties; numbers have lost their type. */
  readonly properties: Readonly<Record<string, unknown>>;
  /** Of a locked message. */
  readonly lockToken?: string;
}

interface MessageJson {
  readonly Body: string;
  readonly BodyEncoding?: 'base64';
  readonly BrokerProperties: Readonly<Record<string, unknown>>;
  readonly UserProperties?: Readonly<Record<string, unknown>>;
}

const UTF8 = new TextEncoder();

/** Reads a message that the service wrote. */
export function readMessage(text: string): ClientMessage {
  const json = JSON.parse(text) as MessageJson;
  const broker = membersOf(membersOf(text).get('BrokerProperties') ?? '{}');
  const lockToken = json.BrokerProperties['LockToken'];
  return {
    text,
    sequenceNumber: BigInt(broker.get('SequenceNumber') ?? 0),
    body: json.BodyEncoding === undefined ? UTF8.encode(json.Body) : fromBase64(json.Body),
    system: json.BrokerProperties,
    properties: json.UserProperties ?? {},
    ...(typeof lockToken === 'string' ? { lockToken } : {}),
  };
}

/** Bytes of base64, in a browser too. */
function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
