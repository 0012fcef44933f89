import type { Attach } from '../wire/performatives.ts';
import type { IncomingLink } from './incoming-link.ts';
import type { OutgoingLink } from './outgoing-link.ts';

type AnyLink = IncomingLink | OutgoingLink;
type Named = Pick<Attach, 'name' | 'role'>;

/** The links of one session by name: a name leads to one link in each direction (part 2.6.1). */
export class LinkNames {
  readonly #links: Readonly<Record<Attach['role'], Map<string, Set<AnyLink>>>> = {
    sender: new Map(),
    receiver: new Map(),
  };

  add(link: AnyLink, { name, role }: Named): void {
    const links = this.#links[role];
    links.set(name, (links.get(name) ?? new Set()).add(link));
  }

  delete(link: AnyLink, { name, role }: Named): void {
    const links = this.#links[role];
    const ofName = links.get(name);
    ofName?.delete(link);
    if (ofName?.size === 0) links.delete(name);
  }

  /** The links of a name: those that are not answered yet, and one at most that is. */
  of({ name, role }: Named): Iterable<AnyLink> {
    return this.#links[role].get(name) ?? [];
  }

  clear(): void {
    for (const links of Object.values(this.#links)) links.clear();
  }
}
