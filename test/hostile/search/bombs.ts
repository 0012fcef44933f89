import type { LoadRandom } from '../../support/load-random.ts';

/** Documents that are small to send and cost much to read. */

const ATOM = 'http://www.w3.org/2005/Atom';
const CONNECT = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect';

/** An XML document of about so many bytes. */
export function xmlBomb(random: LoadRandom, bytes: number): string {
  const kind = random.pick(['QueueDescription', 'TopicDescription', 'RuleDescription']);
  const [where, filler] = random.pick(XML)(random, bytes);
  const entry = (attributes: string, inner: string) =>
    `<entry xmlns="${ATOM}" ${attributes}><content type="application/xml"><${kind} xmlns="${CONNECT}">${inner}</${kind}></content></entry>`;
  if (where === 'before') return `${filler}${entry('', '')}`;
  return where === 'attributes' ? entry(filler, '<a/>'.repeat(20)) : entry('', filler);
}

type Filler = readonly ['before' | 'attributes' | 'inside', string];
type XmlKind = (random: LoadRandom, bytes: number) => Filler;

/** Declarations of namespaces, in sight of many children. */
const declared: XmlKind = (random, bytes) => {
  const share = random.pick([0.3, 0.5, 0.7]);
  const declarations = many((i) => `xmlns:n${i}="u" `, bytes * share);
  return ['inside', `<a ${declarations}>${many(() => '<b/>', bytes * (1 - share))}</a>`];
};

const XML: readonly [XmlKind, ...XmlKind[]] = [
  declared,
  declared,
  declared,
  declared,
  (_random, bytes) => ['attributes', many((i) => `xmlns:n${i}="u" `, bytes)],
  (_random, bytes) => ['inside', many((i) => `<a xmlns:n${i}="u">`, bytes / 2)],
  (_random, bytes) => ['attributes', many((i) => `a${i}="" `, bytes)],
  (_random, bytes) => ['inside', `<a ${many(() => 'a="" ', bytes)}/>`],
  (_random, bytes) => ['inside', '<a>'.repeat(bytes / 3)],
  (_random, bytes) => ['inside', '<a>'.repeat(bytes / 7) + '</a>'.repeat(bytes / 7)],
  (_random, bytes) => ['inside', '<a/>'.repeat(bytes / 4)],
  (_random, bytes) => ['inside', '&amp;'.repeat(bytes / 5)],
  (_random, bytes) => ['inside', `<LockDuration>${'&#65;'.repeat(bytes / 5)}</LockDuration>`],
  (_random, bytes) => ['inside', `<LockDuration>PT${'1'.repeat(bytes)}S</LockDuration>`],
  (_random, bytes) => ['inside', `<LockDuration>${'P'.repeat(bytes)}</LockDuration>`],
  (_random, bytes) => ['inside', `<UserMetadata>${' '.repeat(bytes)}</UserMetadata>`],
  (_random, bytes) => ['inside', '<!---->'.repeat(bytes / 7)],
  (_random, bytes) => ['inside', '<![CDATA[]]>'.repeat(bytes / 12)],
  (_random, bytes) => ['inside', '<?x?>'.repeat(bytes / 5)],
  (_random, bytes) => ['inside', `<!--${'-'.repeat(bytes)}`],
  (_random, bytes) => ['inside', `<${'a'.repeat(bytes)}`],
  (_random, bytes) => ['inside', `<a b="${'<'.repeat(bytes)}"`],
  (_random, bytes) => ['inside', '<'.repeat(bytes)],
  (_random, bytes) => ['before', entities(bytes)],
  (_random, bytes) => ['before', `<?xml version="1.0"?>${'<?x?>'.repeat(bytes / 5)}`],
  (_random, bytes) => ['before', '\u00a0'.repeat(bytes / 2)],
];

function many(make: (index: number) => string, bytes: number): string {
  const parts: string[] = [];
  for (let length = 0; length < bytes; ) {
    const part = make(parts.length);
    parts.push(part);
    length += part.length;
  }
  return parts.join('');
}

/** Entities of entities. */
function entities(bytes: number): string {
  const levels = many((i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(10)}">`, bytes);
  return `<!DOCTYPE entry [<!ENTITY e0 "x">${levels}]>`;
}

/** A JSON document of about so many bytes. */
export function jsonBomb(random: LoadRandom, bytes: number): string {
  return random.pick(JSONS)(random, bytes);
}

type JsonKind = (random: LoadRandom, bytes: number) => string;
const list = (item: string, bytes: number) =>
  `[${`${item},`.repeat(Math.max(0, bytes / (item.length + 1) - 1))}${item}]`;

const JSONS: readonly [JsonKind, ...JsonKind[]] = [
  (random, bytes) => list(random.pick(['0', '[]', '{}', '""', 'null', '{"":[]}']), bytes),
  (random, bytes) => `{"operations":${list(random.pick(['{}', '[]', '1']), bytes)}}`,
  (_random, bytes) => `{"operations":${list('{"send":"q","messages":[{"Body":""}]}', bytes)}}`,
  (_random, bytes) => list('{"Body":""}', bytes),
  (_random, bytes) => `{"settlements":${list('{"outcome":"complete","lockToken":"x"}', bytes)}}`,
  (_random, bytes) => `{"lockTokens":${list('"x"', bytes)}}`,
  (_random, bytes) => `{"sequenceNumbers":${list('"1"', bytes)}}`,
  (_random, bytes) => '['.repeat(bytes),
  (_random, bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  (_random, bytes) => '{"a":'.repeat(bytes / 5),
  (_random, bytes) => `${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`,
  (_random, bytes) => `{"operations":${'1'.repeat(bytes)}}`,
  (_random, bytes) => `[1e${'9'.repeat(bytes)}]`,
  (_random, bytes) => list('1.0000000000000000000000000000001', bytes),
  (_random, bytes) => list('123456789012345678901234567890', bytes),
  (_random, bytes) => `{${many(() => '"a":1,', bytes)}"a":1}`,
  (_random, bytes) => `{${many((i) => `"k${i}":1,`, bytes)}"a":1}`,
  (_random, bytes) => `{${many((i) => `"${i}":1,`, bytes)}"a":1}`,
  (_random, bytes) => `{"__proto__":${list('{"__proto__":1}', bytes)}}`,
  (_random, bytes) => `"${'x'.repeat(bytes)}"`,
  (_random, bytes) => `"${'\\u0041'.repeat(bytes / 6)}"`,
  (_random, bytes) => `"${'\\'.repeat(bytes)}`,
  (_random, bytes) => `"${'\\ud800'.repeat(bytes / 6)}"`,
  (_random, bytes) => ' '.repeat(bytes),
  (_random, bytes) =>
    list('{"Body":"x","UserProperties":{"a":"b"},"BrokerProperties":{"MessageId":"1"}}', bytes),
];
