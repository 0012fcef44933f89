/** What the tests use of `amqp10`, which comes without types. */
declare module 'amqp10' {
  import type { EventEmitter } from 'node:events';

  export interface Options {
    readonly [name: string]: unknown;
  }

  /** Bodies are of any kind, and there is no telling beforehand. */
  export interface Message {
    readonly body?: unknown;
    readonly header?: Options;
    readonly properties?: Options;
    readonly applicationProperties?: Options;
    readonly messageAnnotations?: Options;
    readonly footer?: Options;
  }

  /** The frame in which a message came. */
  export interface TransferFrame {
    readonly deliveryTag: Buffer;
    readonly settled: boolean | null;
    readonly payload: { slice(): Uint8Array };
  }

  export interface Link extends EventEmitter {
    readonly session: EventEmitter;
    readonly linkCredit: number;
    readonly remote: { readonly attach: { readonly [name: string]: unknown } };
    detach(): Promise<void>;
  }

  export interface Sender extends Link {
    send(message: unknown, options?: Options): Promise<unknown>;
  }

  export interface Receiver extends Link {
    addCredits(credits: number): void;
    accept(message: Message): void;
    reject(message: Message, error?: unknown): void;
    release(message: Message): void;
    modify(message: Message, options: Options): void;
  }

  export class Policy {
    private readonly isPolicy: true;
  }

  export class Client extends EventEmitter {
    constructor(policy: Policy);
    connect(url: string): Promise<this>;
    disconnect(): Promise<void>;
    createSender(address: string, options?: Options): Promise<Sender>;
    createReceiver(address: string, options?: Options): Promise<Receiver>;
  }

  export class DescribedType {
    constructor(descriptor: unknown, value: unknown);
    readonly descriptor: unknown;
    readonly value: unknown;
  }

  const amqp10: {
    readonly Client: typeof Client;
    readonly DescribedType: typeof DescribedType;
    readonly Policy: {
      readonly ServiceBusQueue: Policy;
      readonly Utils: { readonly CreditPolicies: { readonly DoNotRefresh: () => void } };
      merge(overrides: Options, base?: Policy): Policy;
    };
    /** Says what AMQP type a value is to have. */
    readonly Type: { readonly [type: string]: (value: unknown) => unknown };
    /** Builds values that have no shorter way: `['array', 'int', 1, 2]`. */
    translator(value: readonly unknown[]): unknown;
  };
  // biome-ignore lint/style/noDefaultExport: the package is one object.
  export default amqp10;
}
