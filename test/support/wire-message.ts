import type { Answer } from './api-client.ts';

/** BrokerProperties in JSON. */
export interface BrokerProperties {
  readonly DeliveryCount: number;
  readonly EnqueuedTimeUtc: string;
  readonly LockToken: string;
  readonly LockedUntilUtc: string;
  readonly MessageId: string;
  readonly SequenceNumber: number;
  readonly State: string;
  readonly TimeToLive: number;
  readonly [name: string]: unknown;
}

/** A received message, from headers and body or from JSON. */
export interface Received {
  readonly body: string;
  readonly broker: BrokerProperties;
  readonly properties: Readonly<Record<string, unknown>>;
  /** The lock URI; absent after receive-and-delete. */
  readonly location?: string;
}

/** One message of a batch, as it is sent. */
export interface BatchMessage {
  readonly Body: string;
  readonly BodyEncoding?: 'base64';
  readonly BrokerProperties?: Readonly<Record<string, unknown>>;
  readonly UserProperties?: Readonly<Record<string, unknown>>;
}

/** A message in an answer. */
export interface WireMessage extends BatchMessage {
  readonly BrokerProperties: BrokerProperties;
}

/** A message of the JSON batch format. */
export function fromWire(message: WireMessage): Received {
  return {
    body: message.Body,
    broker: message.BrokerProperties,
    properties: message.UserProperties ?? {},
  };
}

/** A message in the form of headers and body. */
export function received(answer: Answer): Received {
  const location = answer.headers.get('location');
  return {
    body: answer.text,
    broker: JSON.parse(answer.headers.get('brokerproperties') ?? '{}') as BrokerProperties,
    properties: Object.fromEntries(answer.headers),
    ...(location === null ? {} : { location }),
  };
}
