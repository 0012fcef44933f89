import { ROUTES, type Route, type RouteName } from '../routing/route-table.ts';
import {
  type Fragment,
  type OperationDetails,
  PARAMETERS,
  REFUSALS,
  refusal,
} from './components.ts';
import { CONSUMER_OPERATIONS } from './consumers.ts';
import { FACTS_OPERATIONS } from './exact.ts';
import { MANAGEMENT_OPERATIONS } from './management.ts';
import { MESSAGE_OPERATIONS, SERVICE_OPERATIONS } from './messages.ts';
import { OPERATOR_OPERATIONS } from './operator.ts';
import { SCHEMAS } from './schemas.ts';
import { SESSION_OPERATIONS } from './sessions.ts';
import { TRANSACTION_OPERATIONS } from './transactions.ts';

/**
 * Creates the OpenAPI 3.1 document of all operations: the rows of the route table, with the details that the
 * other files of this folder add to each of them.
 */
export function openApiDocument(): Fragment {
  return {
    openapi: '3.1.0',
    info: {
      title: 'dynabus',
      version: '1',
      summary:
        'A service bus with the REST and ATOM interfaces of Azure Service Bus, and extensions in JSON.',
      description:
        'Paths are case-insensitive. docs/http-api.md describes what this document cannot express.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The host of this document.' }],
    tags: TAGS,
    paths: paths(),
    components: {
      securitySchemes: { sas: SAS },
      parameters: PARAMETERS,
      responses: REFUSALS,
      schemas: SCHEMAS,
    },
  };
}

const DETAILS: Readonly<Record<RouteName, OperationDetails>> = {
  ...MESSAGE_OPERATIONS,
  ...OPERATOR_OPERATIONS,
  ...FACTS_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...TRANSACTION_OPERATIONS,
  ...SERVICE_OPERATIONS,
  ...MANAGEMENT_OPERATIONS,
  ...CONSUMER_OPERATIONS,
};

const TAGS = [
  {
    name: 'runtime',
    description: 'Operations on messages, at the addresses of the REST API of Service Bus.',
  },
  {
    name: 'extension',
    description: 'Operations that the REST API of Service Bus does not have, in JSON.',
  },
  {
    name: 'management',
    description:
      'The management API of Service Bus: ATOM, or JSON for requests with `Accept: application/json`, and for a PUT of JSON.',
  },
] as const satisfies readonly { readonly name: Route['kind']; readonly description: string }[];

const SAS = {
  type: 'apiKey',
  in: 'header',
  name: 'Authorization',
  description:
    'SharedAccessSignature sr=…&sig=…&se=…&skn=…, signed with a key of an authorization rule that has one of the named rights. If the service is deployed with access=iam, requests are instead signed with SigV4 for execute-api.',
} as const;

/** The `paths` of the document: every path with its operations by method. */
function paths(): Fragment {
  const all = new Map<string, Record<string, Fragment>>();
  for (const route of ROUTES) {
    const operations = all.get(route.path) ?? {};
    operations[route.method.toLowerCase()] = operation(route, DETAILS[route.name]);
    all.set(route.path, operations);
  }
  return Object.fromEntries(all);
}

function operation(route: Route, details: OperationDetails): Fragment {
  const { description, parameters = [], body, answers, refusals } = details;
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  return {
    operationId: route.name,
    tags: [route.kind],
    summary: route.summary,
    ...(description !== undefined && { description }),
    // One alternative per right, because one of them is enough.
    security: route.rights.map((right) => ({ sas: [right] })),
    parameters: [...inPath, ...parameters].map((name) => ({
      $ref: `#/components/parameters/${name}`,
    })),
    ...(body !== undefined && { requestBody: body }),
    responses: {
      ...answers,
      ...Object.fromEntries(refusals.map((status) => [status, refusal(status)])),
    },
  };
}
