/** The facts about a proxy that it prints when it is ready. */
export interface ProxyFacts {
  readonly namespace: string;
  /** How the proxy reaches it. */
  readonly way: string;
  /** Host and port. */
  readonly address: string;
  readonly isTls: boolean;
  readonly connectionString: string;
}

/** What a proxy says on a terminal when it is ready. */
export function proxyText(facts: ProxyFacts): string {
  const { namespace, way, address, isTls, connectionString } = facts;
  return `
Namespace          ${namespace}, by its ${way}
Listening          ${address}, AMQP and AMQP over WebSockets${isTls ? ', with and without TLS' : ''}
Connection string  ${connectionString}

Messaging clients of any language work with it. Administration clients do not: they speak HTTPS to the endpoint of the
deployment, which dynabus deploy-info shows.
`;
}
