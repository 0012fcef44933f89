import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import type { ResourceAnswer } from '../../../lambdas/declare/cloud-formation.ts';

/** A resource in a template. */
export interface TemplateResource {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
  /** `retain`: RetainExceptOnCreate and UpdateReplacePolicy Retain. Default: it is deleted. */
  readonly policy?: 'retain';
}

/** Resources by their logical ids, in the order of their dependencies. */
export type Resources = Readonly<Record<string, TemplateResource>>;

/** Answers an event as the function does. */
export type Answer = (event: CloudFormationCustomResourceEvent) => Promise<ResourceAnswer>;

interface Deployed extends TemplateResource {
  readonly physicalId: string;
}

/** Resources one by one, as CloudFormation sends them: what it does on success, on failure, and to clean up. */
export class FakeStack {
  readonly #name: string;
  readonly #answer: Answer;
  #deployed = new Map<string, Deployed>();

  constructor(name: string, answer: Answer) {
    this.#name = name;
    this.#answer = answer;
  }

  /** Makes the resources those of the stack. Returns why that failed and was rolled back; undefined = it succeeded. */
  async deploy(resources: Resources): Promise<string | undefined> {
    const before = new Map(this.#deployed);
    for (const [id, resource] of Object.entries(resources)) {
      const reason = await this.#put(id, resource);
      if (reason === undefined) continue;
      await this.#rollBack(before, id, resource);
      return reason;
    }
    const deletes = ({ policy }: Deployed) => policy !== 'retain';
    await this.#cleanUp(before, new Set(Object.keys(resources)), deletes);
    return undefined;
  }

  /** Deletes the stack. */
  async delete(): Promise<void> {
    await this.deploy({});
  }

  /** Begins to create a resource and cancels that before it is heard of: only a deletion is sent. */
  async cancel(id: string, resource: TemplateResource): Promise<void> {
    await this.#remove(id, { ...resource, physicalId: `${this.#name}-${id}-1QX6YZ` });
  }

  /** The ids by which the stack knows its resources. */
  get physicalIds(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#deployed].map(([id, one]) => [id, one.physicalId]));
  }

  async #put(id: string, resource: TemplateResource): Promise<string | undefined> {
    const old = this.#deployed.get(id);
    if (old !== undefined && isSame(old, resource)) return undefined;
    const answer = await this.#send(id, resource, old);
    const { Status, PhysicalResourceId: physicalId, Reason = '' } = answer;
    // Of a failed update CloudFormation keeps the resource as it knew it.
    if (Status === 'SUCCESS') this.#deployed.set(id, { ...resource, physicalId });
    else if (old === undefined) this.#deployed.set(id, { ...resource, physicalId });
    return Status === 'SUCCESS' ? undefined : Reason;
  }

  /** Updates what was updated, and the resource that failed, to what it was; then deletes what was created. */
  async #rollBack(
    before: ReadonlyMap<string, Deployed>,
    failed: string,
    resource: TemplateResource,
  ): Promise<void> {
    const after = new Map(this.#deployed);
    for (const [id, old] of before) {
      const now = after.get(id);
      assert.ok(now !== undefined);
      if (id !== failed && isSame(now, old)) continue;
      const from = id === failed ? { ...resource, physicalId: now.physicalId } : now;
      const { Status, PhysicalResourceId, Reason } = await this.#send(id, old, from);
      assert.equal(Status, 'SUCCESS', `the rollback of ${id}: ${Reason}`);
      this.#deployed.set(id, { ...old, physicalId: PhysicalResourceId });
    }
    await this.#cleanUp(after, new Set(before.keys()), () => true);
  }

  /** Deletes resources that the stack no longer has, and those that an update has replaced, last ones first. */
  async #cleanUp(
    before: ReadonlyMap<string, Deployed>,
    kept: ReadonlySet<string>,
    deletes: (resource: Deployed) => boolean,
  ): Promise<void> {
    for (const id of [...this.#deployed.keys()].filter((one) => !kept.has(one))) {
      const gone = this.#deployed.get(id);
      assert.ok(gone !== undefined);
      this.#deployed.delete(id);
      if (!before.has(id)) await this.#remove(id, gone);
    }
    for (const [id, old] of [...before].reverse()) {
      const now = this.#deployed.get(id);
      if (now?.physicalId !== old.physicalId && deletes(old)) await this.#remove(id, old);
    }
  }

  async #remove(id: string, { type, properties, physicalId }: Deployed): Promise<void> {
    const { Status, Reason } = await this.#answer({
      ...this.#common(id, { type, properties }),
      RequestType: 'Delete',
      PhysicalResourceId: physicalId,
    });
    assert.equal(Status, 'SUCCESS', `the deletion of ${id}: ${Reason}`);
  }

  async #send(id: string, resource: TemplateResource, old?: Deployed): Promise<ResourceAnswer> {
    const common = this.#common(id, resource);
    return await this.#answer(
      old === undefined
        ? { ...common, RequestType: 'Create' }
        : {
            ...common,
            RequestType: 'Update',
            PhysicalResourceId: old.physicalId,
            OldResourceProperties: { ServiceToken: SERVICE_TOKEN, ...old.properties },
          },
    );
  }

  #common(id: string, { type, properties }: Pick<TemplateResource, 'type' | 'properties'>) {
    return {
      ServiceToken: SERVICE_TOKEN,
      ResponseURL: 'https://answers.example/',
      StackId: `arn:aws:cloudformation:eu-west-1:111122223333:stack/${this.#name}/6d2a`,
      RequestId: randomUUID(),
      ResourceType: type,
      LogicalResourceId: id,
      ResourceProperties: {
        ServiceToken: SERVICE_TOKEN,
        ...properties,
      },
    };
  }
}

function isSame(one: TemplateResource, other: TemplateResource): boolean {
  return (
    JSON.stringify([one.type, one.properties]) === JSON.stringify([other.type, other.properties])
  );
}

const SERVICE_TOKEN = 'arn:aws:lambda:eu-west-1:111122223333:function:declare';

/** A queue of a template. */
export function queue(name: string, settings: object = {}, more: object = {}): TemplateResource {
  return entity('Queue', name, settings, more);
}

/** A topic of a template. */
export function topic(name: string, settings: object = {}, more: object = {}): TemplateResource {
  return entity('Topic', name, settings, more);
}

/** A subscription of a template; its settings may have rules. */
export function subscription(path: string, settings: object = {}, more: object = {}) {
  return entity('Subscription', path, settings, more);
}

/** An authorization rule of a template. */
export function rule(entityName: string, keyName: string, ...rights: string[]): TemplateResource {
  return {
    type: 'Custom::DynabusAuthorizationRule',
    properties: {
      Entity: entityName,
      KeyName: keyName,
      Rights: rights,
      Endpoint: 'https://abc.execute-api.eu-west-1.amazonaws.com',
    },
  };
}

/** A consumer of a template; `entityPath` may be that of a dead-letter queue. */
export function consumer(
  entityPath: string,
  name: string,
  { target = WORKER, ...settings }: Readonly<Record<string, unknown>> = {},
  more: object = {},
): TemplateResource {
  return {
    type: 'Custom::DynabusConsumer',
    properties: {
      Entity: entityPath,
      ConsumerName: name,
      Target: target,
      Settings: JSON.stringify(settings),
      ...more,
    },
  };
}

/** The function that consumers of templates call. */
export const WORKER = 'arn:aws:lambda:eu-west-1:111122223333:function:worker';

function entity(kind: string, name: string, settings: object, more: object): TemplateResource {
  return {
    type: `Custom::Dynabus${kind}`,
    properties: { Name: name, Settings: JSON.stringify(settings), ...more },
  };
}

/** The same resource with a policy by which its entity stays when the resource goes. */
export function retained(resource: TemplateResource): TemplateResource {
  return { ...resource, policy: 'retain' };
}
