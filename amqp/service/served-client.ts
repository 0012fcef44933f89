import { loggedRule, type SigningRule } from '../../shared/auth/signing-rule.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { LoopTurns } from '../../shared/domain/turns/loop-turns.ts';
import { Authorization, type OnAuthorized } from '../authorization/authorization.ts';
import { answerPutToken } from '../authorization/put-token.ts';
import type { Connection } from '../endpoint/connection.ts';
import type { ConnectionHandler } from '../endpoint/handlers.ts';
import type { IncomingLink } from '../endpoint/incoming-link.ts';
import type { OutgoingLink } from '../endpoint/outgoing-link.ts';
import { readPlain } from '../endpoint/sasl-frames.ts';
import { answerManagement } from '../management/authorized-answer.ts';
import { ClaimBudget } from '../receiving/claim-budget.ts';
import { HeldSessions } from '../receiving/held-sessions.ts';
import { openReceiver } from '../receiving/receiver-link.ts';
import { Settlements } from '../receiving/settlements.ts';
import { Reads } from '../requests/reads.ts';
import { Replies } from '../requests/replies.ts';
import { serveRequests } from '../requests/serve-requests.ts';
import { WorkSlots } from '../requests/work-slots.ts';
import { DecodedBudget } from '../sending/decoded-budget.ts';
import { openSender } from '../sending/sender-link.ts';
import { openCoordinator } from '../transactions/coordinator.ts';
import { Transactions } from '../transactions/transactions.ts';
import type { ErrorInfo } from '../wire/states.ts';
import type { Node } from './address.ts';
import { addressOf, addressPath, nodeOf, requireShort } from './address.ts';
import type { ClientContext, ProcessTurns } from './context.ts';
import type { AmqpDependencies } from './dependencies.ts';
import { mapError } from './error-mapping.ts';
import { NamespaceBinding, type NamespaceDirectory } from './namespace-binding.ts';

/** The size limits of a put-token request: the low ones, since unauthorized peers send it. */
const PUT_TOKEN_LIMITS = {
  bytes: BUDGETS.connection.unauthorized.requestBytes,
  values: BUDGETS.connection.unauthorized.requestValues,
};
/** The node where clients put tokens. No entity can have this name. */
const CBS = '$cbs';
const LOGGED_PATH_LENGTH_MAX = 300;
const { saslInitBytes: SASL_INIT_BYTES_MAX, hostLength: HOST_LENGTH_MAX } = BUDGETS.connection;
/** The SASL mechanisms, of which only PLAIN proves a right (semantics W2). */
const MECHANISMS = ['MSSBCBS', 'ANONYMOUS', 'PLAIN'];

const UNAUTHORIZED = 'amqp:unauthorized-access';
const REFUSED_TOO_OFTEN: ErrorInfo = {
  condition: UNAUTHORIZED,
  description: 'Too many tokens or keys were refused. Connect again with valid ones.',
};

const HOST_TOO_LONG: ErrorInfo = {
  condition: 'amqp:invalid-field',
  description: `The hostname of the open is too long: the limit is ${HOST_LENGTH_MAX} characters.`,
};

/** The close of a connection whose namespace was deleted. */
const deleted = (why: string): ErrorInfo => ({
  condition: 'amqp:connection:forced',
  description: why,
});

/** The namespace of the server itself, and the others that it serves. */
export interface ServedBy {
  readonly dependencies: AmqpDependencies;
  readonly directory: NamespaceDirectory | undefined;
}

/** What a client reports to the AMQP server. */
export interface ClientEvents {
  /** The client is authorized. May be called more than once. */
  authorized(): void;
  /** The connection is gone. */
  closed(): void;
}

/** One connected client: authenticates it and opens its links. */
export class ServedClient implements ConnectionHandler {
  readonly mechanisms = MECHANISMS;
  readonly #context: ClientContext;
  readonly #replies = new Replies();
  readonly #events: ClientEvents;
  readonly #connection: Pick<Connection, 'close'>;
  readonly #binding: NamespaceBinding;

  constructor(
    { dependencies: own, directory }: ServedBy,
    connection: Connection,
    shared: Pick<ClientContext, 'background' | 'shutdown' | 'peer' | keyof ProcessTurns>,
    events: ClientEvents,
  ) {
    const { scheduler, memory } = own;
    const binding = new NamespaceBinding(own, directory, (why) => connection.close(deleted(why)));
    this.#binding = binding;
    this.#context = {
      get dependencies() {
        return binding.dependencies;
      },
      authorization: new Authorization(binding, connection.limits, {
        authorized: () => {
          connection.authorize();
          events.authorized();
        },
        refusedTooOften: () => connection.close(REFUSED_TOO_OFTEN),
      }),
      sessions: new HeldSessions(),
      settlements: new Settlements(),
      transactions: new Transactions(binding, connection.limits),
      reads: new Reads(memory),
      limits: connection.limits,
      sendNow: () => connection.outgoing.sendNow(),
      workSlots: new WorkSlots(),
      claimTurns: new LoopTurns(scheduler, BUDGETS.connection.turnClaims),
      claimBudget: new ClaimBudget(scheduler, memory, () => connection.backlog),
      decodedBudget: new DecodedBudget(memory),
      ...shared,
    };
    this.#events = events;
    this.#connection = connection;
  }

  async authenticate(mechanism: string, response: Uint8Array): Promise<boolean> {
    // A client without a key puts a token at `$cbs` before it attaches other links.
    if (mechanism === 'ANONYMOUS' || mechanism === 'MSSBCBS') return true;
    if (mechanism !== 'PLAIN' || response.byteLength > SASL_INIT_BYTES_MAX) return false;
    const plain = readPlain(response);
    if (plain === undefined) return false;
    return await this.#context.authorization.offerKey(plain.user, plain.password);
  }

  opened(hostname = 'localhost'): void {
    if (hostname.length <= HOST_LENGTH_MAX) this.#context.authorization.opened(hostname);
    else this.#connection.close(HOST_TOO_LONG);
  }

  incoming(link: IncomingLink): void {
    this.#open(link, async (node, onAuthorized) => {
      switch (node.kind) {
        case 'cbs': {
          return serveRequests(this.#context, this.#replies, link, {
            name: CBS,
            limits: () => PUT_TOKEN_LIMITS,
            answer: (...args) => answerPutToken(this.#context, ...args),
          });
        }
        case 'management': {
          const { limits, workSlots } = this.#context;
          return serveRequests(this.#context, this.#replies, link, {
            name: node.pathname.toLowerCase(),
            limits: () => limits.requestLimits,
            answer: (...args) => answerManagement(this.#context, node, ...args),
            // A request that waits for a slot is not decoded yet: values take more memory than bytes.
            whenFree: (respond) => limits.check(() => workSlots.run(respond)),
          });
        }
        case 'entity':
          return await openSender(this.#context, link, node, onAuthorized);
        case 'coordinator':
          openCoordinator(this.#context, link);
          return;
      }
    });
  }

  outgoing(link: OutgoingLink): void {
    this.#open(link, async (node, onAuthorized) => {
      switch (node.kind) {
        case 'cbs':
          this.#replies.add(link, CBS);
          return;
        case 'management':
          this.#replies.add(link, node.pathname.toLowerCase());
          return;
        case 'entity':
          await openReceiver(this.#context, link, node, onAuthorized);
          return;
        case 'coordinator':
          throw new BrokerError('NotSupported', 'A coordinator sends no messages.');
      }
    });
  }

  failed(error: unknown): void {
    this.#context.dependencies.reportFault(error);
  }

  closed(): void {
    this.#binding.closed();
    this.#events.closed();
  }

  /** Resolves the node of a link and opens the link, or refuses it with the error that is thrown. */
  #open(
    link: IncomingLink | OutgoingLink,
    open: (node: Node, onAuthorized: OnAuthorized) => Promise<void>,
  ): void {
    const { role, source, target } = link.attach;
    const terminus = role === 'sender' ? target : source;
    const opening = this.#context.limits.check(async () => {
      const address = addressPath(addressOf(terminus) ?? '');
      let rule: SigningRule | undefined;
      const onAuthorized: OnAuthorized = (one) => {
        rule ??= one;
      };
      try {
        requireShort(link.name);
        const node = nodeOf(terminus);
        if ('pathname' in node) link.holdText(node.pathname);
        await open(node, onAuthorized);
        this.#logAccess(role, address, 'opened', rule);
      } catch (error) {
        const mapped = mapError(this.#context.dependencies, error, address);
        link.refuse(mapped);
        this.#logAccess(role, address, mapped.condition, rule);
      }
    });
    link.setOpening(opening);
    this.#context.background(() => opening);
  }

  #logAccess(
    role: 'sender' | 'receiver',
    address: string,
    outcome: string,
    granting: SigningRule | undefined,
  ): void {
    const { dependencies, peer, authorization } = this.#context;
    const isClaimed = granting === undefined && outcome === UNAUTHORIZED;
    const rule = isClaimed ? { claimedRule: authorization.claimedRule } : loggedRule(granting);
    const path = `/${address.slice(0, LOGGED_PATH_LENGTH_MAX)}`;
    dependencies.logAccess?.('link', { client: peer, role, path, ...rule, outcome });
  }
}
