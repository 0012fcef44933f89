const MANAGE = { function: 'manage', rights: ['Manage'], kind: 'management' } as const;

/**
 * The operations of the management API (semantics G1) as rows of the route table. Here `{entity}` is a queue, a topic
 * or a subscription, without a dead-letter suffix except in front of `consumers`. This file imports nothing.
 */
export const MANAGEMENT_ROUTES = [
  {
    name: 'namespaceInfo',
    method: 'GET',
    path: '/$namespaceinfo',
    ...MANAGE,
    summary: 'Returns the name and the tier of the namespace.',
  },
  {
    name: 'listQueues',
    method: 'GET',
    path: '/$Resources/Queues',
    ...MANAGE,
    summary: 'Lists the queues of the namespace.',
  },
  {
    name: 'listTopics',
    method: 'GET',
    path: '/$Resources/Topics',
    ...MANAGE,
    summary: 'Lists the topics of the namespace.',
  },
  {
    name: 'listRules',
    method: 'GET',
    path: '/{topic}/Subscriptions/{subscription}/Rules',
    ...MANAGE,
    rights: ['Manage', 'Listen'],
    summary: 'Lists the rules of a subscription.',
  },
  {
    name: 'getRule',
    method: 'GET',
    path: '/{topic}/Subscriptions/{subscription}/Rules/{rule}',
    ...MANAGE,
    rights: ['Manage', 'Listen'],
    summary: 'Returns a rule.',
  },
  {
    name: 'putRule',
    method: 'PUT',
    path: '/{topic}/Subscriptions/{subscription}/Rules/{rule}',
    ...MANAGE,
    summary: 'Creates a rule, or with If-Match replaces it.',
  },
  {
    name: 'deleteRule',
    method: 'DELETE',
    path: '/{topic}/Subscriptions/{subscription}/Rules/{rule}',
    ...MANAGE,
    summary: 'Deletes a rule.',
  },
  {
    name: 'getConsumer',
    method: 'GET',
    path: '/{entity}/consumers/{consumer}',
    ...MANAGE,
    summary: 'Returns a consumer: where messages are pushed to, and how, in JSON.',
  },
  {
    name: 'putConsumer',
    method: 'PUT',
    path: '/{entity}/consumers/{consumer}',
    ...MANAGE,
    summary: 'Creates a consumer, or replaces its settings, in JSON.',
  },
  {
    name: 'deleteConsumer',
    method: 'DELETE',
    path: '/{entity}/consumers/{consumer}',
    ...MANAGE,
    summary: 'Deletes a consumer: its messages stay in the queue.',
  },
  {
    name: 'listConsumers',
    method: 'GET',
    path: '/{entity}/consumers',
    ...MANAGE,
    summary: 'Lists the consumers of a queue, subscription or dead-letter queue, in JSON.',
  },
  {
    name: 'listSubscriptions',
    method: 'GET',
    path: '/{topic}/Subscriptions',
    ...MANAGE,
    summary: 'Lists the subscriptions of a topic.',
  },
  {
    name: 'discover',
    method: 'GET',
    path: '/',
    ...MANAGE,
    rights: [],
    summary: 'Lists the publicly listed entities, of which there are none.',
  },
  {
    name: 'getEntity',
    method: 'GET',
    path: '/{entity}',
    ...MANAGE,
    summary: 'Returns a queue, topic or subscription: its settings, message counts and times.',
  },
  {
    name: 'putEntity',
    method: 'PUT',
    path: '/{entity}',
    ...MANAGE,
    summary: 'Creates a queue, topic or subscription, or with If-Match replaces its settings.',
  },
  {
    name: 'deleteEntity',
    method: 'DELETE',
    path: '/{entity}',
    ...MANAGE,
    summary: 'Deletes a queue, topic or subscription with all its messages.',
  },
] as const;
