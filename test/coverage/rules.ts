/** A rule of docs/semantics. */
export interface Rule {
  /** As the page writes them: `#41`, `#A2`, `L3`. The names of tests carry those with `#`. */
  readonly ids: readonly string[];
  /** The first sentence. */
  readonly title: string;
}

/** The rules of one page. */
export interface Page {
  readonly title: string;
  readonly rules: readonly Rule[];
}

/** A list item that begins with ids in bold: `- **#5 #B14** A settlement fails …`. */
const RULE = /^- \*\*(?<ids>#?[A-Z]?\d+(?: #?[A-Z]?\d+)*)\*\* (?<text>.*)$/gm;
const TITLE_LENGTH_MAX = 100;

/** Reads the rules of a page of docs/semantics, in their order. */
export function readPage(markdown: string): Page {
  const rules = [...markdown.matchAll(RULE)].map(({ groups }) => ({
    ids: groups?.['ids']?.split(' ') ?? [],
    title: firstSentence(groups?.['text'] ?? ''),
  }));
  return { title: /^# (?<title>.*)$/m.exec(markdown)?.groups?.['title'] ?? '', rules };
}

function firstSentence(text: string): string {
  const sentence = text.split(/(?<=[.:]) /)[0] ?? '';
  return sentence.length > TITLE_LENGTH_MAX ? `${sentence.slice(0, TITLE_LENGTH_MAX)}…` : sentence;
}
