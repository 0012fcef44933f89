import { ROUTES, type Route } from '../../lambdas/http/routing/route-table.ts';

/** A right of Service Bus. */
export type Right = 'Send' | 'Listen' | 'Manage';

/** An entity as paths name it. */
export interface PathOfEntity {
  readonly kind: 'queue' | 'topic' | 'subscription';
  /** The path of the entity. */
  readonly path: string;
}

/** The dead-letter queues of an entity, with any capitals. No name of an entity has a `$`. */
const DEAD_LETTER_QUEUES = '/$*';

/**
 * The methods and paths that a right on an entity covers, as policies of `execute-api` name them, such as
 * `POST/orders/messages`. IAM tells capitals apart, so entities are in lower case, as the service writes them in the
 * `Location` of a message, and operations may have the capitals of the documentation or none. A `*` stands for what
 * follows. The right to change settings is in none, because it includes forwarding to any entity, nor is
 * `/$transactions`, which is about all entities.
 */
export function invokePaths(right: Right, { kind, path }: PathOfEntity): readonly string[] {
  return granted(right, { kind, path: path.toLowerCase() });
}

function granted(right: Right, { kind, path }: PathOfEntity): readonly string[] {
  // Paths of messages do not name a topic's subscriptions, which are entities of their own.
  const receivers =
    kind === 'topic' ? [`${path}/subscriptions/*`] : [path, `${path}${DEAD_LETTER_QUEUES}`];
  if (right === 'Send') return kind === 'subscription' ? [] : routesOf('Send').map(at(path));
  const listen = [
    ...receivers.flatMap((receiver) => LISTEN.map((one) => one.replace(ENTITY, `/${receiver}`))),
    // A dead-letter queue has no sessions.
    ...SESSIONS.map((one) => one.replace(ENTITY, `/${receivers[0] ?? path}`)),
    ...(kind === 'queue' ? [] : RULES_READ.map(atSubscription(kind, path))),
  ];
  if (right === 'Listen') return listen;
  return [
    ...new Set([
      ...granted('Send', { kind, path }),
      ...listen,
      ...receivers.flatMap((receiver) => routesOf('Manage').map(at(receiver))),
      ...MANAGED.map(at(path)),
      ...(kind === 'topic'
        ? [`GET/${path}/subscriptions`, ...MANAGED.map(at(receivers[0] ?? path))]
        : []),
      ...(kind === 'queue' ? [] : RULES_CHANGED.map(atSubscription(kind, path))),
    ]),
  ];
}

/**
 * What Listen allows on messages and sessions, with a `*` for several operations wherever nothing else lies below it: a
 * policy of IAM has room for few thousand characters.
 */
const LISTEN: readonly string[] = [
  ...['head', '*/*', '$settle', '$renew', '$deferred', '$reactivate', '$deadLetter', '$delete'].map(
    (name) => `POST/{entity}/messages/${withAnyCapitals(name)}`,
  ),
  'GET/{entity}/messages',
  'GET/{entity}/messages/$receiver',
  'DELETE/{entity}/messages/*',
  'PUT/{entity}/messages/*',
];
const SESSIONS: readonly string[] = ['POST', 'GET', 'PUT', 'DELETE'].map(
  (method) => `${method}/{entity}/sessions/$*`,
);

type Template = Pick<Route, 'method' | 'path'>;

const ENTITY = '/{entity}';
const SUBSCRIPTION = '/{topic}/Subscriptions/{subscription}';
const RULE = `${SUBSCRIPTION}/Rules/{rule}`;
const MANAGED: readonly Template[] = [
  { method: 'GET', path: ENTITY },
  { method: 'DELETE', path: ENTITY },
];
const RULES_READ = rulesRoutes('GET');
const RULES_CHANGED = [...rulesRoutes('PUT'), ...rulesRoutes('DELETE')];

/** The operations on messages and sessions of an entity that a right allows. */
function routesOf(right: Right): readonly Template[] {
  const routes: readonly Route[] = ROUTES;
  return routes.filter(
    ({ path, kind, rights }) =>
      path.startsWith(`${ENTITY}/`) && kind !== 'management' && rights.includes(right),
  );
}

function rulesRoutes(method: Route['method']): readonly Template[] {
  return ROUTES.filter((route) => route.method === method && RULE.startsWith(route.path)).filter(
    ({ path }) => path.includes('/Rules'),
  );
}

/** Writes a route of an entity as policies name it. */
function at(entity: string) {
  return ({ method, path }: Template) => `${method}${written(path).replace(ENTITY, `/${entity}`)}`;
}

/** Writes a route of the rules of a subscription, or of all subscriptions of a topic. */
function atSubscription(kind: 'topic' | 'subscription', path: string) {
  const subscription = kind === 'topic' ? `${path}/subscriptions/*` : path;
  return ({ method, path: template }: Template) =>
    `${method}/${subscription}${written(template.slice(SUBSCRIPTION.length))}`;
}

/** The words of a route as policies name them, without its entity. */
function written(path: string): string {
  return path
    .split('/')
    .map((word) => (word.startsWith('$') ? withAnyCapitals(word) : word.toLowerCase()))
    .join('/')
    .replaceAll(/\{(?!entity\})\w+\}/g, '*');
}

/** A `?` stands for any one character. */
function withAnyCapitals(word: string): string {
  return word.replaceAll(/[A-Z]/g, '?');
}
