import type { Attach } from '../wire/performatives.ts';
import type { IncomingLink } from './incoming-link.ts';
import type { OutgoingLink } from './outgoing-link.ts';

type AnyLink = IncomingLink | OutgoingLink;
type Named = Pick<Attach, 'name' | 'role'>;

/** The links of one session by name. A name is unique in each direction (part 2.6.1 of the standard). */
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

  /** Returns the links with a name and role: any that are attaching, and at most one that is attached. */
  of({ name, role }: Named): Iterable<AnyLink> {
    return this.#links[role].get(name) ?? [];
  }

  clear(): void {
    for (const links of Object.values(this.#links)) links.clear();
  }
}
