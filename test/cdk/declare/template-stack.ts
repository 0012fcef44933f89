import assert from 'node:assert/strict';
import { VARIABLES } from '../../../shared/app/variables.ts';
import type { Resources } from './stack.ts';

/** A template of CloudFormation, as far as tests read it. */
export interface WholeTemplate {
  readonly Resources: Readonly<Record<string, WholeResource>>;
}

interface WholeResource {
  readonly Type: string;
  readonly DependsOn?: string | readonly string[];
  readonly Properties?: Readonly<Record<string, unknown>>;
}

/** What deployment puts in the place of a reference to a resource: `attribute` = undefined for a `Ref`. */
export type Attributes = (resource: string, attribute: string | undefined) => string;

/** Resolves the functions of CloudFormation that our templates have in properties. */
export function resolved(value: unknown, attributes: Attributes): unknown {
  if (Array.isArray(value)) return value.map((each) => resolved(each, attributes));
  // CloudFormation gives these to custom resources as texts.
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  const { Ref, 'Fn::GetAtt': attribute, 'Fn::Join': join } = value as Record<string, unknown>;
  if (Ref !== undefined) return attributes(String(Ref), undefined);
  if (attribute !== undefined) {
    const [resource, name] = attribute as readonly [string, string];
    return attributes(resource, name);
  }
  if (join !== undefined) {
    const [separator, parts] = join as readonly [string, readonly unknown[]];
    return parts.map((part) => resolved(part, attributes)).join(separator);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, resolved(each, attributes)]),
  );
}

/** The custom resources of a template in the order in which CloudFormation makes them. */
export function customResources({ Resources }: WholeTemplate, attributes: Attributes): Resources {
  const ours = new Set(
    Object.keys(Resources).filter((id) => Resources[id]?.Type.startsWith('Custom::Dynabus')),
  );
  const ordered: Record<string, Resources[string]> = {};
  while (ours.size > 0) {
    const next = [...ours].find((id) => neededBy(Resources[id]).every((one) => !ours.has(one)));
    assert.ok(next !== undefined, `${[...ours].join(', ')} depend on each other`);
    ours.delete(next);
    const { Type: type = '', Properties = {} } = Resources[next] ?? {};
    const properties = resolved(Properties, attributes) as Record<string, unknown>;
    ordered[next] = { type, properties };
  }
  return ordered;
}

function neededBy(resource: WholeResource | undefined): readonly string[] {
  return [resource?.DependsOn ?? []].flat();
}

/** The function behind the custom resources: the id of the resource, and its variables but for the names of tables. */
export function declareFunction({ Resources }: WholeTemplate) {
  const [found, ...others] = Object.entries(Resources).filter(
    ([, { Type, Properties = {} }]) =>
      Type === 'AWS::Lambda::Function' && VARIABLES.parameterPrefix in variablesOf(Properties),
  );
  assert.ok(found !== undefined && others.length === 0);
  const [id, { Properties = {} }] = found;
  const {
    [VARIABLES.entitiesTable]: entities,
    [VARIABLES.messagesTable]: messages,
    ...more
  } = variablesOf(Properties);
  for (const table of [entities, messages]) {
    const { Ref } = table as { readonly Ref: string };
    assert.equal(Resources[Ref]?.Type, 'AWS::DynamoDB::Table');
  }
  assert.notDeepEqual(entities, messages);
  const environment = Object.fromEntries(
    Object.entries(more).map(([name, value]) => {
      assert.ok(typeof value === 'string', `${name} is a token`);
      return [name, value];
    }),
  );
  const { S3Key: key } = (Properties['Code'] ?? {}) as { readonly S3Key?: string };
  return { id, environment, key };
}

function variablesOf(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { Variables = {} } = (properties['Environment'] ?? {}) as {
    readonly Variables?: Record<string, unknown>;
  };
  return Variables;
}

/** The variables of the function with a handler. */
export function functionVariables(
  { Resources }: WholeTemplate,
  handler: string,
  attributes: Attributes,
): Readonly<Record<string, string>> {
  const [found, ...others] = Object.values(Resources).filter(
    ({ Properties = {} }) => Properties['Handler'] === handler,
  );
  assert.ok(found?.Properties !== undefined && others.length === 0);
  return resolved(variablesOf(found.Properties), attributes) as Record<string, string>;
}
