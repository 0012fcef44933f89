import { loggedRule, type ProvedRule } from '../../lambdas/http/proved-rule.ts';
import { BrokerError, entityNotFound } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets.ts';
import { parseEntityPath } from '../../shared/domain/entity-path.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { Connection } from '../endpoint/connection.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { ConnectionHandler } from '../endpoint/handlers.ts';
import type { IncomingDelivery, IncomingLink } from '../endpoint/incoming-link.ts';
import type { OutgoingLink } from '../endpoint/outgoing-link.ts';
import { readPlain } from '../endpoint/sasl.ts';
import { answer } from '../management/answer.ts';
import { ACCEPTED, type DeliveryState, type ErrorInfo } from '../wire/states.ts';
import { fieldsOf, textOf } from '../wire/value.ts';
import { addressOf, addressPath, type Node, nodeOf } from './address.ts';
import { Authorization, type RuleProved } from './authorization.ts';
import { answerClaim } from './claims.ts';
import { tell } from './conditions.ts';
import type { ClientContext } from './context.ts';
import { openCoordinator } from './coordinator.ts';
import type { GatewayParts } from './parts.ts';
import { Publisher } from './publisher.ts';
import { openReceiver } from './receiving.ts';
import { Replies } from './replies.ts';
import { type Request, readRequest } from './request.ts';
import { SessionHolders } from './session-holders.ts';
import { Settlements } from './settlements.ts';
import { Transactions } from './transactions.ts';

/** A token; strangers may put one. */
const CLAIM = {
  bytes: BUDGETS.connection.beforeRight.requestBytes,
  values: BUDGETS.connection.beforeRight.requestValues,
};
/** The node where clients put tokens; no entity can have the name. */
const CLAIMS = '$cbs';
/** What a message may be larger than its body and properties: the encoding takes some bytes too. */
const ENCODING_BYTES = 64 * 1024;
/** As the vendor's service has it: a client that finds no credit waits a second, then half a minute. */
const SENDER_CREDIT = 1000;
const LOGGED_PATH_LENGTH_MAX = 300;
const DESTINATION = 'com.microsoft:transfer-destination-address';
const MECHANISMS = ['MSSBCBS', 'ANONYMOUS', 'PLAIN'];

type RequestLimits = ConnectionLimits['request'];
const UNAUTHORIZED = 'amqp:unauthorized-access';
const REFUSED_TOO_OFTEN: ErrorInfo = {
  condition: UNAUTHORIZED,
  description: 'Too many tokens or keys were refused. Connect again with good ones.',
};

type EntityNode = Extract<Node, { readonly kind: 'entity' }>;

/** What a client tells of itself. */
export interface ClientEvents {
  /** It has proved a right; may be told more than once. */
  proved(): void;
  /** Its connection is gone. */
  closed(): void;
}

/** One connected client: leads each link to what it asks for. */
export class Client implements ConnectionHandler {
  readonly mechanisms = MECHANISMS;
  readonly #context: ClientContext;
  readonly #replies = new Replies();
  readonly #events: ClientEvents;

  constructor(
    parts: GatewayParts,
    connection: Connection,
    { background, shutdown, peer }: Pick<ClientContext, 'background' | 'shutdown' | 'peer'>,
    events: ClientEvents,
  ) {
    this.#context = {
      parts,
      authorization: new Authorization(parts, connection.limits, {
        proved: () => {
          connection.proved();
          events.proved();
        },
        refusedTooOften: () => connection.close(REFUSED_TOO_OFTEN),
      }),
      sessions: new SessionHolders(),
      settlements: new Settlements(),
      transactions: new Transactions(parts, connection.limits),
      limits: connection.limits,
      backlog: () => connection.backlog,
      background,
      shutdown,
      peer,
    };
    this.#events = events;
  }

  async authenticate(mechanism: string, response: Uint8Array): Promise<boolean> {
    // Without a proof at the start, every link needs a token first.
    if (mechanism === 'ANONYMOUS' || mechanism === 'MSSBCBS') return true;
    const plain = mechanism === 'PLAIN' ? readPlain(response) : undefined;
    if (plain === undefined) return false;
    return await this.#context.authorization.offerKey(plain.user, plain.password);
  }

  opened(hostname: string | undefined): void {
    this.#context.authorization.opened(hostname ?? 'localhost');
  }

  incoming(link: IncomingLink): void {
    this.#open(link, async (node, proved) => {
      switch (node.kind) {
        case 'claims':
          return this.#serve(
            link,
            CLAIMS,
            () => CLAIM,
            (request) => {
              const { parts, authorization } = this.#context;
              return answerClaim(parts, authorization, request);
            },
          );
        case 'management':
          return this.#serve(
            link,
            node.pathname.toLowerCase(),
            () => this.#context.limits.request,
            (request) => answer(this.#context, node, request),
          );
        case 'entity':
          return await this.#openSender(link, node, proved);
        case 'coordinator':
          openCoordinator(this.#context, link);
          return;
      }
    });
  }

  outgoing(link: OutgoingLink): void {
    this.#open(link, async (node, proved) => {
      switch (node.kind) {
        case 'claims':
          this.#replies.add(link, CLAIMS);
          return;
        case 'management':
          this.#replies.add(link, node.pathname.toLowerCase());
          return;
        case 'entity':
          await openReceiver(this.#context, link, node, proved);
          return;
        case 'coordinator':
          throw new BrokerError('NotSupported', 'Nothing is received from a coordinator.');
      }
    });
  }

  failed(error: unknown): void {
    this.#context.parts.reportFault(error);
  }

  closed(): void {
    this.#events.closed();
  }

  /** Finds out where a link leads and opens it, or refuses it with what is thrown. */
  #open(
    link: IncomingLink | OutgoingLink,
    open: (node: Node, proved: RuleProved) => Promise<void>,
  ): void {
    const { role, source, target } = link.asked;
    const terminus = role === 'sender' ? target : source;
    this.#context.background(async () => {
      const address = addressPath(addressOf(terminus) ?? '');
      let rule: ProvedRule | undefined;
      const proved: RuleProved = (one) => {
        rule ??= one;
      };
      try {
        await open(nodeOf(terminus), proved);
        this.#logAccess(role, address, 'opened', rule);
      } catch (error) {
        const told = tell(this.#context.parts, error, address);
        link.refuse(told);
        this.#logAccess(role, address, told.condition, rule);
      }
    });
  }

  #logAccess(
    role: 'sender' | 'receiver',
    address: string,
    outcome: string,
    proved: ProvedRule | undefined,
  ): void {
    const { parts, peer, authorization } = this.#context;
    const isClaimed = proved === undefined && outcome === UNAUTHORIZED;
    const rule = isClaimed ? { claimedRule: authorization.claimedRule } : loggedRule(proved);
    const path = `/${address.slice(0, LOGGED_PATH_LENGTH_MAX)}`;
    parts.logAccess?.('link', { client: peer, role, path, ...rule, outcome });
  }

  async #openSender(link: IncomingLink, node: EntityNode, proved: RuleProved): Promise<void> {
    const { parts, authorization, shutdown } = this.#context;
    const { path, pathname } = await this.#destination(link, node, proved);
    await authorization.require(pathname, path, ['Send'], proved);
    const entity = await parts.entities.find(path.key);
    if (entity === undefined) throw entityNotFound(path.name);
    if (path.subQueue !== 'main' || entity.description.kind === 'subscription') {
      throw new BrokerError(
        'InvalidOperation',
        'Cannot create a message sender for a subscription.',
      );
    }
    const messageBytes = entity.description.maxMessageSizeInKilobytes * 1024;
    const publisher = new Publisher(this.#context, link, { path, pathname });
    link.onDelivery(
      (delivery) => publisher.take(delivery),
      () => Math.max(messageBytes, LIMITS.batchBytes) + ENCODING_BYTES,
    );
    link.onEnd(shutdown.onBegin(() => link.hold()));
    link.accept({ maxMessageSize: BigInt(messageBytes) });
    link.start(SENDER_CREDIT);
  }

  /**
   * Where messages of a link go: a link to one entity may name another, to which they go via the
   * first (semantics §9.1). It takes the right to send to both.
   */
  async #destination(
    link: IncomingLink,
    node: EntityNode,
    proved: RuleProved,
  ): Promise<Omit<EntityNode, 'kind'>> {
    const address = textOf(fieldsOf(link.asked.properties).get(DESTINATION));
    if (address === undefined) return node;
    await this.#context.authorization.require(node.pathname, node.path, ['Send'], proved);
    const pathname = addressPath(address);
    return { pathname, path: parseEntityPath(pathname) };
  }

  /** Answers requests to a node as they come; a client that wants an order waits for each answer. */
  #serve(
    link: IncomingLink,
    node: string,
    max: () => RequestLimits,
    answerTo: (request: Request) => Promise<Buffer>,
  ): void {
    link.onDelivery(
      (delivery) => {
        this.#context.background(() => this.#respond({ link, node }, delivery, max(), answerTo));
      },
      () => max().bytes,
    );
    link.accept();
    link.start();
  }

  async #respond(
    asking: { readonly link: IncomingLink; readonly node: string },
    delivery: IncomingDelivery,
    max: RequestLimits,
    answerTo: (request: Request) => Promise<Buffer>,
  ): Promise<void> {
    let state: DeliveryState = ACCEPTED;
    try {
      if (delivery.isTooLarge) {
        throw new BrokerError(
          'MessageSizeExceeded',
          `The request is too large: ${max.bytes} bytes are the limit here.`,
        );
      }
      const request = readRequest(delivery, max.values);
      const { transaction } = request;
      if (transaction !== undefined) {
        state = { kind: 'transactional', transaction, outcome: ACCEPTED };
      }
      this.#replies.send(asking, request.replyTo, await answerTo(request));
    } catch (error) {
      const { condition, description } = tell(this.#context.parts, error, asking.link.name);
      state = { kind: 'rejected', error: { condition, description } };
    }
    // Not before it is answered: the credit bounds what one link can have us do at a time.
    asking.link.settle([delivery], state);
  }
}
