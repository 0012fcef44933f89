import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { type Frame, type FrameReader, protocolHeader } from '../wire/frames.ts';
import { DecodeError } from '../wire/wire-error.ts';
import type { ConnectionHandler } from './handlers.ts';
import { mechanismsFrame, outcomeFrame, readSaslInit } from './sasl-frames.ts';

/** What a handshake needs of its connection. */
export interface HandshakeHost {
  write(bytes: Uint8Array): void;
  /** Reads input that arrived during authentication. */
  resume(): void;
  /** Ends the connection, since authentication failed. */
  refuse(): void;
}

type Phase = 'header' | 'sasl' | 'authenticating' | 'headerAgain' | 'refused';

/** The start of a connection: protocol headers, and SASL if the peer asks for it. */
export class Handshake {
  readonly #handler: Pick<ConnectionHandler, 'mechanisms' | 'authenticate'>;
  readonly #host: HandshakeHost;
  #phase: Phase = 'header';

  constructor(
    handler: Pick<ConnectionHandler, 'mechanisms' | 'authenticate'>,
    host: HandshakeHost,
  ) {
    this.#handler = handler;
    this.#host = host;
  }

  /**
   * Reads one header or frame. `waits` = it needs more bytes, or authentication is under way. Throws
   * DecodeError.
   */
  step(reader: FrameReader): 'read' | 'waits' | 'done' {
    switch (this.#phase) {
      case 'header':
        return this.#readHeader(reader);
      case 'headerAgain':
        return this.#readHeaderAgain(reader);
      case 'sasl': {
        const frame = reader.frame('sasl', BUDGETS.connection.openFrameBytes);
        if (frame === undefined) return 'waits';
        this.#authenticate(frame);
        return 'read';
      }
      default:
        return 'waits';
    }
  }

  #readHeader(reader: FrameReader): 'read' | 'waits' | 'done' {
    const layer = reader.protocolHeader();
    if (layer === undefined) return 'waits';
    this.#host.write(protocolHeader(layer));
    if (layer === 'amqp') return 'done';
    this.#phase = 'sasl';
    this.#host.write(mechanismsFrame(this.#handler.mechanisms));
    return 'read';
  }

  #readHeaderAgain(reader: FrameReader): 'waits' | 'done' {
    const layer = reader.protocolHeader();
    if (layer === undefined) return 'waits';
    if (layer !== 'amqp') throw new DecodeError('the peer asked for SASL twice');
    this.#host.write(protocolHeader(layer));
    return 'done';
  }

  #authenticate(frame: Frame): void {
    const { mechanism, response } = readSaslInit(frame);
    this.#phase = 'authenticating';
    this.#handler.authenticate(mechanism, response).then(
      (isGood) => this.#authenticated(isGood),
      () => this.#authenticated(false),
    );
  }

  #authenticated(isGood: boolean): void {
    this.#host.write(outcomeFrame(isGood));
    this.#phase = isGood ? 'headerAgain' : 'refused';
    if (isGood) this.#host.resume();
    else this.#host.refuse();
  }
}
