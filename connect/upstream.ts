import type { AmqpDependencies } from '../amqp/service/dependencies.ts';

/** A namespace as the AMQP surface of this process reaches it. */
export interface Upstream {
  readonly dependencies: AmqpDependencies;
  /** Resolves if the namespace answers. Rejects with what is wrong, so that it is said before clients come. */
  reach(): Promise<void>;
  /** Wakes waiting receives, for instance after the clock was moved. */
  wake(): void;
  /** Resolves when nothing is left of the work that answered calls have begun, such as copies to subscriptions. */
  idle(): Promise<void>;
  /** Ends the waits of receives, finishes the work that was begun, and disconnects. */
  close(): Promise<void>;
}
