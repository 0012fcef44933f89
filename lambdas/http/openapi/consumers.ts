import { CONSUMER_DEFAULTS } from '../../../shared/domain/consumers/consumer-settings.ts';
import { QUEUE_DEFAULTS } from '../../../shared/domain/entities/descriptions.ts';
import { consumerJson } from '../json/write-consumer.ts';
import {
  answer,
  header,
  json,
  type OperationDetails,
  type RefusalStatus,
  requestBody,
} from './components.ts';
import { AT, exampleReport } from './management-examples.ts';

// The details of the operations on consumers. The code that writes real responses also writes these examples.

const TARGET = 'arn:aws:lambda:eu-west-1:123456789012:function:orders';

const EXAMPLE = consumerJson({
  entity: exampleReport('orders', QUEUE_DEFAULTS).entity,
  consumer: {
    ...CONSUMER_DEFAULTS,
    name: 'worker',
    subQueue: 'main',
    target: TARGET,
    batchWindowMs: 1000,
    id: '',
    version: 1,
    createdAt: AT,
    updatedAt: AT,
  },
});
const consumer = json('Consumer', EXAMPLE);

const etag = { ETag: header('The version of the consumer, for If-Match.', '"mKp0Yq3d.1"') };
const READING: readonly RefusalStatus[] = [400, 401, 403, 404, 500, 503, 504];
const CHANGING: readonly RefusalStatus[] = [...READING, 409, 412];

/** The details of the operations on consumers, by route name. */
export const CONSUMER_OPERATIONS = {
  listConsumers: {
    description: 'Those of the queue or dead-letter queue in the path only. There are no pages.',
    answers: { 200: answer('The consumers by name.', json('Consumers', { consumers: [EXAMPLE] })) },
    refusals: READING,
  },
  getConsumer: {
    answers: { 200: answer('The consumer.', consumer, etag) },
    refusals: READING,
  },
  putConsumer: {
    description:
      'Locks on messages stay. With If-Match it replaces that version only, and creates none.',
    parameters: ['ifMatch'],
    body: requestBody(
      json(
        'ConsumerRequest',
        { target: TARGET, maxBatch: 10, batchWindow: 'PT1S', maxConcurrency: 10 },
        { target: TARGET, maxPerSecond: 100, timeout: 'PT1M', enabled: false },
      ),
    ),
    answers: {
      200: answer('Replaced. Every omitted setting has its default again.', consumer, etag),
      201: answer('Created.', consumer, etag),
    },
    refusals: CHANGING,
  },
  deleteConsumer: {
    parameters: ['ifMatch'],
    answers: { 200: answer('Deleted.') },
    refusals: CHANGING,
  },
} as const satisfies Readonly<Record<string, OperationDetails>>;
