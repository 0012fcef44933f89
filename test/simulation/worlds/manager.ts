import type { OperatorAction } from '../../../shared/broker/broker.ts';
import type { EntitySettings } from '../../../shared/broker/management/describe-entity.ts';
import type { IfMatch } from '../../../shared/broker/management/if-match.ts';
import { Caller, type CallSpec, pathOf } from './caller.ts';

/** Operations of operators and administrators, and the sweep. */
export class Manager extends Caller {
  async purge(path: string): Promise<void> {
    await this.ask({ kind: 'purge', path, text: '' }, () =>
      this.process.broker.purge(pathOf(path)),
    );
  }

  async create(path: string, settings: EntitySettings): Promise<void> {
    await this.ask({ kind: 'create', path, text: '' }, async () => {
      await this.process.management.create(path, settings);
    });
  }

  async update(path: string, settings: EntitySettings, ifMatch: IfMatch = '*'): Promise<void> {
    await this.ask({ kind: 'update', path, text: '' }, async () => {
      await this.process.management.update(path, settings, ifMatch);
    });
  }

  async delete(path: string): Promise<void> {
    await this.ask({ kind: 'delete', path, text: '' }, () => this.process.management.delete(path));
  }

  async operate(
    path: string,
    action: OperatorAction,
    tag: string,
    number: bigint,
    sessionId?: string,
  ): Promise<void> {
    const spec: CallSpec = { kind: 'operate', path, text: `${action.kind} ${tag}`, tags: [tag] };
    await this.ask(spec, async (call) => {
      const { broker } = this.process;
      call.answer = String(await broker.operate(pathOf(path), action, [number], sessionId));
    });
  }

  async sweep(): Promise<void> {
    await this.ask({ kind: 'sweep', path: '', text: '' }, async () => {
      await this.process.sweep();
    });
  }
}
