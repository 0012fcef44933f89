import type { Management } from '../../../shared/broker/management/management.ts';

/** The names of all entities, rules and authorization rules, these with their rights, in order. */
export async function shown(management: Management): Promise<readonly string[]> {
  const all: string[] = [];
  for (const kind of ['queue', 'topic'] as const) {
    for (const { name, description } of (await management.list({ kind, skip: 0, top: 99 })).items) {
      all.push(name);
      if (description.kind === 'subscription') continue;
      for (const { keyName, rights } of description.authorizationRules) {
        all.push(`${name} ${keyName} ${rights.join(' ')}`);
      }
      if (kind === 'queue') continue;
      const page = { kind: 'subscription', topic: name, skip: 0, top: 99 } as const;
      for (const { name: path } of (await management.list(page)).items) {
        const { items } = await management.rules.list(path, { skip: 0, top: 99 });
        all.push(path, ...items.map(({ stored }) => `${path}/Rules/${stored.rule.name}`));
      }
    }
  }
  return all.sort();
}
