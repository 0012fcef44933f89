import { z } from 'zod';
import { BUDGETS } from '../shared/domain/budgets.ts';

/** The sizes that Fargate offers: for each number of CPU units from how many to how many MB, in steps. */
const SIZES = {
  256: { least: 512, most: 2048, step: 512 },
  512: { least: 1024, most: 4096, step: 1024 },
  1024: { least: 2048, most: 8192, step: 1024 },
  2048: { least: 4096, most: 16_384, step: 1024 },
} as const;

const { address, rule } = BUDGETS;

/** What one task takes of the clients behind one address, and of those that use one rule. */
const limits = z.strictObject({
  /** Without it as many as two tasks should have, and not less than the usual. */
  openConnectionsPerAddress: z.int().min(1).optional(),
  newConnectionsPerAddress: rate(address.newConnections),
  requestsPerAddress: rate(address.requests),
  operationsPerRule: rate(rule.operations),
});

/**
 * The gateway for AMQP: there is one where a stage has these settings. It costs while it is idle, so no
 * stage has them by default.
 */
export const amqpSettings = z
  .strictObject({
    /** Clients insist on TLS, and on a name that the certificate is for. */
    certificateArn: z.string().regex(/^arn:[\w-]+:acm:/, 'the ARN of a certificate in ACM'),
    domainName: z
      .string()
      .regex(/^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/, 'a name that the certificate is for'),
    /** Where the name is made to lead to the gateway; without it that is left to you. */
    hostedZoneId: z
      .string()
      .regex(/^Z[A-Z0-9]+$/, 'the id of a hosted zone')
      .optional(),
    /** A network that is there; without it one is made that costs nothing. */
    vpcId: z
      .string()
      .regex(/^vpc-[0-9a-f]+$/, 'the id of a VPC')
      .optional(),
    minTasks: z.int().min(1).max(100).default(1),
    maxTasks: z.int().min(1).max(100).default(4),
    /** Beyond so many connections each, tasks are added. */
    connectionsPerTask: z.int().min(10).max(50_000).default(1000),
    cpu: z.literal([256, 512, 1024, 2048]).default(256),
    memoryMb: z.int().default(512),
    limits: limits.prefault({}),
  })
  .refine(({ minTasks, maxTasks }) => minTasks <= maxTasks, {
    path: ['maxTasks'],
    message: 'fewer than minTasks',
  })
  .refine(({ cpu, memoryMb }) => isSize(cpu, memoryMb), {
    path: ['memoryMb'],
    message: 'not a size that Fargate has for this cpu',
  });

/** What a stage says of its gateway, checked and complete. */
export type AmqpSettings = z.infer<typeof amqpSettings>;

/** So many a second in the long run, and so many at once. */
export function rate({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
  return z
    .strictObject({
      rate: z.int().min(1).default(perSecond),
      burst: z.int().min(1).default(burst),
    })
    .prefault({});
}

function isSize(cpu: keyof typeof SIZES, memoryMb: number): boolean {
  const { least, most, step } = SIZES[cpu];
  return memoryMb >= least && memoryMb <= most && memoryMb % step === 0;
}
